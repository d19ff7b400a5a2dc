// Where the system's own limits are: descriptors, bytes a call, waiting.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <string_view>

#include "tests/loaders/engine/engine_lab.h"

namespace feedline::test {
namespace {

class Limits : public testing::TestWithParam<EngineCase> {};

INSTANTIATE_TEST_SUITE_P(Engines, Limits, testing::ValuesIn(reading_engines()),
                         [](const auto& tested) { return case_name(tested.param); });

TEST_P(Limits, WithoutAFreeDescriptorAnOpenFailsOrNeedsNone) {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "the sanitizer's own check of an object's type needs a free descriptor";
#endif
    EngineLab lab(GetParam(), 4);
    lab.make_file("file", "content");
    for (unsigned i = 0; i < 4; ++i) lab.whole("file", 7);
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    rlimit none = before;
    none.rlim_cur = 0;
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    const std::vector<Completion> completions = lab.run();
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    const bool direct_descriptors = GetParam().kind == EngineKind::uring || GetParam().kind == EngineKind::uring_direct;
    for (const Completion& completion : completions) EXPECT_EQ(completion.result, direct_descriptors ? 7 : -EMFILE);
    lab.whole("file", 7);
    EXPECT_EQ(lab.run_one().result, 7);
}

// Address space that holds the same few pages over and over, so that gigabytes can be read into it.
class EndlessMemory {
public:
    explicit EndlessMemory(std::uint64_t bytes) : bytes_((bytes + kPieceBytes - 1) / kPieceBytes * kPieceBytes) {
        const int fd = memfd_create("piece", MFD_CLOEXEC);
        if (fd < 0 || ftruncate(fd, kPieceBytes) != 0) return;
        address_ = mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        for (std::uint64_t at = 0; at < bytes_; at += kPieceBytes) {
            std::byte* const piece = static_cast<std::byte*>(address_) + at;
            EXPECT_EQ(mmap(piece, kPieceBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0), piece);
        }
        close(fd);
    }
    ~EndlessMemory() { munmap(address_, bytes_); }
    EndlessMemory(const EndlessMemory&) = delete;
    EndlessMemory& operator=(const EndlessMemory&) = delete;
    std::byte* data() const { return static_cast<std::byte*>(address_); }

private:
    static constexpr std::uint64_t kPieceBytes = 16U << 20U;
    std::uint64_t bytes_;
    void* address_ = nullptr;
};

TEST_P(Limits, MoreThanTheKernelTransfersInOneCall) {
    if (GetParam().kind == EngineKind::mmap) GTEST_SKIP() << "a mapping knows no such limit";
    if (GetParam().alignment.direct() && GetParam().alignment.offset_bytes < 4096) GTEST_SKIP() << "once is enough";
    EngineLab lab(GetParam(), 1, nullptr, "/dev/shm");  // where holes cost nothing
    const std::uint64_t length = (2ULL << 30U) + 54321;
    const std::string tail = pattern(10000, 3);
    lab.make_file("large", "");
    const Fd writer(::open((lab.dir() / "large").c_str(), O_WRONLY | O_CLOEXEC));
    ASSERT_EQ(pwrite(writer.get(), tail.data(), tail.size(), static_cast<off_t>(length - tail.size())), 10000);
    const EndlessMemory memory(length + 4096);
    const ReadRequest request{.source = {.fd = -1, .dir_fd = lab.dir_fd(), .name = "large", .whole_file = true},
                              .length_bytes = length,
                              .destination = memory.data(),
                              .tag = 1};
    ASSERT_EQ(lab.engine().submit({&request, 1}), 1U);
    Completion completion;
    while (lab.engine().reap(1, {&completion, 1}, -1) == 0) {
    }
    EXPECT_EQ(completion.result, static_cast<std::int64_t>(length));
    EXPECT_FALSE(completion.grew);
    EXPECT_EQ(lab.engine().counters().reads, 2U);
    const auto* end = reinterpret_cast<const char*>(memory.data()) + length;
    EXPECT_EQ(std::string_view(end - tail.size(), tail.size()), tail);
}

// Only io_uring can wait with a limit, for only there the engine is not itself inside the read.
class Waiting : public testing::Test {
protected:
    void SetUp() override {
        for (const EngineKind kind : available_engines()) available_ = available_ || kind == EngineKind::uring;
        if (!available_) GTEST_SKIP() << "no io_uring here";
        ASSERT_EQ(pipe2(pipe_.data(), O_CLOEXEC), 0);
    }
    void TearDown() override {
        for (const int fd : pipe_) {
            if (fd >= 0) close(fd);
        }
    }
    bool available_ = false;
    std::array<int, 2> pipe_ = {-1, -1};
};

TEST_F(Waiting, AReadThatHangsDoesNotKeepTheCallerBeyondItsTimeout) {
    EngineLab lab({EngineKind::uring, {}}, 4);
    lab.make_file("file", "content");
    const std::array requests = {lab.open_part(pipe_[0], 0, 5), lab.whole("file", 7)};
    ASSERT_EQ(lab.engine().submit(requests), 2U);
    std::array<Completion, 4> out;
    ASSERT_EQ(lab.engine().reap(1, out, -1), 1U) << "the file, but not the pipe that nobody writes to";
    EXPECT_EQ(out[0].tag, 1U);
    const Nanoseconds before = now_ns();
    EXPECT_EQ(lab.engine().reap(1, out, 5'000'000), 0U);
    EXPECT_GE(now_ns() - before, 5'000'000);
    EXPECT_EQ(lab.engine().reap(1, out, 0), 0U);
    EXPECT_EQ(lab.engine().in_flight(), 1U);
    ASSERT_EQ(write(pipe_[1], "hello", 5), 5);
    std::size_t count = 0;
    while (count == 0) count = lab.engine().reap(1, out, -1);
    EXPECT_EQ(out[0].result, 5);
    EXPECT_EQ(lab.destination(0).payload(5), "hello");
}

TEST_F(Waiting, AnEngineWithAReadThatHangsCanBeDestroyed) {
    EngineLab lab({EngineKind::uring, {}}, 4);
    const ReadRequest request = lab.open_part(pipe_[0], 0, 5);
    ASSERT_EQ(lab.engine().submit({&request, 1}), 1U);
    std::array<Completion, 4> out;
    ASSERT_EQ(lab.engine().reap(1, out, 0), 0U);
    lab.drop_engine();
    ASSERT_EQ(write(pipe_[1], "hello", 5), 5);
    EXPECT_TRUE(lab.destination(0).untouched()) << "nothing may be written once the engine is gone";
}

}  // namespace
}  // namespace feedline::test
