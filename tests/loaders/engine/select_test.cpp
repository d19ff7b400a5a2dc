// What a request for an engine becomes where something is refused.
#include "loaders/engine/select.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <iostream>

#include "core/error.h"
#include "core/fd.h"
#include "tests/loaders/engine/engine_lab.h"

namespace feedline::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using Verdict = AccessAnswer::Verdict;

// Files f0, f1, ... of one directory.
class FewFiles final : public Dataset {
public:
    explicit FewFiles(std::uint64_t files, std::string_view base = {}) : dir_(base) {
        for (std::uint64_t i = 0; i < files; ++i) write_file(dir_ / name(i), pattern(20000, 1));
        dir_fd_ = Fd(open(dir_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        info_.samples = info_.shards = files;
    }
    const DatasetInfo& info() const override { return info_; }
    void locate(std::span<const SampleId>, std::span<Extent>) const override {}
    Source source(ShardId shard, std::string& scratch) const override {
        scratch = name(shard);
        return {.fd = -1, .dir_fd = dir_fd_.get(), .name = scratch.c_str(), .whole_file = true};
    }
    std::string path(ShardId shard) const override { return dir_ / name(shard); }
    std::string key(SampleId id) const override { return name(id); }
    std::optional<std::int64_t> label(SampleId) const override { return std::nullopt; }

private:
    static std::string name(std::uint64_t i) { return "f" + std::to_string(i); }

    TempDir dir_;
    Fd dir_fd_;
    DatasetInfo info_;
};

class ScriptedProbe final : public SystemProbe {
public:
    std::string uring;
    std::vector<AccessAnswer> answers;  // one a file asked, the last one again and again
    AccessAnswer at_once{Verdict::works, {}, ""};

    std::string uring_refusal() override { return uring; }
    AccessAnswer direct_access(const Source&) override { return next(); }
    AccessAnswer mapping(const Source&) override { return next(); }
    AccessAnswer reads_at_once(const Source&) override { return at_once; }
    std::size_t asked() const { return asked_; }

private:
    AccessAnswer next() { return answers.at(std::min(asked_++, answers.size() - 1)); }
    std::size_t asked_ = 0;
};

TEST(Select, WhatWorksIsTakenAsItIs) {
    const FewFiles dataset(5);
    ScriptedProbe probe;
    probe.answers = {{Verdict::works, {512, 512}, ""}};
    for (const EngineKind kind :
         {EngineKind::pread, EngineKind::mmap, EngineKind::uring, EngineKind::uring_direct, EngineKind::null}) {
        const EngineSelection selection = select_engine(kind, dataset, probe);
        EXPECT_EQ(selection.kind, kind);
        EXPECT_THAT(selection.fallback, IsEmpty());
        EXPECT_EQ(selection.alignment.direct(), kind == EngineKind::uring_direct);
    }
}

TEST(Select, TheCoarsestAlignmentOfTheFilesAskedIsTaken) {
    const FewFiles dataset(5);
    ScriptedProbe probe;
    probe.answers = {{Verdict::works, {512, 512}, ""}, {Verdict::unknown, {}, ""}, {Verdict::works, {1024, 4096}, ""}};
    const EngineSelection selection = select_engine(EngineKind::uring_direct, dataset, probe);
    EXPECT_EQ(selection.kind, EngineKind::uring_direct);
    EXPECT_EQ(selection.alignment.memory_bytes, 1024U);
    EXPECT_EQ(selection.alignment.offset_bytes, 4096U);
}

TEST(Select, AFilesystemWithoutDirectReadsFallsBackToBufferedOnesAndSaysSo) {
    const FewFiles dataset(5);
    ScriptedProbe probe;
    probe.answers = {{Verdict::works, {512, 512}, ""}, {Verdict::refused, {}, "refuses O_DIRECT"}};
    const EngineSelection selection = select_engine(EngineKind::uring_direct, dataset, probe);
    EXPECT_EQ(selection.kind, EngineKind::uring);
    EXPECT_FALSE(selection.alignment.direct());
    EXPECT_THAT(selection.fallback, StartsWith("uring-direct -> uring: "));
    EXPECT_THAT(selection.fallback, HasSubstr("refuses O_DIRECT"));
    EXPECT_THAT(selection.fallback, HasSubstr(dataset.path(2))) << "the file that was asked";
}

TEST(Select, FilesThatCannotBeAskedAreReadBuffered) {
    const FewFiles dataset(5);
    ScriptedProbe probe;
    probe.answers = {{Verdict::unknown, {}, ""}};
    EXPECT_EQ(select_engine(EngineKind::uring_direct, dataset, probe).kind, EngineKind::uring);
    EXPECT_EQ(probe.asked(), 3U);
    EXPECT_EQ(select_engine(EngineKind::mmap, dataset, probe).kind, EngineKind::mmap);
}

TEST(Select, WithoutIoUringEverythingOfItBecomesPread) {
    const FewFiles dataset(1);
    ScriptedProbe probe;
    probe.uring = "io_uring: forbidden";
    for (const EngineKind kind : {EngineKind::uring, EngineKind::uring_direct}) {
        const EngineSelection selection = select_engine(kind, dataset, probe);
        EXPECT_EQ(selection.kind, EngineKind::pread);
        EXPECT_EQ(selection.fallback, std::string(to_string(kind)) + " -> pread: io_uring: forbidden");
    }
    EXPECT_EQ(probe.asked(), 0U);
}

TEST(Select, ARingLeavesWhatMayBlockToTheKernelsThreads) {
    const FewFiles dataset(3);
    ScriptedProbe probe;
    for (const Verdict direct : {Verdict::works, Verdict::refused}) {
        probe.answers = {{direct, {512, 512}, ""}};
        for (const bool waits : {false, true}) {
            probe.at_once.verdict = waits ? Verdict::refused : Verdict::works;
            for (const EngineKind kind : {EngineKind::uring, EngineKind::uring_direct, EngineKind::pread}) {
                EXPECT_EQ(select_engine(kind, dataset, probe).may_block, waits && kind != EngineKind::pread);
            }
        }
    }
}

TEST(Select, AFilesystemWithoutMappingsIsReadByPread) {
    const FewFiles dataset(1);
    ScriptedProbe probe;
    probe.answers = {{Verdict::refused, {}, "refuses mappings"}};
    const EngineSelection selection = select_engine(EngineKind::mmap, dataset, probe);
    EXPECT_EQ(selection.kind, EngineKind::pread);
    EXPECT_THAT(selection.fallback, StartsWith("mmap -> pread: "));
}

TEST(Select, WithoutAReaderOfTheFormatsOwnNativeIsPread) {
    const FewFiles dataset(1);
    ScriptedProbe probe;
    const EngineSelection selection = select_engine(EngineKind::native, dataset, probe);
    EXPECT_EQ(selection.kind, EngineKind::pread);
    EXPECT_THAT(selection.fallback, StartsWith("native -> pread: "));
    EXPECT_FALSE(selection.one_by_one);
    EngineOptions options;
    options.kind = EngineKind::native;
    EXPECT_THROW(make_engine(options), Error);
    options.dataset = &dataset;
    EXPECT_THROW(make_engine(options), Error);
}

TEST(Select, WhatTheKernelAnswersHereCanBeReadWith) {
    for (const std::string base : {"", "/dev/shm"}) {
        const FewFiles dataset(3, base);
        for (const EngineKind wanted :
             {EngineKind::pread, EngineKind::mmap, EngineKind::uring, EngineKind::uring_direct}) {
            const EngineSelection selection = select_engine(wanted, dataset);
            SCOPED_TRACE(selection.fallback);
            EXPECT_EQ(selection.kind == wanted, selection.fallback.empty());
            EngineLab lab({selection.kind, selection.alignment}, 2, nullptr, base);
            lab.make_file("file", pattern(70001, 3));
            lab.whole("file", 70001);
            lab.part("file", 513, 10000);
            const std::vector<Completion> completions = lab.run();
            EXPECT_EQ(completions[0].result, 70001);
            EXPECT_EQ(lab.destination(0).payload(70001), pattern(70001, 3));
            EXPECT_EQ(completions[1].result, 10000);
            EXPECT_EQ(lab.destination(1).payload(10000), pattern(70001, 3).substr(513, 10000));
        }
    }
}

TEST(Select, TheKernelsProbeKnowsADescriptorAsWellAsAName) {
    const TempDir dir;
    write_file(dir / "file", pattern(20000, 1));
    const Fd fd(open((dir / "file").c_str(), O_RDONLY | O_CLOEXEC));
    const std::string path = dir / "file";
    KernelProbe probe;
    const AccessAnswer by_descriptor = probe.direct_access({.fd = fd.get()});
    const AccessAnswer by_name = probe.direct_access({.fd = -1, .dir_fd = AT_FDCWD, .name = path.c_str()});
    EXPECT_EQ(by_descriptor.verdict, by_name.verdict);
    EXPECT_EQ(by_descriptor.alignment.offset_bytes, by_name.alignment.offset_bytes);
    EXPECT_EQ(probe.mapping({.fd = fd.get()}).verdict, Verdict::works);
    EXPECT_EQ(probe.direct_access({.fd = -1, .dir_fd = AT_FDCWD, .name = "/nothing/here"}).verdict, Verdict::unknown);
}

// From here on in a child process, for what is taken away does not come back.

void forbid_io_uring(int error_number) {
    const std::array filter = {
        sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
        sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error_number)),
        sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const sock_fprog program{.len = filter.size(), .filter = const_cast<sock_filter*>(filter.data())};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        std::cerr << "no filter could be set\n";
        std::exit(1);
    }
}

[[noreturn]] void report_fallback(const Dataset& dataset) {
    const EngineSelection selection = select_engine(EngineKind::uring_direct, dataset);
    std::cerr << "chosen: " << to_string(selection.kind) << "; said: " << selection.fallback << "\n";
    try {
        EngineOptions options;
        options.kind = EngineKind::uring;
        make_engine(options);
        std::cerr << "an engine was made\n";
    } catch (const Error& error) {
        std::cerr << "refused as " << to_string(error.kind()) << "\n";
    }
    std::exit(0);
}

void expect_fallback(int error_number) {
    const FewFiles dataset(1);
    EXPECT_EXIT(
        {
            forbid_io_uring(error_number);
            report_fallback(dataset);
        },
        testing::ExitedWithCode(0), "chosen: pread; said: uring-direct -> pread: io_uring.*\n*refused as unsupported");
}

TEST(SelectDeathTest, AFilterThatForbidsIoUring) {
    expect_fallback(EPERM);
}

TEST(SelectDeathTest, AKernelWithoutIoUring) {
    expect_fallback(ENOSYS);
}

TEST(SelectDeathTest, NoMemoryThatMayBeLocked) {
    expect_fallback(ENOMEM);
}

}  // namespace
}  // namespace feedline::test
