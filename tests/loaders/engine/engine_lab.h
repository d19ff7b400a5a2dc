// A directory of files, an engine over it, and destinations between guard bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/fd.h"
#include "loaders/engine/engine.h"
#include "tests/testutil/temp_dir.h"

namespace feedline::test {

// What every engine of this build and kernel is tested with.
struct EngineCase {
    EngineKind kind = EngineKind::pread;
    Alignment alignment;
    bool may_block = false;
};
std::vector<EngineCase> reading_engines();
std::ostream& operator<<(std::ostream& out, const EngineCase& engine_case);
std::string case_name(const EngineCase& engine_case);

// Memory for one request, aligned, filled with a known byte and fenced by guards.
class Destination {
public:
    Destination(const Alignment& alignment, std::uint64_t offset_bytes, std::uint64_t length_bytes);

    std::byte* data() const { return data_; }
    std::string_view payload(std::uint64_t bytes) const;
    bool guards_intact() const;
    bool untouched() const;

private:
    std::unique_ptr<std::byte[]> memory_;
    std::uint64_t memory_bytes_ = 0;
    std::byte* data_ = nullptr;
    Footprint footprint_{};
};

class EngineLab {
public:
    EngineLab(const EngineCase& engine_case, unsigned depth, FaultHook* faults = nullptr, std::string_view base = {});

    Engine& engine() { return *engine_; }
    const EngineCase& engine_case() const { return case_; }
    const TempDir& dir() const { return dir_; }
    int dir_fd() const { return dir_fd_.get(); }
    void make_file(std::string_view name, std::string_view content) const;
    void new_engine(unsigned depth, FaultHook* faults);
    void drop_engine() { engine_.reset(); }

    // Requests by name (whole file or a part of it) or on an open descriptor; the tag is the request's number.
    const ReadRequest& whole(std::string_view name, std::uint64_t length_bytes);
    const ReadRequest& part(std::string_view name, std::uint64_t offset_bytes, std::uint64_t length_bytes);
    const ReadRequest& open_part(int fd, std::uint64_t offset_bytes, std::uint64_t length_bytes);
    const Destination& destination(std::uint64_t tag) const { return destinations_.at(tag); }

    // Submits all pending requests and reaps until every one is complete, exactly once; completions by tag.
    // `what` ends up in failure messages. Also checks guards, times and that nothing is left in flight.
    std::vector<Completion> run();
    Completion run_one();  // the only pending request

    // An open descriptor, with O_DIRECT where the engine wants it.
    Fd open(std::string_view name) const;

private:
    const ReadRequest& add(const Source& source, std::uint64_t offset_bytes, std::uint64_t length_bytes);

    EngineCase case_;
    TempDir dir_;
    Fd dir_fd_;
    std::unique_ptr<Engine> engine_;
    std::deque<std::string> names_;
    std::deque<Destination> destinations_;
    std::vector<ReadRequest> requests_;
    std::size_t pending_from_ = 0;
};

// Faults by rule; the default lets everything pass. Counts what it saw.
class ScriptedFaults : public FaultHook {
public:
    std::int64_t on_open(std::uint64_t, std::int64_t result) override;
    std::uint64_t on_read_length(std::uint64_t, std::uint64_t length) override;
    std::int64_t on_read(std::uint64_t, std::int64_t result) override;
    bool on_submit() override;

    // The next `count` opens or reads answer this -errno.
    void fail_opens(int error_number, std::uint64_t count);
    void fail_reads(int error_number, std::uint64_t count);
    void sever_reads(std::uint64_t bytes) { sever_bytes_ = bytes; }  // 0: not
    void fill_ring_every(std::uint64_t n) { full_every_ = n; }       // 0: never

private:
    int open_error_ = 0, read_error_ = 0;
    std::uint64_t open_failures_ = 0, read_failures_ = 0;
    std::uint64_t sever_bytes_ = 0;
    std::uint64_t full_every_ = 0, submits_ = 0;
};

// Open descriptors of this process, by /proc/self/fd.
std::size_t open_descriptors();

}  // namespace feedline::test
