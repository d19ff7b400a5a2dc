#include "bench/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/bottleneck.h"
#include "tests/bench/hand_made.h"

namespace feedline {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

EpochResult& epoch_of(Result& result) {
    return result.rounds[0][0];
}

// The words for the verdict that the figures give.
std::string judged(Result result) {
    result.bottleneck = find_bottleneck(result);
    return explain(result);
}

Result with_steady_idle(double fraction) {
    Result result = test::hand_made_result();
    test::set_steady_idle(epoch_of(result), fraction);
    return result;
}

TEST(Explain, WhereTheProcessDidNotRunItSaysSoAndAsksForAnotherRun) {
    Result result = test::hand_made_result();
    epoch_of(result).host_stall_seconds = 1;
    EXPECT_THAT(judged(result), AllOf(StartsWith("This process did not run for 1.00 s of 10.0 s"),
                                      HasSubstr("Next: measure again."), Not(HasSubstr("torage is"))));
}

// Next to nothing idle in the steady state, then 4 s in which a read kept the accelerator waiting until the end.
Result with_gap_at_the_end() {
    Result result = with_steady_idle(0.001);
    EpochResult& epoch = epoch_of(result);
    epoch.idle.idle_ns += 4e9;
    epoch.idle.by_cause[Cause::read] += 4e9;
    epoch.idle.fraction = epoch.idle.idle_ns / (epoch.idle.idle_ns + epoch.idle.busy_ns);
    return result;
}

TEST(Explain, NamesTheBottleneckItsFigureAndWhatToTry) {
    const struct {
        Bottleneck bottleneck;
        const char* says;
        const char* figure;
        const char* next;
    } cases[] = {
        {Bottleneck::storage, "Storage is the limit", "steady idle 20.0 % here, 1.0 % from memory",
         "1.02 device reads"},
        {Bottleneck::cpu, "The CPU is the limit", "steady idle 20.0 % here, 1.0 % from memory", "--threads"},
        {Bottleneck::h2d, "The copy to the accelerator is the limit", "0.2 % with copies alone", "smaller batch"},
        {Bottleneck::harness, "The measuring program is the limit", "0.1 % with storage", "lower bound"},
        {Bottleneck::accelerator, "The accelerator is the limit", "steady idle 20.0 %", "keeps up"},
    };
    for (const auto& [bottleneck, says, figure, next] : cases) {
        Result result = test::hand_made_result();
        result.bottleneck = bottleneck;
        const std::string text = explain(result);
        EXPECT_THAT(text, AllOf(StartsWith(says), HasSubstr(figure), HasSubstr(next), Not(HasSubstr("\n"))));
    }
}

TEST(Explain, WhatIsLeftBesideTheLimitIsNamed) {
    Result result = test::hand_made_result();
    result.controls.warm->utilization = 0.88;
    EXPECT_THAT(judged(result), AllOf(StartsWith("The CPU is the limit: steady idle 20.0 % here"), HasSubstr("12.0 %"),
                                      HasSubstr("help by 8 points at most"), Not(HasSubstr("would not help"))));
    result.controls.warm->utilization = 0.82;
    EXPECT_THAT(judged(result), HasSubstr("faster storage would not help"));
    result.controls.warm->utilization = 0.92;
    EXPECT_THAT(judged(result), AllOf(StartsWith("Storage is the limit"), HasSubstr("below those 8.0 %")));
    result.controls.warm->utilization = 0.99;
    EXPECT_THAT(judged(result), AllOf(StartsWith("Storage is the limit"), Not(HasSubstr("No storage will"))));
}

TEST(Explain, WithoutControlsItAsksForThem) {
    Result result = test::hand_made_result();
    result.controls = {};
    EXPECT_THAT(judged(result),
                AllOf(HasSubstr("steady idle 20.0 %"), HasSubstr("read"), HasSubstr("leave out --no-controls")));
    result.controls.null_storage = ControlFigures{std::nullopt, std::nullopt, "failed: no memory"};
    EXPECT_THAT(judged(result), AllOf(HasSubstr("a control gave no figure"), Not(HasSubstr("--controls"))));
}

TEST(Explain, WhenOnlyTheFirstFillWasIdleItSaysSo) {
    EXPECT_THAT(judged(with_steady_idle(0.001)),
                AllOf(StartsWith("The accelerator is the limit (steady idle 0.1 %)"),
                      HasSubstr("Only the first fill was idle: 750 ms of 8.26 s; measure a larger dataset"),
                      Not(HasSubstr("torage"))));
    EXPECT_THAT(judged(with_steady_idle(0.03)), Not(HasSubstr("first fill")));
    Result long_run = with_steady_idle(0.001);
    epoch_of(long_run).idle.fraction = 0.01;
    EXPECT_THAT(judged(long_run), Not(HasSubstr("first fill"))) << "not worth a word";
    Result one_step = test::hand_made_result();
    epoch_of(one_step).steps = 1;
    epoch_of(one_step).idle.steady_fraction.reset();
    EXPECT_THAT(judged(one_step), AllOf(StartsWith("Too few steps for a verdict: 1 step was over, and none came after "
                                                   "the first of an accelerator; 2.50 s of 10.0 s were idle"),
                                        HasSubstr("run longer"), Not(HasSubstr("torage"))));
    epoch_of(one_step).steps = 2;
    epoch_of(one_step).idle.fraction = 0.001;
    one_step.config["warmup_steps"] = 5;
    EXPECT_THAT(judged(one_step), StartsWith("Too few steps for a verdict: 2 steps were over, and none came after "
                                             "the warm-up (--warmup-steps 5)"));
}

TEST(Explain, MissingSamplesStandInPlaceOfAVerdict) {
    Result result = with_steady_idle(0.001);
    result.accelerators_sustained = 2.2;
    epoch_of(result).samples = 20;
    epoch_of(result).skipped_samples = 980;
    epoch_of(result).cache.verdict = "warm";
    epoch_of(result).failures = {{"I/O error", 979, "/data/a"}, {"vanished", 1, "/data/b"}};
    EXPECT_THAT(judged(result), AllOf(StartsWith("980 of 1,000 samples never arrived: 979 I/O error, first /data/a; 1 "
                                                 "vanished, first /data/b. No verdict"),
                                      Not(HasSubstr("keeps up")), Not(HasSubstr("feed")), Not(HasSubstr("no sample"))));
    epoch_of(result).steps_without_samples = 1;
    EXPECT_THAT(judged(result), HasSubstr(" 1 step had no sample left and counts as idle."));
}

TEST(Explain, SamplesLostWhileIndexingAreMissingToo) {
    Result result = with_steady_idle(0.001);
    epoch_of(result).samples = 990;
    epoch_of(result).skipped_samples = 0;
    result.dataset.oddities = {{"file of another kind", 1, "/data/x"},
                               {"broken record", 3, "/data/a at offset 7", 3000}};
    epoch_of(result).lost_in_index = 10.0 / 1980;  // half an epoch
    EXPECT_THAT(judged(result), Not(HasSubstr("never arrived"))) << "5 of 995";
    epoch_of(result).skipped_samples = 10;
    epoch_of(result).failures = {{"vanished", 10, "/data/b"}};
    EXPECT_THAT(judged(result), StartsWith("15 of 1,005 samples never arrived: 3 broken record (while indexing), first "
                                           "/data/a at offset 7; 10 vanished, first /data/b. No verdict"));
    EXPECT_EQ(find_bottleneck(result), Bottleneck::unknown);
}

TEST(Explain, WhatReadingAheadHidIsJudgedByTheRate) {
    Result result = with_steady_idle(0.001);
    result.config["slots"] = 8;  // 14 steps: little longer than that
    EXPECT_THAT(judged(result), AllOf(StartsWith("Storage is the limit: 110 samples/s without steps here"),
                                      HasSubstr("40,000 samples/s from memory")));
    result.accelerators_sustained = 1.2;
    EXPECT_THAT(judged(result), StartsWith("The accelerator is the limit"));
    result.accelerators_sustained.reset();
    EXPECT_THAT(judged(result), AllOf(HasSubstr("little longer than what is read ahead"), Not(HasSubstr("keeps up"))));
    EXPECT_THAT(judged(result), Not(HasSubstr("--no-controls"))) << "they were not left out";
    epoch_of(result).idle.by_cause = {};
    epoch_of(result).idle.by_cause[Cause::h2d] = epoch_of(result).idle.idle_ns;
    EXPECT_THAT(judged(result), StartsWith("The accelerator is the limit")) << "the loader was never late";
}

TEST(Explain, AStallWhenTheRunWasCutIsNotTheAcceleratorsLimit) {
    Result result = with_gap_at_the_end();
    result.config["duration"] = 12.0;
    EXPECT_THAT(judged(result), AllOf(HasSubstr("was waiting for read"), Not(HasSubstr("keeps up"))));
}

TEST(Explain, AControlFarBelowTheRunLeavesTheVerdictOpen) {
    Result result = test::hand_made_result();
    result.controls.warm->utilization = 0.05;
    EXPECT_THAT(judged(result), AllOf(HasSubstr("the verdict is open"), Not(HasSubstr("limit"))));
}

TEST(Explain, AnInterruptedRunSaysSoBeforeItsVerdict) {
    Result result = test::hand_made_result();
    result.status = RunStatus::partial;
    result.missing = {"epochs"};
    EXPECT_THAT(judged(result), StartsWith("Interrupted, and so far storage is the limit"));
}

TEST(Explain, AnotherEngineIsTriedBeforeAnotherTier) {
    Result result = test::hand_made_result();
    EXPECT_THAT(judged(result), HasSubstr("Next: --engine uring-direct, which reads past the page cache; then"));
    result.engine = "uring-direct";
    EXPECT_THAT(judged(result), Not(HasSubstr("--engine")));
}

TEST(Explain, AGapThatTheEndCutIsNotCalledTheFirstFill) {
    Result result = with_gap_at_the_end();
    EXPECT_THAT(judged(result), AllOf(HasSubstr("4.00 s of"), HasSubstr("cut"), Not(HasSubstr("first fill"))));
}

TEST(Explain, AnUnevenLastRoundIsNamed) {
    Result result = test::hand_made_result();
    result.accelerators = 4;  // 15 steps: 3 in the last round
    result.accelerators_sustained = 5;
    epoch_of(result).idle.first_fill_ns = 0.01e9;
    epoch_of(result).idle.end_wait_ns = 2e9;
    test::set_steady_idle(epoch_of(result), 0.001);
    EXPECT_THAT(judged(result),
                AllOf(HasSubstr("2.00 s"), HasSubstr("the last round gave 3 of 4 accelerators a batch"),
                      HasSubstr("--steps a multiple of 4"), Not(HasSubstr("first fill")), Not(HasSubstr("torage"))));
    epoch_of(result).steps = 16;
    EXPECT_THAT(judged(result), AllOf(HasSubstr("at the end for the other"), Not(HasSubstr("last round"))));
}

TEST(Explain, FromMemoryItNeverSpeaksOfStorageAsTheLimit) {
    for (const char* cache : {"as-is", "warm"}) {
        for (const double steady : {0.001, 0.2}) {
            for (const double step_seconds : {0.5, 0.0}) {
                for (const bool controls : {true, false}) {
                    Result result = with_steady_idle(steady);
                    result.step_seconds = step_seconds;
                    result.config["cache"] = cache;
                    epoch_of(result).cache.verdict = "warm";
                    if (!controls) result.controls = {};
                    EXPECT_THAT(judged(result),
                                AllOf(StartsWith("This was memory, not the storage"), HasSubstr("--cache cold"),
                                      Not(HasSubstr("torage is the limit")), Not(HasSubstr("this tier"))));
                }
            }
        }
    }
}

TEST(Explain, WhereColdIsNoWayOutItIsNotOffered) {
    Result result = test::hand_made_result();
    epoch_of(result).cache.verdict = "warm";
    result.config["cache"] = "cold";  // asked for, and not got
    EXPECT_THAT(judged(result), AllOf(HasSubstr("not dropped"), Not(HasSubstr("--cache cold"))));
    result.config["cache"] = "as-is";
    result.tier.tier_kind = "ram";
    EXPECT_THAT(judged(result), AllOf(HasSubstr("memory, not the storage"), Not(HasSubstr("--cache cold"))));
}

TEST(Explain, AMixedRunSaysThatPartCameFromMemory) {
    Result result = test::hand_made_result();
    result.config["cache"] = "as-is";
    epoch_of(result).cache.verdict = "mixed";
    epoch_of(result).cache.device_bytes = 40'960'000;
    EXPECT_THAT(judged(result), AllOf(StartsWith("Storage is the limit"),
                                      HasSubstr("Part of it came from memory (40.0 % was read from the device)"),
                                      HasSubstr("--cache cold")));
    result.config["cache"] = "cold";
    EXPECT_THAT(judged(result), AllOf(HasSubstr("Part of it came from memory"), Not(HasSubstr("--cache cold"))));
}

TEST(Explain, OnANetworkNobodySeesWhatCameFromMemory) {
    Result result = test::hand_made_result();
    epoch_of(result).cache.verdict = "unknown";
    epoch_of(result).cache.reason = "no counter here sees what came from a memory behind nfs4";
    EXPECT_THAT(judged(result), HasSubstr("cannot be told: no counter here sees what came from a memory behind nfs4."));
}

TEST(Explain, DecodingIsTheCpu) {
    Result result = test::hand_made_result();
    result.controls.null_storage->utilization = 0.82;
    result.controls.null_storage->idle_by_cause.emplace();
    (*result.controls.null_storage->idle_by_cause)[Cause::decode] = 9e8;
    (*result.controls.null_storage->idle_by_cause)[Cause::read] = 1e8;
    EXPECT_THAT(
        judged(result),
        AllOf(StartsWith("The CPU is the limit: steady idle 20.0 % here, 18.0 % with storage that costs nothing"),
              HasSubstr("decoding is 90.0 %"), HasSubstr("decode on the accelerator"),
              Not(HasSubstr("measuring program"))));
}

TEST(Explain, AtStepTimeZeroItSpeaksOfRates) {
    Result result = test::hand_made_result();
    result.step_seconds = 0;
    EXPECT_THAT(judged(result),
                AllOf(StartsWith("Storage is the limit: 100 samples/s here, 40,000 samples/s from memory"),
                      Not(HasSubstr("idle")), Not(HasSubstr("busy"))));
    result.controls.h2d->samples_per_second = 101;
    EXPECT_THAT(judged(result), HasSubstr("100 samples/s here, 101 samples/s with copies alone"));
    result.controls.null_storage->samples_per_second = 102;
    EXPECT_THAT(judged(result), HasSubstr("100 samples/s here, 102 samples/s with storage that costs nothing"));
}

TEST(Explain, ATierThatFeedsMoreSaysAboutHowManyWithAMargin) {
    Result result = with_steady_idle(0.001);
    result.accelerators_sustained = 3.4;
    EXPECT_THAT(judged(result), AllOf(HasSubstr("about 3.4 of them"), HasSubstr("--accelerators 3,")));
    result.accelerators_sustained = 3.2;  // 3 would ask for more than 3.2 / 1.1
    EXPECT_THAT(judged(result), AllOf(HasSubstr("about 3.2 of them"), HasSubstr("--accelerators 2,")));
    result.accelerators_sustained = 1.8;
    EXPECT_THAT(judged(result), AllOf(HasSubstr("about 1.8 of them"), Not(HasSubstr("--accelerators"))));
    result.accelerators_sustained = 0.6;
    EXPECT_THAT(judged(result), AllOf(HasSubstr("only about 0.6 of them for long"), HasSubstr("larger dataset")));
}

TEST(Explain, HowManyItFeedsSaysWhereSamplesAreNotThePresets) {
    Result result = with_steady_idle(0.001);
    result.accelerators_sustained = 3.4;
    result.workload = "resnet50-h100";
    EXPECT_THAT(judged(result), AllOf(HasSubstr("this dataset's are 100 KB on average, resnet50-h100's are 115 KB"),
                                      HasSubstr("--accelerators 3")));
    result.dataset.bytes = 115'000'000;
    EXPECT_THAT(judged(result), Not(HasSubstr("this dataset's")));
}

TEST(Explain, AShortRunIsCalledShort) {
    EXPECT_THAT(judged(test::hand_made_result()), HasSubstr("short, 14 steps an accelerator after the first"));
    Result result = test::hand_made_result();
    epoch_of(result).idle.steady_steps = 20;
    EXPECT_THAT(judged(result), Not(HasSubstr("short")));
    result.accelerators = 2;
    EXPECT_THAT(judged(result), HasSubstr("short, 10 steps an accelerator"));
    result.step_seconds = 0;
    EXPECT_THAT(judged(result), HasSubstr("short, 15 batches"));
}

TEST(Explain, WithinItsNoiseAVerdictIsCalledDoubtful) {
    const auto noisy = [](double steady, std::int64_t swing_ns) {
        Result result = with_steady_idle(steady);
        EpochResult& epoch = epoch_of(result);
        epoch.steps = 101;
        epoch.idle.steady_steps = 100;
        result.step_ns.assign(101, 510'000'000);
        for (std::size_t i = 1; i < 101; ++i) result.step_ns[i] += i % 2 == 0 ? swing_ns : -swing_ns;
        return judged(result);
    };
    EXPECT_THAT(noisy(0.019, 50'000'000), HasSubstr("1.9 % +- 1.9 % is too close to the 2 %"));
    EXPECT_THAT(noisy(0.021, 50'000'000), HasSubstr("too close"));
    EXPECT_THAT(noisy(0.019, 1'000'000), Not(HasSubstr("too close")));
    EXPECT_THAT(noisy(0.2, 50'000'000), Not(HasSubstr("too close")));
}

TEST(Explain, PackingIsAdvisedForSureOnlyWhereItIsSureToHelp) {
    Result result = test::hand_made_result();
    result.engine = "uring-direct";
    // One read a sample: the disk may be at its bytes a second as well as at its reads.
    EXPECT_THAT(judged(result), AllOf(HasSubstr("1.02 device reads, 102 reads and 10.0 MB a second"),
                                      HasSubstr("packing changes nothing")));
    result.tier.tier_kind = "local-hdd";
    EXPECT_THAT(judged(result), AllOf(HasSubstr("so pack the small files"), Not(HasSubstr("changes nothing"))));
    result.tier.tier_kind = "local-ssd";
    epoch_of(result).device_reads = 2500;  // names and inodes as well
    EXPECT_THAT(judged(result),
                AllOf(HasSubstr("2.50 device reads, so pack the small files"), Not(HasSubstr("changes nothing"))));
}

TEST(Explain, WhatIsPackedIsNotToBePackedAgain) {
    Result result = test::hand_made_result();
    result.engine = "uring-direct";
    result.dataset.packed = true;
    result.config["order"] = "shuffle";
    EXPECT_THAT(judged(result), AllOf(HasSubstr("1.02 device reads"), HasSubstr("pack --order shuffle"),
                                      HasSubstr("--order sequential"), Not(HasSubstr("small files"))));
    result.config["order"] = "sequential";
    EXPECT_THAT(judged(result), Not(HasSubstr("pack")));
}

TEST(Explain, ReadsOfACutRunAreCountedOverTheSamplesThatWereRead) {
    Result result = test::hand_made_result();
    epoch_of(result).samples = 100;  // of 1000 that the loader had read
    EXPECT_THAT(judged(result), HasSubstr("1.02 device reads"));
    epoch_of(result).samples = 0;
    EXPECT_FALSE(epoch_of(result).device_reads_per_sample());
}

TEST(Explain, LargeRecordsAskForDepthAndNotForPacking) {
    Result result = test::hand_made_result();
    epoch_of(result).bytes = 146'600'628'000;
    EXPECT_THAT(judged(result), HasSubstr("--queue-depth (now 64)"));
}

TEST(Explain, InterruptedControlsLeaveTheEpochComplete) {
    Result result = test::hand_made_result();
    result.status = RunStatus::partial;
    result.controls = {};
    result.missing = {"controls.null_storage", "controls.warm"};
    EXPECT_THAT(judged(result), AllOf(StartsWith("The epoch is complete (steady idle 20.0 %"), HasSubstr("interrupted"),
                                      HasSubstr("--no-controls"), Not(HasSubstr("so far"))));
    result.missing = {"epochs", "controls.warm"};
    EXPECT_THAT(judged(result), StartsWith("Interrupted: steady idle 20.0 % so far"));
}

TEST(Explain, NothingMeasuredSaysSo) {
    Result result = test::hand_made_result();
    result.rounds.clear();
    EXPECT_EQ(explain(result), "Nothing was measured.");
}

TEST(Explain, WhatOverlappingIsWorthComparesSteadyFigures) {
    Result result = test::hand_made_result();
    EXPECT_EQ(overlap_worth(result), "overlapping is worth: 70.0 % -> 80.0 % busy");
    result.controls.serial->other_cache = true;
    EXPECT_EQ(overlap_worth(result), "");
    result.controls.serial->other_cache = false;
    result.step_seconds = 0;
    EXPECT_EQ(overlap_worth(result), "");
}

}  // namespace
}  // namespace feedline
