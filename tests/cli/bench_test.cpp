// The built program, end to end, over real small files: what it measures.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <set>

#include "loaders/engine/engine.h"
#include "tests/cli/bench_fixture.h"

namespace feedline {
namespace {

using Json = nlohmann::json;
using test::Bench;
using test::Ended;
using test::expect_sound;
using test::kFiles;
using test::lines_in;
using test::make_dataset;
using test::results_in;
using test::run_program;

TEST_F(Bench, EveryEngineDeliversEverythingOnce) {
    const Ended ended = bench({"--engine", "all", "--batch-size", "8", "--step-time", "100us"});
    ASSERT_EQ(ended.exit_code, 0) << ended.err;
    EXPECT_EQ(ended.err, "");
    const Json file = Json::parse(test::read_file(json_));
    std::set<std::string> seen;
    for (const Json& result : file.at("results")) {
        seen.insert(result.at("name").get<std::string>());
        EXPECT_EQ(result.at("status"), "ok");
        ASSERT_EQ(result.at("epochs").size(), 1U);
        expect_sound(result.at("epochs")[0], kFiles);
        EXPECT_EQ(result.at("raw").at("step_ns").size(), (kFiles + 7) / 8);
        EXPECT_EQ(result.at("dataset").at("classes").size(), 3U);
        EXPECT_EQ(result.at("config").at("batch_size"), 8);
    }
    std::set<std::string> accounted = seen;
    for (const Json& skipped : file.at("skipped")) {
        accounted.insert(skipped.at("name").get<std::string>());
        EXPECT_NE(skipped.at("reason"), "");
    }
    for (const char* engine : {"pread", "mmap", "uring", "uring-direct", "native"}) {
        EXPECT_TRUE(accounted.contains("data/files/" + std::string(engine) + "/custom")) << engine;
    }
    EXPECT_TRUE(seen.contains("data/files/pread/custom"));
    EXPECT_NE(ended.out.find("classes: 3: 0 = a, 1 = b, 2 = c"), std::string::npos) << ended.out;
}

// O_DIRECT where what is read is to come from the device, the page cache where it may serve.
TEST_F(Bench, TheEngineThatIsPickedSuitsTheCache) {
    for (const char* cache : {"cold", "as-is", "warm"}) {
        SCOPED_TRACE(cache);
        const Ended ended = bench({"--cache", cache});
        ASSERT_EQ(ended.exit_code, 0) << ended.err;
        const Json result = results_in(json_)[0];
        const std::string engine = result.at("config").at("engine");
        const auto available = available_engines();
        if (std::find(available.begin(), available.end(), EngineKind::uring) == available.end()) {
            EXPECT_EQ(engine, "pread");
        } else if (cache == std::string("cold")) {
            const bool refused = engine == "uring" && !result.at("notes").empty();
            EXPECT_TRUE(refused || engine == "uring-direct") << engine;
        } else {
            EXPECT_EQ(engine, "uring");
        }
    }
}

TEST_F(Bench, WithControlsThereIsAVerdict) {
    const Ended ended = run_program({"bench", data_, "--batch-size", "8", "--step-time", "200us", "--json", json_});
    ASSERT_EQ(ended.exit_code, 0) << ended.err;
    const Json result = results_in(json_).at(0);
    for (const char* name : {"null_storage", "null_step", "warm", "h2d", "serial"}) {
        const Json& control = result.at("controls").at(name);
        ASSERT_TRUE(control.is_object()) << name;
        EXPECT_GT(control.at("samples_per_second").get<double>(), 0) << name << control;
        EXPECT_GT(control.at("utilization").get<double>(), 0) << name << control;
        EXPECT_LE(control.at("utilization").get<double>(), 1) << name << control;
    }
    EXPECT_TRUE(result.at("bottleneck").is_string());
    EXPECT_NE(ended.out.find("=> "), std::string::npos) << ended.out;
}

TEST_F(Bench, WithoutAStepTimeItIsThePureLoadingRate) {
    const Ended ended = bench({"--epochs", "2", "--rounds", "3"});
    ASSERT_EQ(ended.exit_code, 0) << ended.err;
    const Json result = results_in(json_).at(0);
    EXPECT_TRUE(result.at("name").get<std::string>().ends_with("/rate"));
    EXPECT_EQ(result.at("epochs").size(), 2U);
    EXPECT_EQ(result.at("rounds").size(), 3U);
    for (const Json& epoch : result.at("epochs")) expect_sound(epoch, kFiles);
    EXPECT_EQ(result.at("config").at("step_time"), 0.0);
}

TEST_F(Bench, RanksShareTheDatasetWithNothingTwiceAndNothingMissing) {
    std::uint64_t samples = 0;
    std::set<std::size_t> steps;
    for (const char* rank : {"0", "1", "2"}) {
        const Ended ended = bench({"--rank", rank, "--world", "3", "--batch-size", "7"});
        ASSERT_EQ(ended.exit_code, 0) << ended.err;
        const Json epoch = results_in(json_).at(0).at("epochs").at(0);
        EXPECT_EQ(epoch.at("samples_delivered_once"), true);
        samples += epoch.at("samples").get<std::uint64_t>();
        steps.insert(epoch.at("steps").get<std::size_t>());
    }
    EXPECT_EQ(samples, kFiles);
    EXPECT_EQ(steps.size(), 1U) << "ranks must have equal numbers of steps";
}

TEST_F(Bench, SeveralAcceleratorsAndTiersInOneCall) {
    const Ended ended = run_program({"bench", "one=" + data_, "two=" + data_, "--no-controls", "--accelerators", "3",
                                     "--batch-size", "4", "--step-time", "1ms", "--json", json_, "--quiet"});
    ASSERT_EQ(ended.exit_code, 0) << ended.err;
    EXPECT_EQ(ended.out + ended.err, "");
    const Json results = results_in(json_);
    ASSERT_EQ(results.size(), 2U);
    EXPECT_TRUE(results[0].at("name").get<std::string>().starts_with("one/files/"));
    EXPECT_TRUE(results[1].at("name").get<std::string>().starts_with("two/files/"));
    for (const Json& result : results) expect_sound(result.at("epochs")[0], kFiles);
}

TEST_F(Bench, StepsEndAnEpochEarly) {
    const Ended ended = bench({"--batch-size", "8", "--steps", "3"});
    ASSERT_EQ(ended.exit_code, 0) << ended.err;
    const Json epoch = results_in(json_).at(0).at("epochs").at(0);
    EXPECT_EQ(epoch.at("steps"), 3);
    expect_sound(epoch, 24);
    EXPECT_EQ(epoch.at("requests").at("planned"), 24) << "no more is read than was asked for";
}

TEST_F(Bench, ADurationEndsAnEpochEarly) {
    const Ended ended = bench({"--batch-size", "1", "--step-time", "100ms", "--duration", "1s"});
    ASSERT_EQ(ended.exit_code, 0) << ended.err;
    const Json epoch = results_in(json_).at(0).at("epochs").at(0);
    EXPECT_LE(epoch.at("steps").get<unsigned>(), 9U);  // a tenth would end after 1 s
    EXPECT_EQ(epoch.at("samples"), epoch.at("steps"));
    const double seconds = epoch.at("seconds").get<double>();
    EXPECT_LE(seconds, 1);
    // One sample a step, so the time is that of these steps and of what was waited for, by whole steps.
    EXPECT_NEAR(seconds - epoch.at("idle").at("seconds").get<double>(), epoch.at("samples").get<double>() * 0.1, 1e-6);
    EXPECT_EQ(epoch.at("samples_delivered_once"), true);
}

TEST_F(Bench, ACutBeforeTheFirstStepIsOverMeasuresNothing) {
    const std::vector<std::string> long_step{"--batch-size", "1", "--step-time", "3600s", "--duration", "1s"};
    const Ended ended = bench(long_step);
    EXPECT_EQ(ended.exit_code, 4);
    EXPECT_EQ(lines_in(ended.err), 1U) << ended.err;
    EXPECT_NE(ended.err.find("not one step of 60 m 00 s was over within --duration 1.00 s"), std::string::npos)
        << ended.err;
    const Json result = results_in(json_).at(0);
    EXPECT_EQ(result.at("status"), "failed");
    EXPECT_NE(result.at("error").get<std::string>().find("nothing was measured"), std::string::npos);
    EXPECT_EQ(result.at("raw").at("step_ns").size(), 0U);
    // What the time went to is told all the same.
    const Json epoch = result.at("epochs").at(0);
    EXPECT_EQ(epoch.at("steps"), 0);
    EXPECT_EQ(epoch.at("samples"), 0);
    EXPECT_DOUBLE_EQ(epoch.at("seconds").get<double>(), 1);
    EXPECT_LT(epoch.at("idle").at("fraction").get<double>(), 1);
    EXPECT_EQ(epoch.at("samples_delivered_once"), true);

    std::vector<std::string> judged = long_step;
    for (const char* one : {"--require", "idle.fraction<=1", "--require", "samples_per_second>=0"}) {
        judged.emplace_back(one);
    }
    const Ended unseen = bench(judged);
    EXPECT_EQ(unseen.exit_code, 4) << "not judged, and not passed";
    EXPECT_EQ(lines_in(unseen.err), 3U) << unseen.err;
    EXPECT_NE(unseen.err.find("required idle.fraction<=1, found nothing"), std::string::npos) << unseen.err;
}

TEST_F(Bench, AnInterruptBeforeTheFirstStepIsOverSaysThatNothingWasMeasured) {
    test::TerminalProgram program({"bench", data_, "--batch-size", "1", "--step-time", "3600s", "--require",
                                   "idle.fraction<=1", "--json", json_});
    ASSERT_TRUE(program.wait_for("step 0 of"));
    program.send(SIGINT);
    const Ended ended = program.finish();
    EXPECT_EQ(ended.exit_code, 130) << ended.out;
    const Json result = results_in(json_).at(0);
    EXPECT_EQ(result.at("status"), "partial");
    EXPECT_NE(result.at("notes").dump().find("nothing was measured"), std::string::npos) << result.at("notes");
}

TEST_F(Bench, DecodingIsPartOfThePath) {
    const Ended ended = bench({"--decode", "crc"});
    if (ended.exit_code == 2) GTEST_SKIP() << ended.err;
    ASSERT_EQ(ended.exit_code, 0) << ended.err;
    EXPECT_NE(ended.out.find("nothing compared"), std::string::npos) << ended.out;
}

TEST_F(Bench, CheckingWhatHasNoChecksumIsSaidToCheckNothing) {
    const Ended ended = bench({"--crc", "all"});
    ASSERT_EQ(ended.exit_code, 0) << ended.err;
    EXPECT_NE(ended.out.find("--crc checked nothing"), std::string::npos) << ended.out;
}

TEST_F(Bench, APatternOfShardsIsADataset) {
    ASSERT_EQ(run_program({"pack", data_, dir_ / "packed", "--format", "webdataset", "--quiet"}).exit_code, 0);
    const Ended ended = run_program(
        {"bench", dir_ / "packed/*.tar", "--crc", "all", "--batch-size", "8", "--no-controls", "--json", json_});
    ASSERT_EQ(ended.exit_code, 0) << ended.err;
    EXPECT_EQ(results_in(json_)[0].at("dataset").at("samples"), kFiles);
    EXPECT_NE(ended.out.find("webdataset stores no checksum of samples"), std::string::npos) << ended.out;
}

TEST_F(Bench, WhatIsNoJpegStopsTheRunOrIsSkipped) {
    const Ended stopped = bench({"--decode", "jpeg"});
    if (stopped.exit_code == 2) GTEST_SKIP() << stopped.err;
    EXPECT_EQ(stopped.exit_code, 5);
    EXPECT_EQ(lines_in(stopped.err), 1U) << stopped.err;
    EXPECT_NE(stopped.err.find(data_), std::string::npos) << stopped.err;
    EXPECT_EQ(results_in(json_).at(0).at("status"), "failed");
    const Ended skipped = bench({"--decode", "jpeg", "--on-error", "skip"});
    EXPECT_EQ(skipped.exit_code, 5) << "not one sample was good";
    EXPECT_NE(skipped.err.find("not one sample"), std::string::npos) << skipped.err;
}

TEST_F(Bench, ARequirementThatIsMissedIsExitCodeOne) {
    const Ended holds = bench({"--require", "samples_per_second>0", "--require", "idle.fraction<=1"});
    EXPECT_EQ(holds.exit_code, 0) << holds.err;
    const Ended missed = bench({"--require", "samples_per_second>1e12"});
    EXPECT_EQ(missed.exit_code, 1);
    EXPECT_EQ(lines_in(missed.err), 1U) << missed.err;
    EXPECT_NE(missed.err.find("required samples_per_second>1e12, found "), std::string::npos) << missed.err;
    EXPECT_NE(missed.err.find(", in data/files/"), std::string::npos) << missed.err;
}

TEST_F(Bench, NamesAreBytesAndOddThingsAreCounted) {
    test::write_file(data_ + "/caf\xe9/\xff\xfe name with spaces", "x");
    ASSERT_EQ(::mkfifo((data_ + "/a/fifo").c_str(), 0600), 0);
    ASSERT_EQ(::symlink("/nonexistent", (data_ + "/a/dangling").c_str()), 0);
    const Ended ended = bench({});
    ASSERT_EQ(ended.exit_code, 0) << ended.err;
    const Json result = results_in(json_).at(0);
    EXPECT_EQ(result.at("dataset").at("samples"), kFiles + 1);
    EXPECT_GE(result.at("dataset").at("oddities").size(), 2U);
    EXPECT_NE(ended.out.find("noticed: "), std::string::npos) << ended.out;
    EXPECT_NE(result.at("dataset").at("classes").dump().find("caf\\\\xe9"), std::string::npos);
}

TEST_F(Bench, AFailureIsRecordedAndTheRestGoesOn) {
    // A mapping of /proc/self/mem cannot be read like a file; a directory in place of a file cannot be opened as one.
    const std::string broken = dir_ / "broken";
    make_dataset(broken);
    const std::string victim = broken + "/b/1";
    test::TerminalProgram program({"bench", broken, data_, "--no-controls", "--order", "sequential", "--batch-size",
                                   "1", "--slots", "1", "--engine", "pread", "--threads", "1", "--step-time", "30ms",
                                   "--json", json_});
    ASSERT_TRUE(program.wait_for("step 1"));
    std::filesystem::remove_all(broken + "/c");
    const Ended ended = program.finish();
    EXPECT_EQ(ended.exit_code, 5) << ended.out;
    EXPECT_NE(ended.out.find(broken + "/c/"), std::string::npos) << ended.out;
    const Json results = results_in(json_);
    ASSERT_EQ(results.size(), 2U);
    EXPECT_EQ(results[0].at("status"), "failed");
    EXPECT_EQ(results[1].at("status"), "ok");
}

TEST_F(Bench, SkippingCountsWhatVanished) {
    test::TerminalProgram program({"bench",
                                   data_,
                                   "--no-controls",
                                   "--order",
                                   "sequential",
                                   "--batch-size",
                                   "1",
                                   "--slots",
                                   "1",
                                   "--engine",
                                   "pread",
                                   "--threads",
                                   "1",
                                   "--step-time",
                                   "30ms",
                                   "--on-error",
                                   "skip",
                                   "--json",
                                   json_,
                                   "--require",
                                   "idle.fraction<=100%",
                                   "--require",
                                   "skipped_samples<=90"});
    ASSERT_TRUE(program.wait_for("step 1"));
    std::filesystem::remove_all(data_ + "/c");
    const Ended ended = program.finish();
    EXPECT_EQ(ended.exit_code, 4) << ended.out;
    EXPECT_NE(ended.out.find("=> 30 of 90 samples never arrived"), std::string::npos) << ended.out;
    const Json result = results_in(json_).at(0);
    EXPECT_TRUE(result.at("bottleneck").is_null());
    EXPECT_EQ(result.at("missed_requirements").size(), 0U);
    EXPECT_EQ(result.at("unjudged_requirements").size(), 1U);
    const Json epoch = result.at("epochs").at(0);
    EXPECT_EQ(epoch.at("steps_without_samples"), kFiles / 3);
    EXPECT_GE(epoch.at("idle").at("seconds").get<double>(), kFiles / 3.0 * 0.030 * 0.999) << "nothing to compute on";
    EXPECT_EQ(epoch.at("skipped_samples"), kFiles / 3);
    EXPECT_EQ(epoch.at("samples"), kFiles - kFiles / 3);
    EXPECT_EQ(epoch.at("samples_delivered_once"), true);
    EXPECT_EQ(epoch.at("failures").at(0).at("count"), kFiles / 3);
}

TEST_F(Bench, AnInterruptWritesWhatThereIs) {
    for (const int signal : {SIGINT, SIGTERM}) {
        test::TerminalProgram program(
            {"bench", data_, "--batch-size", "1", "--step-time", "500ms", "--epochs", "1000", "--json", json_});
        ASSERT_TRUE(program.wait_for("step 2"));
        program.send(signal);
        const Ended ended = program.finish();
        EXPECT_EQ(ended.exit_code, 130) << ended.out;
        const Json result = results_in(json_).at(0);
        EXPECT_EQ(result.at("status"), "partial");
        EXPECT_EQ(result.at("epochs").at(0).at("partial"), true);
        EXPECT_GE(result.at("epochs").at(0).at("steps").get<unsigned>(), 1U);
        std::filesystem::remove(json_);
    }
}

TEST_F(Bench, AnImpatientSecondInterruptDoesNotCostTheResult) {
    test::TerminalProgram program(
        {"bench", data_, "--batch-size", "1", "--step-time", "500ms", "--epochs", "1000", "--json", json_});
    ASSERT_TRUE(program.wait_for("step 2"));
    // Both are there when it wakes, so nothing of the program runs between them.
    for (const int signal : {SIGSTOP, SIGINT, SIGTERM, SIGCONT}) program.send(signal);
    const Ended ended = program.finish();
    EXPECT_EQ(ended.exit_code, 130) << ended.out;
    EXPECT_EQ(results_in(json_).at(0).at("status"), "partial");
}

TEST_F(Bench, ARunThatIsNotColdSaysSoFirst) {
    if (::access("/dev/shm", W_OK) != 0) GTEST_SKIP() << "no /dev/shm";
    const test::TempDir memory("/dev/shm");
    make_dataset(memory / "data");
    const Ended ended = run_program({"bench", memory / "data", "--no-controls", "--cache", "cold"});
    ASSERT_EQ(ended.exit_code, 0) << ended.err;
    EXPECT_NE(ended.out.substr(0, ended.out.find('\n')).find("NOT COLD"), std::string::npos) << ended.out;
    // Whatever else is required of it: it does not pass.
    for (const char* engine : {"pread", "uring-direct"}) {
        const Ended judged = run_program({"bench", memory / "data", "--no-controls", "--cache", "cold", "--engine",
                                          engine, "--require", "samples_per_second>0"});
        EXPECT_EQ(judged.exit_code, 1) << judged.err;
        EXPECT_NE(judged.err.find("required cache.verdict==cold (by --cache cold), found warm"), std::string::npos)
            << judged.err;
        EXPECT_NE(judged.out.find("tmpfs is memory"), std::string::npos) << judged.out;
    }
}

TEST_F(Bench, SmallRecordsAreColdForEveryEngine) {
    // Less than a page each, of which O_DIRECT reads only what there is.
    const std::string small = dir_ / "small";
    for (unsigned i = 0; i < 64; ++i) test::write_file(small + "/a/" + std::to_string(i), test::pattern(700, i));
    const Ended ended = run_program(
        {"bench", small, "--no-controls", "--cache", "cold", "--engine", "pread,uring,uring-direct", "--json", json_});
    ASSERT_EQ(ended.exit_code, 0) << ended.err;
    std::set<std::string> verdicts;
    for (const Json& result : results_in(json_)) {
        verdicts.insert(result.at("epochs").at(0).at("cache").at("verdict").get<std::string>());
        if (result.at("dataset").at("tier_kind") == "ram") GTEST_SKIP() << "TMPDIR lies in memory";
    }
    EXPECT_EQ(verdicts.size(), 1U) << "one tier, read in the same state: " << ended.out;
}

TEST_F(Bench, MeasuresWhatGenerateWrote) {
    const std::string made = dir_ / "made";
    const Ended generated = run_program({"generate", made, "--samples", "200", "--classes", "10", "--sample-size",
                                         "4KB", "--sample-stddev", "1KB", "--seed", "7"});
    ASSERT_EQ(generated.exit_code, 0) << generated.err;
    EXPECT_NE(generated.out.find("200 files in 10 classes"), std::string::npos) << generated.out;
    const Ended ended = run_program({"bench", made, "--no-controls", "--json", json_});
    ASSERT_EQ(ended.exit_code, 0) << ended.err;
    expect_sound(results_in(json_).at(0).at("epochs").at(0), 200);
    EXPECT_EQ(results_in(json_).at(0).at("dataset").at("classes").size(), 10U);
}

TEST_F(Bench, AGeneratedJpegDatasetDecodes) {
    const std::string made = dir_ / "made";
    const Ended generated = run_program({"generate", made, "--samples", "20", "--classes", "2", "--sample-size", "20KB",
                                         "--content", "jpeg", "--quiet"});
    if (generated.exit_code != 0) GTEST_SKIP() << generated.err;
    EXPECT_EQ(generated.out, "");
    const Ended ended = run_program({"bench", made, "--no-controls", "--decode", "jpeg", "--json", json_});
    ASSERT_EQ(ended.exit_code, 0) << ended.err;
    expect_sound(results_in(json_).at(0).at("epochs").at(0), 20);
}

}  // namespace
}  // namespace feedline
