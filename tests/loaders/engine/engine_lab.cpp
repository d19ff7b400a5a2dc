#include "tests/loaders/engine/engine_lab.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <ostream>

#include "loaders/engine/select.h"

namespace feedline::test {

namespace {

constexpr std::byte kFill{0xA5};
constexpr std::byte kGuard{0x5A};
constexpr std::uint64_t kGuardBytes = 64;

}  // namespace

std::vector<EngineCase> reading_engines() {
    std::vector<EngineCase> cases;
    for (const EngineKind kind : available_engines()) {
        if (kind != EngineKind::uring_direct) {
            cases.push_back({kind, Alignment{}});
            if (kind == EngineKind::uring) cases.push_back({kind, Alignment{}, true});
            continue;
        }
        // The alignment of the disk that the tests write to, and the coarsest in use.
        const TempDir dir;
        write_file(dir / "file", pattern(100000, 1));
        const std::string path = dir / "file";
        KernelProbe probe;
        const AccessAnswer answer = probe.direct_access({.fd = -1, .dir_fd = AT_FDCWD, .name = path.c_str()});
        if (answer.verdict != AccessAnswer::Verdict::works) continue;
        cases.push_back({kind, answer.alignment});
        cases.push_back({kind, answer.alignment, true});
        if (answer.alignment.offset_bytes < 4096) cases.push_back({kind, Alignment{4096, 4096}});
    }
    return cases;
}

std::string case_name(const EngineCase& engine_case) {
    std::string name(to_string(engine_case.kind));
    std::replace(name.begin(), name.end(), '-', '_');
    if (engine_case.alignment.direct()) name += "_" + std::to_string(engine_case.alignment.offset_bytes);
    if (engine_case.may_block) name += "_may_block";
    return name;
}

std::ostream& operator<<(std::ostream& out, const EngineCase& engine_case) {
    return out << case_name(engine_case);
}

Destination::Destination(const Alignment& alignment, std::uint64_t offset_bytes, std::uint64_t length_bytes)
    : footprint_(footprint(alignment, Extent{offset_bytes, length_bytes, 0})) {
    memory_bytes_ = footprint_.capacity_bytes + 2 * kGuardBytes + alignment.memory_bytes;
    memory_ = std::make_unique_for_overwrite<std::byte[]>(memory_bytes_);
    std::fill_n(memory_.get(), memory_bytes_, kGuard);
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.get()) + kGuardBytes;
    const std::uintptr_t aligned =
        (address + alignment.memory_bytes - 1) / alignment.memory_bytes * alignment.memory_bytes;
    data_ = memory_.get() + kGuardBytes + (aligned - address);
    std::fill_n(data_, footprint_.capacity_bytes, kFill);
}

std::string_view Destination::payload(std::uint64_t bytes) const {
    return {reinterpret_cast<const char*>(data_) + footprint_.payload_offset_bytes, bytes};
}

bool Destination::guards_intact() const {
    const auto is_guard = [](std::byte b) { return b == kGuard; };
    const std::byte* behind = data_ + footprint_.capacity_bytes;
    const std::byte* end = memory_.get() + memory_bytes_;
    return std::all_of<const std::byte*>(memory_.get(), data_, is_guard) && std::all_of(behind, end, is_guard);
}

bool Destination::untouched() const {
    return guards_intact() && std::all_of<const std::byte*>(data_, data_ + footprint_.capacity_bytes,
                                                            [](std::byte b) { return b == kFill; });
}

EngineLab::EngineLab(const EngineCase& engine_case, unsigned depth, FaultHook* faults, std::string_view base)
    : case_(engine_case), dir_(base), dir_fd_(::open(dir_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    new_engine(depth, faults);
}

void EngineLab::new_engine(unsigned depth, FaultHook* faults) {
    engine_.reset();
    engine_ = make_engine({.kind = case_.kind,
                           .queue_depth = depth,
                           .alignment = case_.alignment,
                           .may_block = case_.may_block,
                           .faults = faults});
}

void EngineLab::make_file(std::string_view name, std::string_view content) const {
    write_file(dir_ / name, content);
}

Fd EngineLab::open(std::string_view name) const {
    const int direct = case_.alignment.direct() ? O_DIRECT : 0;
    Fd fd(::open((dir_ / name).c_str(), O_RDONLY | O_CLOEXEC | direct));
    if (!fd) throw std::runtime_error("cannot open " + (dir_ / name));
    return fd;
}

const ReadRequest& EngineLab::add(const Source& source, std::uint64_t offset_bytes, std::uint64_t length_bytes) {
    const Destination& destination = destinations_.emplace_back(case_.alignment, offset_bytes, length_bytes);
    return requests_.emplace_back(ReadRequest{.source = source,
                                              .offset_bytes = offset_bytes,
                                              .length_bytes = length_bytes,
                                              .destination = destination.data(),
                                              .tag = requests_.size()});
}

const ReadRequest& EngineLab::whole(std::string_view name, std::uint64_t length_bytes) {
    const char* stored = names_.emplace_back(name).c_str();
    return add({.fd = -1, .dir_fd = dir_fd_.get(), .name = stored, .whole_file = true}, 0, length_bytes);
}

const ReadRequest& EngineLab::part(std::string_view name, std::uint64_t offset_bytes, std::uint64_t length_bytes) {
    const char* stored = names_.emplace_back(name).c_str();
    return add({.fd = -1, .dir_fd = dir_fd_.get(), .name = stored, .whole_file = false}, offset_bytes, length_bytes);
}

const ReadRequest& EngineLab::open_part(int fd, std::uint64_t offset_bytes, std::uint64_t length_bytes) {
    return add({.fd = fd, .dir_fd = -1, .name = nullptr, .whole_file = false}, offset_bytes, length_bytes);
}

std::vector<Completion> EngineLab::run() {
    const std::span<const ReadRequest> all = std::span(requests_).subspan(pending_from_);
    std::vector<Completion> by_tag(all.size());
    std::vector<bool> seen(all.size(), false);
    std::array<Completion, 64> out;
    std::size_t submitted = 0;
    std::size_t complete = 0;
    while (complete < all.size()) {
        submitted += engine_->submit(all.subspan(submitted));
        EXPECT_EQ(engine_->in_flight(), submitted - complete);
        const std::size_t count = engine_->reap(submitted > complete ? 1 : 0, out, -1);
        for (const Completion& completion : std::span(out).first(count)) {
            const std::uint64_t index = completion.tag - pending_from_;
            if (index >= seen.size() || seen[index]) {
                ADD_FAILURE() << "completion for tag " << completion.tag << " that was not due";
                continue;
            }
            seen[index] = true;
            by_tag[index] = completion;
            EXPECT_TRUE(destination(completion.tag).guards_intact()) << "tag " << completion.tag;
            EXPECT_GT(completion.issued_ns, 0);
            EXPECT_LE(completion.issued_ns, completion.opened_ns);
            EXPECT_LE(completion.opened_ns, completion.completed_ns);
            EXPECT_LE(completion.completed_ns, now_ns());
        }
        complete += count;
    }
    EXPECT_EQ(engine_->in_flight(), 0U);
    pending_from_ = requests_.size();
    return by_tag;
}

Completion EngineLab::run_one() {
    const std::vector<Completion> completions = run();
    EXPECT_EQ(completions.size(), 1U);
    return completions.at(0);
}

std::int64_t ScriptedFaults::on_open(std::uint64_t /*tag*/, std::int64_t result) {
    if (open_failures_ == 0) return result;
    --open_failures_;
    return -open_error_;
}

std::uint64_t ScriptedFaults::on_read_length(std::uint64_t /*tag*/, std::uint64_t length) {
    return sever_bytes_ == 0 ? length : std::min(length, sever_bytes_);
}

std::int64_t ScriptedFaults::on_read(std::uint64_t /*tag*/, std::int64_t result) {
    if (read_failures_ == 0) return result;
    --read_failures_;
    return -read_error_;
}

bool ScriptedFaults::on_submit() {
    ++submits_;
    return full_every_ == 0 || submits_ % full_every_ != 0;
}

void ScriptedFaults::fail_opens(int error_number, std::uint64_t count) {
    open_error_ = error_number;
    open_failures_ = count;
}

void ScriptedFaults::fail_reads(int error_number, std::uint64_t count) {
    read_error_ = error_number;
    read_failures_ = count;
}

std::size_t open_descriptors() {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator{}));
}

}  // namespace feedline::test
