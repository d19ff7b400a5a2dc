// The built program, end to end, over real small files.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <span>

#include "bench/options.h"
#include "loaders/engine/engine.h"
#include "tests/cli/program.h"
#include "tests/testutil/temp_dir.h"

namespace feedline {
namespace {

using Json = nlohmann::json;
using test::Ended;
using test::run_program;

constexpr unsigned kFiles = 90;

// kFiles files of 1 to 20 KB in three classes.
void make_dataset(const std::string& path) {
    for (unsigned i = 0; i < kFiles; ++i) {
        const std::string name = path + "/" + std::string(1, static_cast<char>('a' + i % 3)) + "/" + std::to_string(i);
        test::write_file(name, test::pattern(1000 + i * 211, i));
    }
}

Json results_in(const std::string& path) {
    return Json::parse(test::read_file(path)).at("results");
}

std::size_t lines_in(const std::string& text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

// What every measured epoch must satisfy, whatever was measured.
void expect_sound(const Json& epoch, std::uint64_t samples) {
    EXPECT_EQ(epoch.at("samples"), samples);
    EXPECT_EQ(epoch.at("samples_delivered_once"), true);
    EXPECT_GT(epoch.at("seconds").get<double>(), 0);
    const double idle = epoch.at("idle").at("seconds").get<double>();
    double sum = 0;
    for (const auto& [cause, seconds] : epoch.at("idle").at("by_cause").items()) {
        EXPECT_GE(seconds.get<double>(), 0) << cause;
        sum += seconds.get<double>();
    }
    EXPECT_NEAR(sum, idle, 0.001 * idle + 1e-9);
    const double fraction = epoch.at("idle").at("fraction").get<double>();
    EXPECT_GE(fraction, 0);
    EXPECT_LE(fraction, 1);
    EXPECT_NEAR(fraction * epoch.at("seconds").get<double>(), idle, 0.001 * idle + 1e-9);
    EXPECT_GT(epoch.at("latency_ns").at("read").at("max").get<std::int64_t>(), 0);
    EXPECT_EQ(epoch.at("partial"), false);
}

class Bench : public testing::Test {
protected:
    Bench() { make_dataset(data_); }

    // `feedline bench DATASET --no-controls --json ...` and more.
    Ended bench(std::vector<std::string> more) const {
        std::vector<std::string> arguments{"bench", data_, "--no-controls", "--json", json_};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return run_program(arguments);
    }

    test::TempDir dir_;
    std::string data_ = dir_ / "data";
    std::string json_ = dir_ / "result.json";
};

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
    const Ended ended = bench({"--batch-size", "1", "--step-time", "100ms", "--duration", "300ms"});
    ASSERT_EQ(ended.exit_code, 0) << ended.err;
    const Json epoch = results_in(json_).at(0).at("epochs").at(0);
    EXPECT_LE(epoch.at("steps").get<unsigned>(), 2U);  // a third would end after 300 ms
    EXPECT_EQ(epoch.at("samples"), epoch.at("steps"));
    EXPECT_DOUBLE_EQ(epoch.at("seconds").get<double>(), 0.3);
    EXPECT_EQ(epoch.at("samples_delivered_once"), true);
}

TEST_F(Bench, ADurationEndsInTheMiddleOfALongStep) {
    const Ended ended = bench({"--batch-size", "1", "--step-time", "3600s", "--duration", "1s", "--no-controls"});
    ASSERT_EQ(ended.exit_code, 0) << ended.err;
    const Json result = results_in(json_).at(0);
    const Json epoch = result.at("epochs").at(0);
    EXPECT_EQ(epoch.at("steps"), 0);
    EXPECT_EQ(epoch.at("samples"), 0);
    EXPECT_DOUBLE_EQ(epoch.at("seconds").get<double>(), 1);
    EXPECT_LT(epoch.at("idle").at("fraction").get<double>(), 1);
    EXPECT_EQ(epoch.at("samples_delivered_once"), true);
    EXPECT_EQ(result.at("raw").at("step_ns").size(), 0U);
    EXPECT_NE(ended.out.find("not one step was over"), std::string::npos) << ended.out;
}

TEST_F(Bench, DecodingIsPartOfThePath) {
    const Ended ended = bench({"--decode", "crc"});
    if (ended.exit_code == 2) GTEST_SKIP() << ended.err;
    ASSERT_EQ(ended.exit_code, 0) << ended.err;
    EXPECT_NE(ended.out.find("nothing compared"), std::string::npos) << ended.out;
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

TEST_F(Bench, WritesWhereTheEnvironmentAsks) {
    const std::string asked = dir_ / "asked.json";
    const Ended ended = run_program({"bench", data_, "--no-controls", "--quiet", "--csv", dir_ / "result.csv"},
                                    {.environment = {{"FEEDLINE_RESULT_FILE", asked}}});
    ASSERT_EQ(ended.exit_code, 0) << ended.err;
    EXPECT_EQ(results_in(asked).size(), 1U);
    EXPECT_EQ(lines_in(test::read_file(dir_ / "result.csv")), 2U);
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
    test::TerminalProgram program({"bench", data_, "--no-controls", "--order", "sequential", "--batch-size", "1",
                                   "--slots", "1", "--engine", "pread", "--threads", "1", "--step-time", "30ms",
                                   "--on-error", "skip", "--json", json_});
    ASSERT_TRUE(program.wait_for("step 1"));
    std::filesystem::remove_all(data_ + "/c");
    const Ended ended = program.finish();
    ASSERT_EQ(ended.exit_code, 0) << ended.out;
    const Json epoch = results_in(json_).at(0).at("epochs").at(0);
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

TEST_F(Bench, ProgressIsForTerminalsOnly) {
    EXPECT_EQ(bench({}).err, "");
    test::TerminalProgram live({"bench", data_, "--no-controls", "--batch-size", "8", "--step-time", "50ms"});
    EXPECT_TRUE(live.wait_for(" samples/s  idle ")) << "a line with rate and idle so far";
    EXPECT_EQ(live.finish().exit_code, 0);
    test::TerminalProgram silent(
        {"bench", data_, "--no-controls", "--batch-size", "8", "--step-time", "50ms", "--no-progress"});
    const Ended ended = silent.finish();
    EXPECT_EQ(ended.out.find(" samples/s  idle "), std::string::npos) << ended.out;
}

TEST_F(Bench, ATerminalGetsNoEscapeSequencesAndADumbOneNoProgress) {
    const std::vector<std::string> arguments{"bench", data_,         "--no-controls", "--batch-size",
                                             "8",     "--step-time", "50ms"};
    for (const char* term : {"xterm", "dumb", ""}) {
        test::TerminalProgram program(arguments, term);
        const Ended ended = program.finish();
        EXPECT_EQ(ended.exit_code, 0);
        EXPECT_EQ(ended.out.find('\x1b'), std::string::npos) << term << ended.out;
        EXPECT_NE(ended.out.find("=> "), std::string::npos);
        const bool progress = ended.out.find(" samples/s  idle ") != std::string::npos;
        EXPECT_EQ(progress, std::string(term) == "xterm") << term;
    }
}

TEST_F(Bench, TheTableFitsTheTerminal) {
    test::TerminalProgram program({"bench", data_, "--no-controls", "--step-time", "1ms", "--no-progress", "--engine",
                                   "pread,mmap", "--cache", "cold"},
                                  "xterm", 80);
    const Ended ended = program.finish();
    ASSERT_EQ(ended.exit_code, 0) << ended.out;
    for (std::size_t at = 0; at < ended.out.size();) {
        const std::size_t end = std::min(ended.out.find("\r\n", at), ended.out.size());
        EXPECT_LE(end - at, 80U) << ended.out.substr(at, end - at);
        at = end + 2;
    }
    EXPECT_NE(ended.out.find("best on data: "), std::string::npos) << ended.out;
}

TEST_F(Bench, AMinusIsStandardOutputAndNothingElseStandsThere) {
    const std::vector<std::string> common{"bench", data_, "--no-controls"};
    const auto run = [&](std::vector<std::string> more) {
        more.insert(more.begin(), common.begin(), common.end());
        return run_program(more, {.directory = dir_.path()});
    };
    const Ended json = run({"--json", "-"});
    ASSERT_EQ(json.exit_code, 0) << json.err;
    EXPECT_EQ(Json::parse(json.out).at("results").size(), 1U);
    EXPECT_NE(json.err.find("=> "), std::string::npos) << "the table makes way: " << json.err;
    const Ended quiet = run({"--json", "-", "--quiet", "--csv", "x.csv"});
    EXPECT_EQ(Json::parse(quiet.out).at("results").size(), 1U);
    EXPECT_EQ(quiet.err, "");
    const Ended csv = run({"--csv", "-", "--quiet"});
    EXPECT_EQ(lines_in(csv.out), 2U) << csv.out;
    EXPECT_TRUE(csv.out.starts_with("name,")) << csv.out;
    const Ended missed = run({"--json", "-", "--require", "samples_per_second>1e12"});
    EXPECT_EQ(missed.exit_code, 1);
    EXPECT_EQ(Json::parse(missed.out).at("results").size(), 1U);
    EXPECT_EQ(run({"--json", "-", "--csv", "-"}).exit_code, 2);
    EXPECT_FALSE(std::filesystem::exists(dir_ / "-"));
    const Ended nothing = run({"--json", "-", "--engine", "native"});
    EXPECT_EQ(nothing.exit_code, 4);
    EXPECT_TRUE(Json::parse(nothing.out).at("results").empty());
}

TEST_F(Bench, TheDatasetIsNeverWrittenInto) {
    const std::string before = test::read_file(data_ + "/a/0");
    for (const char* option : {"--json", "--csv"}) {
        for (const std::string& path : {data_ + "/a/0", data_ + "/new"}) {
            const Ended ended = run_program({"bench", data_, "--no-controls", option, path});
            EXPECT_EQ(ended.exit_code, 2) << option << " " << path;
            EXPECT_EQ(lines_in(ended.err), 1U) << ended.err;
        }
    }
    const Ended asked =
        run_program({"bench", data_, "--no-controls"}, {.environment = {{"FEEDLINE_RESULT_FILE", data_ + "/a/0"}}});
    EXPECT_EQ(asked.exit_code, 2);
    EXPECT_EQ(test::read_file(data_ + "/a/0"), before);
    EXPECT_FALSE(std::filesystem::exists(data_ + "/new"));
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

TEST_F(Bench, FewOpenFilesAreNotTheDisksFault) {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "the sanitizer's look at types needs a descriptor of its own";
#endif
    // Too few to index, then too few for so many readers, then enough.
    unsigned refused = 0;
    for (unsigned limit = 5; limit <= 14; ++limit) {
        const Ended ended = run_program(
            {"bench", data_, "--no-controls", "--quiet", "--engine", "mmap", "--threads", "64", "--on-error", "skip"},
            {.limits = {{RLIMIT_NOFILE, limit}}});
        if (ended.exit_code == 0 || ended.exit_code == 127) continue;
        ++refused;
        EXPECT_EQ(ended.exit_code, 5) << limit << ended.err;
        EXPECT_EQ(lines_in(ended.err), 1U) << ended.err;
        EXPECT_NE(ended.err.find("ulimit -n"), std::string::npos) << limit << ended.err;
        EXPECT_EQ(ended.err.find("disk"), std::string::npos) << ended.err;
    }
    EXPECT_GT(refused, 0U) << "no limit was met, so nothing was tested";
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_F(Bench, LittleMemoryIsOneLineThatSaysWhatToDo) {
    unsigned refused = 0;
    for (const std::uint64_t mebibytes : {40U, 80U, 160U, 320U}) {
        const Ended ended =
            run_program({"bench", data_, "--no-controls", "--slots", "64", "--batch-size", "45", "--threads", "8"},
                        {.limits = {{RLIMIT_AS, mebibytes << 20U}}});
        // Below a certain limit not even the libraries can be loaded.
        if (ended.exit_code == 0 || ended.exit_code == 127) continue;
        ++refused;
        EXPECT_TRUE(ended.exit_code == 2 || ended.exit_code == 5) << ended.exit_code << ended.err;
        EXPECT_EQ(lines_in(ended.err), 1U) << ended.err;
        EXPECT_EQ(ended.err.find("bad_alloc"), std::string::npos) << ended.err;
        EXPECT_TRUE(ended.err.find("--slots") != std::string::npos || ended.err.find("--threads") != std::string::npos)
            << ended.err;
    }
    EXPECT_GT(refused, 0U) << "no limit was met, so nothing was tested";
}
#endif

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

TEST_F(Bench, AResultForAPipeThatNobodyReadsIsAnErrorAndNoHang) {
    ASSERT_EQ(::mkfifo((dir_ / "pipe").c_str(), 0600), 0);
    const Ended ended = run_program({"bench", data_, "--no-controls", "--quiet", "--json", dir_ / "pipe"});
    EXPECT_EQ(ended.exit_code, 5) << ended.err;
    EXPECT_EQ(lines_in(ended.err), 1U) << ended.err;
}

TEST_F(Bench, ALinkToAResultStaysALink) {
    test::write_file(dir_ / "old.json", "old");
    std::filesystem::create_symlink("old.json", dir_ / "link.json");
    const Ended ended = run_program({"bench", data_, "--no-controls", "--quiet", "--json", dir_ / "link.json"});
    ASSERT_EQ(ended.exit_code, 0) << ended.err;
    EXPECT_TRUE(std::filesystem::is_symlink(dir_ / "link.json"));
    EXPECT_EQ(test::read_file(dir_ / "old.json").front(), '{');
}

TEST_F(Bench, NothingMeasuredIsExitCodeFour) {
    const Ended native = bench({"--engine", "native"});
    EXPECT_EQ(native.exit_code, 4);
    EXPECT_NE(native.err.find("nothing was measured"), std::string::npos) << native.err;
    EXPECT_EQ(lines_in(native.err), 1U);
    const Ended moment = bench({"--duration", "1ns"});
    EXPECT_EQ(moment.exit_code, 4) << moment.err;
    EXPECT_EQ(lines_in(moment.err), 1U) << moment.err;
    const Ended warm_direct = bench({"--engine", "uring-direct", "--cache", "warm"});
    EXPECT_EQ(warm_direct.exit_code, 4);
}

TEST_F(Bench, HelpListsEveryOption) {
    const Ended help = run_program({"bench", "--help"});
    EXPECT_EQ(help.exit_code, 0);
    EXPECT_EQ(help.err, "");
    BenchOptions options;
    for (const OptionBinding& binding : bind_options(options)) {
        EXPECT_NE(help.out.find("--" + std::string(binding.info.name)), std::string::npos) << binding.info.name;
    }
    EXPECT_EQ(run_program({"--help"}).exit_code, 0);
    const Ended figures = run_program({"bench", "--require", "help"});
    EXPECT_EQ(figures.exit_code, 0) << figures.err;
    EXPECT_NE(figures.out.find("idle.fraction"), std::string::npos);
    const Ended workloads = run_program({"bench", "--workload", "help"});
    EXPECT_EQ(workloads.exit_code, 0) << workloads.err;
    EXPECT_NE(workloads.out.find("resnet50-h100"), std::string::npos);
    EXPECT_EQ(run_program({"--version"}).exit_code, 0);
}

TEST_F(Bench, BadInputIsOneLineAndTouchesNothing) {
    const std::string empty = dir_ / "empty";
    std::filesystem::create_directories(empty);
    const std::string file = data_ + "/a/0";
    const struct {
        std::vector<std::string> arguments;
        int exit_code;
        const char* says;
    } cases[] = {
        {{}, 2, "subcommand"},
        {{"bench"}, 2, "DATASET is missing"},
        {{"frobnicate"}, 2, "no subcommand 'frobnicate'"},
        {{"bnch"}, 2, "did you mean bench?"},
        {{"bench", dir_ / "none"}, 2, "none"},
        {{"bench", empty}, 2, "empty"},
        {{"bench", file}, 2, "/a/0"},
        {{"bench", data_, "--frobnicate"}, 2, "--frobnicate"},
        {{"bench", data_, "--html", "x"}, 2, "--html"},
        {{"bench", data_, "--threads"}, 2, "--threads needs a value: --threads N"},
        {{"bench", data_, "--threads", "0"}, 2, "--threads"},
        {{"bench", data_, "--threads", "-3"}, 2, "-3"},
        {{"bench", data_, "--threads", "1", "--threads", "2"}, 2, "--threads is given 2 times"},
        {{"bench", data_, "--thread", "1"}, 2, "did you mean --threads?"},
        {{"bench", data_, "--step-time", "90"}, 2, "90s"},
        {{"bench", data_, "--duration", "5"}, 2, "unit"},
        {{"bench", data_, "--h2d-rate", "25"}, 2, "25GB/s"},
        {{"bench", data_, "--step-time", "25h"}, 2, "24h"},
        {{"bench", data_, "--h2d-latency", "1000000h"}, 2, "24h"},
        {{"bench", data_, "--h2d-rate", "1e-5B/s"}, 2, "1KB/s"},
        {{"bench", data_, "--steps", "0"}, 2, "--steps"},
        {{"bench", data_, "--duration", "0"}, 2, "--duration"},
        {{"bench", data_, "--engine", "aio"}, 2, "uring-direct"},
        {{"bench", data_, "--workload", "bert"}, 2, "bert-v100"},
        {{"bench", data_, "--format", "zip"}, 2, "files"},
        {{"bench", data_, "--batch-size", "91"}, 2, "90 samples"},
        {{"bench", data_, "--batch-size", "50", "--world", "2"}, 2, "90 samples"},
        {{"bench", data_, "--workload", "resnet50-h100"}, 2, "90 samples"},
        {{"bench", data_, "--batch-size", "8", "--accelerators", "13"}, 2, "12 steps"},
        {{"bench", data_, "--batch-size", "8", "--warmup-steps", "12"}, 2, "12 steps"},
        {{"bench", data_, "--queue-depth", "4000000000", "--engine", "uring", "--threads", "1"}, 2, "--queue-depth"},
        {{"bench", data_, "--slots", "4000000000", "--batch-size", "90"}, 2, "--slots"},
        {{"bench", data_, "--rank", "2", "--world", "2"}, 2, "--rank"},
        {{"bench", data_, "--drop-caches"}, 2, "--cache cold"},
        {{"bench", data_, "--step-kernel", "gemm", "--device", "emulated"}, 2, "gemm"},
        {{"bench", data_, data_}, 2, "NAME=PATH"},
        {{"bench", data_, "--require", "idel<=1"}, 2, "did you mean idle."},
        {{"bench", data_, "--json", dir_ / "none/x.json"}, 2, "--json"},
        {{"bench", data_, "--json", dir_ / std::string(250, 'j')}, 2, "--json"},
        {{"bench", data_, "--engine", "pread", "--queue-depth", "100000"}, 2, "--queue-depth"},
        {{"generate", dir_ / "new"}, 2, "--samples"},
        {{"generate", dir_ / "new", "--samples", "0"}, 2, "--samples"},
        {{"generate", dir_ / "new", "--samples", "-3"}, 2, "'-3' is not a whole number above 0"},
        {{"generate", dir_ / "new", "--samples", "10", "--classes", "11"}, 2, "11"},
        {{"generate", dir_ / "new", "--samples", "10", "--workload", "bert-v100"}, 2, "cannot be given together"},
        {{"generate", dir_ / "new", "--samples", "10", "--scale", "2"}, 2, "--scale is for use with --workload"},
        {{"generate", dir_ / "new", "--samples", "10", "--samples", "20"}, 2, "--samples is given more than once"},
        {{"generate", dir_ / "new", "--samples"}, 2, "--samples needs a value: --samples N"},
        {{"generate", dir_ / "new", "--samples", "10", "--seed", "x"}, 2, "--seed: 'x' is not a number"},
        {{"generate", dir_ / "new", dir_ / "newer", "--samples", "10"}, 2, "one argument too many"},
        {{"generate", dir_ / "new", "--samples", "10", "--content", "png"}, 2, "'png' is none of random|jpeg"},
        {{"bench", data_, "--controls", "--no-controls"}, 2, "cannot be given together"},
        {{"generate", dir_ / "new", "--samples", "10", "--sample-size", "big"}, 2, "big"},
        {{"generate", data_, "--samples", "10"}, 2, "data"},
    };
    const std::span<const EngineKind> engines = available_engines();
    const bool rings = std::find(engines.begin(), engines.end(), EngineKind::uring) != engines.end();
    for (const auto& [arguments, exit_code, says] : cases) {
        // Only a ring has a depth of its own; without one, uring falls back to an engine that has none.
        if (!rings && std::find(arguments.begin(), arguments.end(), "uring") != arguments.end()) continue;
        const Ended ended = run_program(arguments);
        std::string typed;
        for (const std::string& word : arguments) typed += word + " ";
        EXPECT_EQ(ended.exit_code, exit_code) << typed << "\n" << ended.err;
        EXPECT_EQ(lines_in(ended.err), 1U) << typed << "\n" << ended.err;
        EXPECT_EQ(ended.out, "") << typed;
        EXPECT_NE(ended.err.find(says), std::string::npos) << typed << "\n" << ended.err;
        for (const char* jargon : {"required but", "excludes", "requires", "were not expected", "FAILED", "->"}) {
            EXPECT_EQ(ended.err.find(jargon), std::string::npos) << typed << "\n" << ended.err;
        }
    }
    std::set<std::string> left;
    for (const auto& entry : std::filesystem::directory_iterator(dir_.path())) left.insert(entry.path().filename());
    EXPECT_EQ(left, (std::set<std::string>{"data", "empty"}));
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
