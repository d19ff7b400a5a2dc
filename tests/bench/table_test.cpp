#include "bench/report/table.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "bench/report/best.h"
#include "tests/bench/hand_made.h"

namespace feedline {
namespace {

std::size_t widest(const std::string& text) {
    std::size_t most = 0;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = text.find('\n', at);
        const std::string line = text.substr(at, end - at);
        const auto columns = std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; });
        most = std::max(most, static_cast<std::size_t>(columns));
        at = end + 1;
    }
    return most;
}

TEST(Table, ReadsAsAPersonWouldExpect) {
    const std::string table = render_table({test::hand_made_context(), {test::hand_made_result()}, {}});
    EXPECT_EQ(table,
              R"(custom: a batch of 67 every 500 ms asks for 134 samples/s; 1 x emulated accelerator

tier  engine  samples/s    bytes/s    idle  because        AU  cache  feeds  limit
disk  uring         100  10.0 MB/s  25.0 %  read 80 %  80.0 %  cold    0.82  storage
  idle      share of the epoch in which an accelerator does not compute, the first fill included
  steady    idle from the end of the first step, or of the warm-up, to the end of the last
  busy      1 - steady idle
  AU        utilization as MLPerf Storage counts it: from the end of the first step
  cache     cold: read from the device
  feeds     about how many such accelerators the loader keeps busy
  controls  the same run without one part

disk/files/uring/custom
  idle 2.50 s of 10.0 s (25.0 %), steady 20.0 %
    open      16.0 %    400 ms  ########
    read      80.0 %    2.00 s  ########################################
    h2d        4.0 %    100 ms  ##
  reads p50 2.00 ms, p99 9.00 ms, longest 12.0 ms; 1.02 device reads a sample
  controls                 samples/s      busy
    this run                       -    80.0 %
    no storage                90,000    99.9 %
    no step                      110         -
    from memory               40,000    99.0 %
    copies alone             250,000    99.8 %
    nothing overlapped             -    70.0 %  overlapping is worth: 70.0 % -> 80.0 % busy
  classes: 2: 0 = cat, 1 = dog
  => Storage is the limit: steady idle 20.0 % here, 1.0 % from memory. Next: --engine uring-direct,
     which reads past the page cache; then each sample of 100 KB costs 1.02 device reads, 102 reads
     and 10.0 MB a second: if that is as many reads as the disk gives, pack the small files into
     shards; if it is as many bytes, packing changes nothing: use a faster disk, more disks or
     smaller samples. This run is short, 14 steps an accelerator after the first: measure a larger
     dataset or use a smaller batch before you rely on it.
)");
}

TEST(Table, NeverExceedsItsWidth) {
    Result result = test::hand_made_result();
    result.tier_name = "a-very-long-name-of-a-tier-that-somebody-gave-it-to-tell-it-from-all-the-others-there-are";
    result.name = result.tier_name + "/files/uring-direct/custom";
    result.engine = "uring-direct";
    result.notes = {
        "uring-direct -> uring: the filesystem of a dataset with a long name refuses O_DIRECT, and says so "
        "with an error that takes quite a few words to explain"};
    result.rounds[0][0].samples = 123'456'789;
    Result second = test::hand_made_result();
    second.tier_name = "caf\xc3\xa9";
    for (const std::size_t width : {100U, 80U, 60U, 40U}) {
        const std::string table = render_table(
            {test::hand_made_context(), {result, second}, {{"disk/files/native/custom", "files have none"}}}, width);
        // The name of a result is an identifier and is not cut.
        EXPECT_LE(widest(table), std::max(width, result.name.size())) << table;
        EXPECT_NE(table.find("skipped: disk/files/native/custom: files"), std::string::npos) << table;
        EXPECT_NE(table.find("\n  => "), std::string::npos) << table;
    }
}

std::string title_line(const std::string& table) {
    const std::size_t at = table.find("\ntier") + 1;
    return table.substr(at, table.find('\n', at) - at);
}

TEST(Table, ANarrowTerminalLosesColumnsThatStandFurtherDown) {
    Result result = test::hand_made_result();
    result.engine = "uring-direct";
    result.tier_name = "ssd";
    result.rounds[0][0].idle.by_cause[Cause::open] = 1.0e9;
    result.bottleneck = Bottleneck::cpu;
    const ResultFile file{test::hand_made_context(), {result}, {}};
    const std::string wide = render_table(file, 100);
    EXPECT_NE(title_line(wide).find("bytes/s"), std::string::npos) << wide;
    const std::string narrow = render_table(file, 80);
    for (const char* title : {"tier", "engine", "samples/s", "idle", "cache", "limit"}) {
        EXPECT_NE(title_line(narrow).find(title), std::string::npos) << narrow;
    }
    EXPECT_EQ(title_line(narrow).find("bytes/s"), std::string::npos) << narrow;
    EXPECT_LE(widest(narrow), 80U) << narrow;
    EXPECT_LE(widest(render_table(file, 60)), 60U);
    EXPECT_NE(narrow.find("ssd"), std::string::npos) << "the tier's name is cut last";
}

TEST(Table, FollowsTheTerminalWithinReason) {
    EXPECT_EQ(table_columns(0), 100U);
    EXPECT_EQ(table_columns(300), 100U);
    EXPECT_EQ(table_columns(80), 80U);
    EXPECT_EQ(table_columns(40), 40U);
    EXPECT_EQ(table_columns(10), 40U);
}

TEST(Table, FortyColumnsHoldTheFiguresThatMatter) {
    Result result = test::hand_made_result();
    result.engine = "uring-direct";
    result.controls.null_storage->note = "over 40 steps, and as measured for another engine";
    const std::string table = render_table({test::hand_made_context(), {result}, {}}, 40);
    EXPECT_LE(widest(table), 40U) << table;
    for (const char* title : {"tier", "engine", "samples/s", "idle"}) {
        EXPECT_NE(title_line(table).find(title), std::string::npos) << table;
    }
    EXPECT_EQ(title_line(table).find("cache"), std::string::npos) << table;
    EXPECT_NE(table.find("\n  cache cold\n"), std::string::npos) << "what left the table stands below it: " << table;
    EXPECT_NE(table.find("  no storage            90,000   99.9 %\n      over 40 steps,"), std::string::npos) << table;
}

// The words between the table and the details.
std::string legend_of(const std::vector<Result>& results) {
    const std::string table = render_table({test::hand_made_context(), results, {}});
    const std::size_t begin = table.find("\n  ", table.find("\ntier"));
    return table.substr(begin, table.find("\n\n", begin) - begin);
}

TEST(Table, ExplainsTheWordsThatStandInIt) {
    Result result = test::hand_made_result();
    EXPECT_NE(legend_of({result}).find("\n  feeds "), std::string::npos) << legend_of({result});
    result.accelerators_sustained.reset();
    EXPECT_EQ(legend_of({result}).find("\n  feeds "), std::string::npos) << legend_of({result});
    result.controls = {};
    for (const char* absent : {"\n  controls ", "\n  busy "}) {
        EXPECT_EQ(legend_of({result}).find(absent), std::string::npos) << legend_of({result});
    }
    result.step_seconds = 0;
    EXPECT_EQ(legend_of({result}), "\n  cache     cold: read from the device");
    Result other = result;
    other.tier_name = "net";
    other.rounds[0][0].cache.verdict = "unknown";
    EXPECT_EQ(legend_of({result, other}), "\n  cache     cold: read from the device; unknown: cannot be told");
}

TEST(Table, WhatASweepNeverExpectedIsNotListedAsSkipped) {
    const std::string table = render_table(
        {test::hand_made_context(),
         {test::hand_made_result()},
         {{"disk/files/native/custom", "files have none", false}, {"disk/files/uring-direct/custom", "no O_DIRECT"}}});
    EXPECT_EQ(table.find("native"), std::string::npos) << table;
    EXPECT_NE(table.find("skipped: disk/files/uring-direct/custom"), std::string::npos) << table;
}

TEST(Table, SeveralAcceleratorsAskForTheirSum) {
    Result result = test::hand_made_result();
    result.accelerators = 3;
    const std::string table = render_table({test::hand_made_context(), {result}, {}});
    EXPECT_EQ(table.substr(0, table.find('\n')),
              "custom: a batch of 67 every 500 ms asks for 134 samples/s each; 3 x emulated accelerator: 402");
    EXPECT_NE(table.find("402\nsamples/s in all"), std::string::npos) << table;
}

TEST(Table, ASweepSaysWhichWasBestAndByHowMuch) {
    const auto measured = [](const char* tier, const char* engine, const std::vector<std::uint64_t>& samples) {
        Result result = test::hand_made_result();
        result.tier_name = tier;
        result.engine = engine;
        result.rounds.clear();
        for (const std::uint64_t count : samples) {
            result.rounds.push_back({test::hand_made_epoch()});
            result.rounds.back()[0].samples = count;
        }
        return result;
    };
    std::vector<Result> results{measured("disk", "pread", {10'000}), measured("disk", "uring", {11'200}),
                                measured("net", "mmap", {3000, 9000, 4000}), measured("net", "uring", {3980, 3980}),
                                measured("alone", "uring", {500})};
    const std::vector<std::string> lines = best_lines(results);
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_EQ(
        lines[0],
        "best on disk: uring, 1,120 samples/s, 12.0 % more than pread (one round; --rounds 3 or more tells how sure)");
    EXPECT_EQ(lines[1],
              "best on net: mmap, 400 samples/s (median of its rounds), but uring is within 0.5 %, too close to call");
    EXPECT_NE(render_table({test::hand_made_context(), results, {}}).find("\n" + lines[0].substr(0, 60)),
              std::string::npos);
    // Repetitions tell: all of the one above all of the other, or not.
    EXPECT_EQ(best_lines({measured("x", "a", {100, 110, 120}), measured("x", "b", {80, 90, 95})})[0],
              "best on x: a, 11 samples/s (median of its rounds), 22.2 % more than b");
    Result lacking = measured("x", "a", {100});
    lacking.rounds[0][0].skipped_samples = 50;
    EXPECT_TRUE(best_lines({lacking, measured("x", "b", {80})}).empty()) << "a part of the samples is another task";
    EXPECT_EQ(best_lines({measured("x", "a", {85, 110, 120}), measured("x", "b", {80, 90, 95})})[0],
              "best on x: a, 11 samples/s (median of its rounds), 22.2 % more than b, but their rounds overlap: too "
              "close to call");
    // What failed is no candidate.
    results[1].status = RunStatus::failed;
    EXPECT_EQ(best_lines(results).size(), 1U);
    // The first engine read from the disk and the second what the first had left in memory.
    results[1].status = RunStatus::ok;
    results[1].rounds[0][0].cache.verdict = "warm";
    EXPECT_EQ(best_lines(results)[0],
              "best on disk: cannot be told, for the cache was not the same for all: uring 1,120 (warm), pread 1,000 "
              "(cold); use --cache cold or --cache warm");
    results[1].rounds[0][0].cache.verdict = "unknown";
    EXPECT_NE(best_lines(results)[0].find("cannot be told"), std::string::npos);
    // From the disk, and yet faster than the other from memory: whatever memory gave, it was not enough.
    results[1].rounds[0][0].cache.verdict = "cold";
    results[0].rounds[0][0].cache.verdict = "warm";
    EXPECT_EQ(best_lines(results)[0].substr(0, 60), "best on disk: uring, 1,120 samples/s, 12.0 % more than pread");
    EXPECT_NE(best_lines(results)[0].find("though not all others read as much from storage"), std::string::npos);
}

TEST(Table, WhatHoldsForAllRunsStandsOnce) {
    Result one = test::hand_made_result();
    one.notes = {"of all", "of one"};
    Result other = one;
    other.tier_name = "other";
    other.notes = {"of all"};
    Result slower = one;
    slower.engine = "pread";
    slower.rounds[0][0].samples /= 2;
    Result slower_other = slower;
    slower_other.tier_name = "other";
    const std::string table = render_table({test::hand_made_context(), {one, slower, other, slower_other}, {}});
    const auto times = [&](const std::string& text) {
        std::size_t count = 0;
        for (std::size_t at = table.find(text); at != std::string::npos; at = table.find(text, at + 1)) ++count;
        return count;
    };
    EXPECT_EQ(times("note: of all"), 1U) << table;
    EXPECT_EQ(times("note: of one"), 3U) << table;
    EXPECT_EQ(times("classes: 2: "), 1U) << table;
    EXPECT_EQ(times("best on "), 2U) << table;
    EXPECT_EQ(times("(one round"), 1U) << table;
    EXPECT_EQ(times("\n  => "), 4U) << table;
}

TEST(Table, ATierInMemoryCannotBeCold) {
    Result result = test::hand_made_result();
    result.tier.tier_kind = "ram";
    result.tier.fs_type = "tmpfs";
    result.rounds[0][0].cache.verdict = "warm";
    EXPECT_NE(headline_warning(result).find("tmpfs is memory, which no engine can read cold, O_DIRECT included"),
              std::string::npos)
        << headline_warning(result);
}

TEST(Table, ARunThatIsNotColdSaysSoInItsFirstLine) {
    Result result = test::hand_made_result();
    result.rounds[0][0].cache.verdict = "mixed";
    result.rounds[0][0].cache.resident_before = 0.5;
    const std::string table = render_table({test::hand_made_context(), {result}, {}});
    const std::string first = table.substr(0, table.find('\n'));
    EXPECT_NE(first.find("NOT COLD"), std::string::npos) << table;
    EXPECT_EQ(table.find("NOT COLD"), table.rfind("NOT COLD")) << "said once: " << table;
    result.rounds[0][0].cache.verdict = "unknown";
    result.rounds[0][0].cache.reason = "what zfs lies on cannot be seen from here";
    EXPECT_NE(headline_warning(result).find("cannot be told: what zfs lies on"), std::string::npos);
    result.config["cache"] = "as-is";
    EXPECT_EQ(render_table({test::hand_made_context(), {result}, {}}).find("NOT COLD"), std::string::npos);
}

TEST(Table, FailedAndPartialResultsAreMarked) {
    Result failed = test::hand_made_result();
    failed.status = RunStatus::failed;
    failed.error = "cannot read: /data/x: Input/output error (errno 5)";
    failed.rounds = {{}};
    Result partial = test::hand_made_result();
    partial.status = RunStatus::partial;
    partial.bottleneck = Bottleneck::unknown;
    const std::string table = render_table({test::hand_made_context(), {failed, partial}, {}});
    EXPECT_NE(table.find("! failed: cannot read: /data/x"), std::string::npos) << table;
    EXPECT_NE(table.find("! partial: interrupted"), std::string::npos) << table;
}

TEST(Table, InterruptedControlsLeaveTheEpochComplete) {
    Result result = test::hand_made_result();
    result.status = RunStatus::partial;
    result.controls.warm.reset();
    result.missing = {"controls.warm"};
    result.bottleneck = Bottleneck::unknown;
    const std::string table = render_table({test::hand_made_context(), {result}, {}});
    EXPECT_NE(table.find("! controls interrupted: the measured epoch is complete; missing: warm"), std::string::npos)
        << table;
    EXPECT_EQ(table.find("partial"), std::string::npos) << table;
}

TEST(Table, WithoutStepsTheControlsAreRates) {
    Result result = test::hand_made_result();
    result.step_seconds = 0;
    result.controls.null_step = {std::nullopt, 100.0, "the measured run itself"};
    for (auto* control :
         {&result.controls.null_storage, &result.controls.warm, &result.controls.h2d, &result.controls.serial}) {
        (*control)->utilization.reset();
    }
    const std::string table = render_table({test::hand_made_context(), {result}, {}});
    EXPECT_NE(table.find("    this run                     100         -\n"), std::string::npos) << table;
    EXPECT_EQ(table.find("no step  "), std::string::npos) << "it is the run itself: " << table;
    EXPECT_EQ(table.find("steady"), std::string::npos) << table;
    EXPECT_EQ(table.find("overlapping is worth"), std::string::npos) << table;
    EXPECT_NE(table.find("reading and copying overlap"), std::string::npos) << table;
}

TEST(Table, PrintsTheClassMap) {
    DatasetInfo dataset;
    EXPECT_EQ(class_map_line(dataset), "");
    dataset.classes = {{"cat", 0, 5}, {"dog", 1, 5}};
    EXPECT_EQ(class_map_line(dataset), "classes: 2: 0 = cat, 1 = dog");
    for (int i = 2; i < 1000; ++i) dataset.classes.push_back({"n", i, 1});
    EXPECT_EQ(class_map_line(dataset), "classes: 1,000: 0 = cat, 1 = dog, 2 = n, ... (all in the JSON)");
}

}  // namespace
}  // namespace feedline
