#include "bench/require.h"

#include <gtest/gtest.h>

#include "bench/report/table.h"
#include "core/error.h"
#include "tests/bench/hand_made.h"

namespace feedline {
namespace {

std::vector<std::string> missed_in(std::string_view text, const std::vector<Result>& results) {
    std::vector<std::string> all;
    for (const Result& result : results) {
        for (std::string& line : missed(parse_requirement(text), result)) all.push_back(std::move(line));
    }
    return all;
}

std::size_t misses(std::string_view text, const std::vector<Result>& results) {
    return missed_in(text, results).size();
}

TEST(Require, ComparesWithEachOperator) {
    const std::vector<Result> results{test::hand_made_result()};
    for (const char* holds : {"idle.fraction<=0.25",
                              "idle.fraction>=0.25",
                              "idle.fraction==0.25",
                              "idle.fraction<0.26",
                              "idle.fraction>0.24",
                              " idle.fraction  <=  0.25 ",
                              "samples_per_second>=100",
                              "controls.warm.utilization>=0.99",
                              "requests.device_reads_per_sample<=1.02",
                              "cache.verdict==cold",
                              "bottleneck==storage",
                              "samples_delivered_once==true",
                              "accelerators_sustained>0.5",
                              "idle.fraction<=25%",
                              "idle.fraction < 26 %",
                              "utilization.mlperf>=79.9%",
                              "controls.warm.utilization>=99%",
                              "latency_ns.read.p99<=1e7",
                              "latency_ns.read.p99<=9ms",
                              "seconds<=10s",
                              "bytes_per_second>=10MB/s",
                              "h2d_bytes>95MiB",
                              "config.queue_depth==64"}) {
        EXPECT_EQ(misses(holds, results), 0U) << holds;
    }
    for (const char* fails : {"idle.fraction<=0.2", "idle.fraction>=0.3", "idle.fraction==0.2", "idle.fraction<0.25",
                              "idle.fraction>0.25", "cache.verdict==warm", "samples_delivered_once==false",
                              "latency_ns.read.p99<=8999us", "seconds<9.99s", "bytes_per_second>=10.1MB/s"}) {
        EXPECT_EQ(misses(fails, results), 1U) << fails;
    }
}

TEST(Require, MustHoldForEveryResultAndEveryEpoch) {
    Result result = test::hand_made_result();
    EpochResult slow = test::hand_made_epoch();
    slow.idle.fraction = 0.5;
    result.rounds = {{test::hand_made_epoch(), slow}, {slow, test::hand_made_epoch()}};
    Result other = test::hand_made_result();
    other.name = "tape/files/uring/custom";
    other.rounds = {{slow}};
    const std::vector<std::string> lines = missed_in("idle.fraction<=0.3", {result, other});
    ASSERT_EQ(lines.size(), 3U);
    EXPECT_EQ(lines[0],
              "required idle.fraction<=0.3, found 0.5 (50.0 %), in disk/files/uring/custom, round 1, epoch 2");
    EXPECT_TRUE(lines[2].ends_with(", in tape/files/uring/custom")) << lines[2];
}

TEST(Require, AFigureThatCouldNotBeSeenDoesNotHold) {
    Result result = test::hand_made_result();
    result.rounds[0][0].device_reads.reset();
    result.controls.warm.reset();
    EXPECT_EQ(misses("requests.device_reads_per_sample<=99", {result}), 1U);
    EXPECT_EQ(misses("controls.warm.utilization>=0", {result}), 1U);
    result.rounds = {{}};
    EXPECT_EQ(misses("idle.fraction<=1", {result}), 1U);
}

TEST(Require, AnEpochWithoutAStepHasNoFigureThatHolds) {
    Result result = test::hand_made_result();
    EpochResult& cut = result.rounds[0][0];
    cut.steps = cut.samples = 0;
    cut.idle.fraction = 0;
    for (const char* text : {"idle.fraction<=5%", "samples_per_second>=0", "steps==0", "cache.verdict==cold"}) {
        const std::vector<std::string> lines = missed(parse_requirement(text), {result});
        ASSERT_EQ(lines.size(), 1U) << text;
        EXPECT_NE(lines[0].find("found nothing, for no step was over"), std::string::npos) << lines[0];
    }
}

TEST(Require, WhatIsNoShareIsFoundAsItIs) {
    const std::vector<Result> results{test::hand_made_result()};
    EXPECT_EQ(missed_in("samples_per_second>=1000", results).front(),
              "required samples_per_second>=1000, found 100, in disk/files/uring/custom");
    EXPECT_EQ(missed_in("cache.verdict==warm", results).front(),
              "required cache.verdict==warm, found cold, in disk/files/uring/custom");
}

TEST(Require, ARunThatAskedForColdAndWasNotNeverPasses) {
    BenchOptions options;
    options.cache = CacheMode::cold;
    EXPECT_TRUE(requirements_of(options).empty()) << "without --require nothing is judged";
    options.require = {"idle.fraction<=1"};
    Result result = test::hand_made_result();
    const auto misses = [&] {
        std::vector<std::string> all;
        for (const Requirement& one : requirements_of(options)) {
            for (std::string& line : missed(one, result)) all.push_back(std::move(line));
        }
        return all;
    };
    EXPECT_TRUE(misses().empty());
    for (const char* verdict : {"mixed", "warm", "unknown"}) {
        result.rounds[0][0].cache.verdict = verdict;
        ASSERT_EQ(misses().size(), 1U) << verdict;
        EXPECT_EQ(misses()[0], std::string("required cache.verdict==cold (by --cache cold), found ") + verdict +
                                   ", in disk/files/uring/custom");
    }
    // Who says what the verdict must be has it that way; who did not ask for cold is not held to it.
    options.require.emplace_back("cache.verdict==unknown");
    EXPECT_TRUE(misses().empty());
    options.require.pop_back();
    options.cache = CacheMode::as_is;
    EXPECT_TRUE(misses().empty());
}

TEST(Require, AUnitOfAnotherKindIsRefusedByTheOneThatFits) {
    try {
        parse_requirement("latency_ns.read.p99<=5MB");
        FAIL();
    } catch (const Error& error) {
        EXPECT_STREQ(
            error.what(),
            "--require 'latency_ns.read.p99<=5MB': latency_ns.read.p99 is compared with a time such as 5ms, or "
            "a number of nanoseconds, and '5MB' is none");
    }
}

TEST(Require, WhatIsMissedStandsInItsResult) {
    BenchOptions options;
    options.require = {"idle.fraction<=5%", "seconds<=90s", "latency_ns.read.p99<=5ms"};
    std::vector<Result> results{test::hand_made_result(), test::hand_made_result()};
    results[1].rounds[0][0].idle.fraction = 0.01;
    judge_requirements(options, results);
    EXPECT_EQ(results[0].missed_requirements,
              (std::vector<std::string>{
                  "required idle.fraction<=5%, found 0.25 (25.0 %), in disk/files/uring/custom",
                  "required latency_ns.read.p99<=5ms, found 9e+06 (9.00 ms), in disk/files/uring/custom"}));
    EXPECT_EQ(results[1].missed_requirements.size(), 1U);
    EXPECT_EQ(to_json(results[1])["missed_requirements"].size(), 1U);
    const std::string table = render_table({test::hand_made_context(), results, {}}, 100);
    EXPECT_EQ(table.rfind("! required idle.fraction<=5%, found 0.25 (25.0 %)", 0), 0U) << table;
}

TEST(Require, TheListShowsWhatCanBeRequired) {
    const std::string text = list_figures();
    std::size_t examples = 0;
    constexpr std::string_view kBefore = "--require '";
    for (std::size_t at = text.find(kBefore); at != std::string::npos; at = text.find(kBefore, at + 1)) {
        const std::size_t begin = at + kBefore.size();
        const std::string example = text.substr(begin, text.find('\'', begin) - begin);
        const Requirement parsed = parse_requirement(example);
        EXPECT_NE(text.find("  " + parsed.path + " "), std::string::npos) << example;
        ++examples;
    }
    EXPECT_GE(examples, 10U);
}

TEST(Require, AMistypedFigureIsRecognised) {
    const auto refusal = [](const char* text) {
        try {
            parse_requirement(text);
        } catch (const Error& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    EXPECT_NE(refusal("idle.fracton<=1").find("did you mean idle.fraction"), std::string::npos)
        << refusal("idle.fracton<=1");
    EXPECT_NE(refusal("verdict==cold").find("did you mean cache.verdict"), std::string::npos);
    EXPECT_NE(refusal("device_reads_per_sample<=1").find("requests.device_reads_per_sample"), std::string::npos);
    EXPECT_NE(refusal("frobnicate<=1").find("--require help"), std::string::npos);
}

TEST(Require, AWordThatTheFigureNeverIsAndATurnedComparisonAreRefused) {
    const auto refusal = [](std::string_view text) -> std::string {
        try {
            parse_requirement(text);
        } catch (const Error& error) {
            return error.what();
        }
        return "";
    };
    EXPECT_NE(refusal("bottleneck==gpu").find("storage, cpu, h2d, accelerator, harness"), std::string::npos);
    EXPECT_NE(refusal("cache.verdict==frozen").find("cold"), std::string::npos);
    EXPECT_EQ(refusal("bottleneck==cpu"), "");
    EXPECT_EQ(refusal("cache.verdict==unknown"), "");
    EXPECT_NE(refusal("idle.fraction=<5%").find("=< is written <="), std::string::npos);
    EXPECT_NE(refusal("samples_per_second=>5").find("=> is written >="), std::string::npos);
}

TEST(Require, OfAnEpochThatLacksSamplesOnlyTheSamplesAreJudged) {
    Result result = test::hand_made_result();
    result.rounds = {{test::hand_made_epoch(), test::hand_made_epoch()}};
    EpochResult& lacking = result.rounds[0][1];
    lacking.skipped_samples = 11;  // of 1,011
    const auto unjudged_in = [&](std::string_view text) { return unjudged(parse_requirement(text), result); };
    for (const char* text : {"idle.fraction<=100%", "idle.fraction<=1%", "samples_per_second>=1", "seconds<=1h"}) {
        const std::vector<std::string> lines = unjudged_in(text);
        ASSERT_EQ(lines.size(), 1U) << text;
        EXPECT_EQ(lines[0], "required " + std::string(text) +
                                ", could not be judged, for 11 of 1,011 samples never arrived, in "
                                "disk/files/uring/custom, epoch 2");
    }
    EXPECT_EQ(misses("idle.fraction<=1%", {result}), 1U) << "the whole epoch is judged";
    EXPECT_EQ(unjudged_in("accelerators_sustained>=0.1").size(), 1U);
    EXPECT_EQ(misses("skipped_samples==0", {result}), 1U);
    EXPECT_EQ(unjudged_in("skipped_samples==0").size(), 0U);
    EXPECT_EQ(unjudged_in("samples>=1").size(), 0U);
    EXPECT_EQ(misses("skipped_samples<=11", {result}), 0U);

    lacking.skipped_samples = 10;
    EXPECT_EQ(unjudged_in("idle.fraction<=100%").size(), 0U);
}

TEST(Require, NonsenseIsRefused) {
    for (const char* text : {"",
                             "idle.fraction",
                             "<=0.05",
                             "idle.fraction<=",
                             "idle.fraction<=x",
                             "idle.fraction=0.05",
                             "idle<=1",
                             "idle.fraction.x<=1",
                             "nothing<=1",
                             "cache.verdict<=1",
                             "cache.verdict==",
                             "idle.fraction<=nan",
                             "epochs<=1",
                             "idle.fraction<=1<=2",
                             "samples_per_second>=5%",
                             "idle.fraction<=x%",
                             "idle.fraction<=%",
                             "latency_ns.read.p99<=5MB",
                             "bytes_per_second>=1s",
                             "samples_per_second>=1GB/s",
                             "idle.fraction<=5ms"}) {
        try {
            parse_requirement(text);
            ADD_FAILURE() << "accepted '" << text << "'";
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::usage);
            EXPECT_NE(std::string(error.what()).find("--require"), std::string::npos);
            EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
        }
    }
}

}  // namespace
}  // namespace feedline
