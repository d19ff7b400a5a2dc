// io_uring over a real FUSE filesystem, one file of which gets no answer. Needs root and /dev/fuse; skips itself with a
// word where it has them not.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <ostream>

#include "core/fd.h"
#include "loaders/engine/select.h"
#include "tests/loaders/engine/engine_lab.h"
#include "tests/testutil/held_mount.h"
#include "tests/testutil/temp_dir.h"

namespace feedline::test {

static std::ostream& operator<<(std::ostream& out, HeldMount::What what) {
    return out << (what == HeldMount::What::open ? "open" : "read");
}

namespace {

constexpr unsigned kFiles = 12;
constexpr std::size_t kBytes = 5000;
constexpr unsigned kHeld = 5;

class Hung : public testing::TestWithParam<HeldMount::What> {
protected:
    void SetUp() override {
        const auto engines = available_engines();
        if (std::find(engines.begin(), engines.end(), EngineKind::uring) == engines.end()) {
            GTEST_SKIP() << "no io_uring here";
        }
        if (const std::string why = HeldMount::refusal(); !why.empty()) GTEST_SKIP() << "no FUSE here: " << why;
    }
};
INSTANTIATE_TEST_SUITE_P(Mounts, Hung, testing::Values(HeldMount::What::open, HeldMount::What::read),
                         testing::PrintToStringParamName());

TEST_P(Hung, NeitherKeepsOtherReadsNorTheirReaderWaiting) {
    const TempDir dir;
    std::vector<std::string> contents;
    for (unsigned file = 0; file < kFiles; ++file) contents.push_back(pattern(kBytes, file));
    const HeldMount mount(dir.path(), contents, {.what = GetParam(), .file = kHeld});
    const Fd folder(::open(dir.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    std::array<std::string, kFiles> names;
    std::vector<ReadRequest> requests;
    std::vector<Destination> destinations;
    for (unsigned file = 0; file < kFiles; ++file) {
        names[file] = HeldMount::name(file);
        // Names that are in memory are opened by the thread that submits.
        ASSERT_EQ(::faccessat(folder.get(), names[file].c_str(), F_OK, 0), 0);
        destinations.emplace_back(Alignment{}, 0, kBytes);
        requests.push_back(
            {.source = {.fd = -1, .dir_fd = folder.get(), .name = names[file].c_str(), .whole_file = true},
             .offset_bytes = 0,
             .length_bytes = kBytes,
             .destination = destinations.back().data(),
             .tag = file});
    }
    KernelProbe probe;
    const AccessAnswer answer = probe.reads_at_once(requests[0].source);
    EXPECT_EQ(answer.verdict, AccessAnswer::Verdict::refused);
    const std::unique_ptr<Engine> engine = make_engine({.kind = EngineKind::uring,
                                                        .queue_depth = kFiles,
                                                        .alignment = {},
                                                        .may_block = answer.verdict == AccessAnswer::Verdict::refused});
    ASSERT_EQ(engine->submit(requests), kFiles);
    std::array<Completion, kFiles> out;
    std::vector<bool> answered(kFiles, false);
    while (engine->in_flight() > 1) {
        const std::size_t count = engine->reap(1, out, 100'000'000);
        for (const Completion& completion : std::span(out).first(count)) {
            EXPECT_EQ(completion.result, static_cast<std::int64_t>(kBytes));
            EXPECT_EQ(destinations[completion.tag].payload(kBytes), mount.content(completion.tag));
            answered[completion.tag] = true;
        }
    }
    EXPECT_FALSE(answered[kHeld]);
    EXPECT_EQ(engine->reap(1, out, 300'000'000), 0U) << "long enough to ask what the hung file is";
    EXPECT_EQ(mount.held(), 1U);
}

TEST(ReadsAtOnce, AreAnsweredByLocalFilesystems) {
    for (const std::string base : {"", "/dev/shm"}) {
        const TempDir dir(base);
        write_file(dir / "file", "content");
        const std::string path = dir / "file";
        KernelProbe probe;
        EXPECT_EQ(probe.reads_at_once({.fd = -1, .dir_fd = AT_FDCWD, .name = path.c_str()}).verdict,
                  AccessAnswer::Verdict::works)
            << path;
    }
}

}  // namespace
}  // namespace feedline::test
