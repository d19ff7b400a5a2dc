#include "bench/report/progress.h"

#include <gtest/gtest.h>

#include <array>

#include "tests/bench/hand_made.h"

namespace feedline {
namespace {

// What is written to a file that stands for a terminal.
template <typename Act>
std::string shown(bool live, Act act, bool quiet = false) {
    std::FILE* file = std::tmpfile();
    {
        TerminalProgress progress(file, live, quiet);
        act(progress);
    }
    std::rewind(file);
    std::array<char, 4096> buffer{};
    const std::size_t length = std::fread(buffer.data(), 1, buffer.size(), file);
    std::fclose(file);
    return {buffer.data(), length};
}

TEST(Progress, SaysHowFarHowFastHowIdleAndHowLong) {
    const Progress progress{25, 6400, 0, 10'000'000'000, 0.123};
    EXPECT_EQ(progress_text(progress, {100, 0}),
              "step 25 of 100 (25.0 %)  640 samples/s  idle 12.3 % so far  30.0 s left");
    EXPECT_EQ(progress_text(progress, {}), "step 25  640 samples/s  idle 12.3 % so far");
    EXPECT_EQ(progress_text({}, {100, 0}), "step 0 of 100 (0.0 %)");
}

TEST(Progress, WhatIsLeftIsToldByWhatEndsFirstAndNeverAsNothing) {
    constexpr Nanoseconds kSecond = kNanosecondsPerSecond;
    const Progress progress{25, 6400, 0, 10 * kSecond, 0.123};
    EXPECT_TRUE(progress_text(progress, {100, 20 * kSecond}).ends_with("  10.0 s left"));
    EXPECT_TRUE(progress_text(progress, {100, 3600 * kSecond}).ends_with("  30.0 s left"));
    EXPECT_TRUE(progress_text(progress, {0, 20 * kSecond}).ends_with("  10.0 s left"));
    // The last step is under way, or the time is over and the last batch on its way.
    EXPECT_TRUE(progress_text(progress, {25, 0}).ends_with("so far  finishing"));
    EXPECT_TRUE(progress_text(progress, {100, 10 * kSecond}).ends_with("so far  finishing"));
    for (std::uint64_t steps = 25; steps < 200; ++steps) {
        EXPECT_EQ(progress_text(progress, {steps, 0}).find(" 0 ns"), std::string::npos);
    }
}

TEST(Progress, ANarrowTerminalSeesTheFigures) {
    const Progress progress{1250, 320'000, 0, 100 * kNanosecondsPerSecond, 0.123};
    const Goal goal{5000, 0};
    const std::string what = "a-tier-of-some-name/files/uring-direct/resnet50-h100, epoch 2 of 3, round 1 of 3";
    const auto line = [&](std::size_t columns) { return progress_line(what, progress, goal, columns); };
    const std::string text = "step 1,250 of 5,000 (25.0 %)  3,200 samples/s  idle 12.3 % so far  5 m 00 s left";
    EXPECT_EQ(line(300), what + ": " + text);
    EXPECT_EQ(line(110), "a-tier-of-som.. round 1 of 3: " + text);
    EXPECT_EQ(line(80), "a-tier-o..d 1 of 3: step 1,250 of 5,000 (25.0 %)  3,200 samples/s  5 m 00 s left");
    EXPECT_EQ(line(60), "step 1,250 of 5,000 (25.0 %)  3,200 samples/s  5 m 00 s left");
    EXPECT_EQ(line(45), "step 1,250 of 5,000 (25.0 %)  5 m 00 s left");
    EXPECT_EQ(line(30), "step 1,250 of 5,000 (25.0 %)");
    EXPECT_EQ(line(12), "step 1,250");
    EXPECT_EQ(progress_line("indexing /a/long/path/to/a/dataset", "12,345", 30), "indexing /../a/dataset: 12,345");
}

TEST(Progress, IsOneLineOnATerminalAndTakenAwayAtTheEnd) {
    const std::string text = shown(true, [](TerminalProgress& progress) {
        progress.working("indexing /data", 1234, 0);
        progress.measuring("disk/files/uring/rate", {1, 2, 3, 1'000'000, 0.5}, {10, 0});
    });
    EXPECT_NE(text.find("indexing /data: 1,234"), std::string::npos) << text;
    EXPECT_NE(text.find("disk/file..ing/rate: step 1 of 10"), std::string::npos) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos);
    EXPECT_TRUE(text.ends_with(" \r")) << "the line is wiped";
    EXPECT_EQ(text.find('\x1b'), std::string::npos) << "no escape sequence: some terminals know none";
}

TEST(Progress, IsQuietWhenNobodyWatchesButForFailures) {
    Result failed = test::hand_made_result();
    failed.status = RunStatus::failed;
    failed.error = "cannot read: /data/x";
    const std::string text = shown(false, [&](TerminalProgress& progress) {
        progress.working("indexing /data", 1234, 0);
        progress.measuring("x", {}, {10, 0});
        progress.finished(test::hand_made_result());
        progress.finished(failed);
    });
    EXPECT_EQ(text, "feedline: disk/files/uring/custom: cannot read: /data/x\n");
}

TEST(Progress, AnnouncesOnALineOfItsOwnUnlessQuiet) {
    const auto announce = [](TerminalProgress& progress) {
        progress.working("indexing /data", 1234, 0);
        progress.announce("what comes takes 3 s");
    };
    EXPECT_EQ(shown(false, announce), "feedline: what comes takes 3 s\n");
    EXPECT_EQ(shown(false, announce, true), "");
    EXPECT_TRUE(shown(true, announce).ends_with("\rfeedline: what comes takes 3 s\n"));
}

}  // namespace
}  // namespace feedline
