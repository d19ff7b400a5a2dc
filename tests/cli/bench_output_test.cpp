// What the built program writes: to a terminal, to files, to a pipe, and its help.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "bench/options.h"
#include "tests/cli/bench_fixture.h"

namespace feedline {
namespace {

using Json = nlohmann::json;
using test::Bench;
using test::Ended;
using test::lines_in;
using test::results_in;
using test::run_program;

TEST_F(Bench, WritesWhereTheEnvironmentAsks) {
    const std::string asked = dir_ / "asked.json";
    const Ended ended = run_program({"bench", data_, "--no-controls", "--quiet", "--csv", dir_ / "result.csv"},
                                    {.environment = {{"FEEDLINE_RESULT_FILE", asked}}});
    ASSERT_EQ(ended.exit_code, 0) << ended.err;
    EXPECT_EQ(results_in(asked).size(), 1U);
    EXPECT_EQ(lines_in(test::read_file(dir_ / "result.csv")), 2U);
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

TEST_F(Bench, APlaceThatCannotBeWrittenIsRefusedBeforeTheRun) {
    ASSERT_EQ(::mkfifo((dir_ / "pipe").c_str(), 0600), 0);
    // A run that would not end: what is refused is refused before it.
    for (const std::string& place : {dir_ / "pipe", std::string("/proc/feedline.json")}) {
        for (const char* option : {"--json", "--csv"}) {
            const Ended ended = run_program({"bench", data_, "--step-time", "24h", option, place});
            EXPECT_EQ(ended.exit_code, 2) << ended.err;
            EXPECT_EQ(lines_in(ended.err), 1U) << ended.err;
            EXPECT_NE(ended.err.find(option), std::string::npos) << ended.err;
        }
    }
}

TEST_F(Bench, ThatNobodyListensDoesNotCostTheResult) {
    const std::vector<std::string> arguments{"bench", data_, "--batch-size", "8", "--json", json_};
    const auto expect_written = [&](const Ended& ended, int exit_code) {
        EXPECT_EQ(ended.exit_code, exit_code) << ended.err;
        EXPECT_EQ(results_in(json_).at(0).at("status"), "ok");
        std::filesystem::remove(json_);
    };
    const auto closed = [](const char* stream) {
        return test::Surroundings{.launcher = {"/bin/sh", "-c", std::string("exec \"$@\" ") + stream + ">&-", "sh"}};
    };
    expect_written(run_program(arguments, {.unread = {STDERR_FILENO}}), 0);
    expect_written(run_program(arguments, closed("2")), 0);
    // The table was not delivered; the file is there. Who stopped reading, as `head` does, is not told.
    const Ended unread = run_program(arguments, {.unread = {STDOUT_FILENO}});
    EXPECT_EQ(unread.err.find("cannot write"), std::string::npos) << unread.err;
    expect_written(unread, 5);
    const Ended undelivered = run_program(arguments, closed("1"));
    EXPECT_NE(undelivered.err.find("cannot write: standard output"), std::string::npos) << undelivered.err;
    expect_written(undelivered, 5);
    expect_written(run_program(arguments, {.unread = {STDOUT_FILENO, STDERR_FILENO}}), 5);
}

TEST_F(Bench, AnOutputThatFailsAtTheEndDoesNotCostTheOthers) {
    const Ended ended = run_program({"bench", data_, "--no-controls", "--json", "/dev/full", "--csv", dir_ / "r.csv"});
    EXPECT_EQ(ended.exit_code, 5) << ended.err;
    EXPECT_EQ(lines_in(ended.err), 1U) << ended.err;
    EXPECT_EQ(lines_in(test::read_file(dir_ / "r.csv")), 2U);
    EXPECT_NE(ended.out.find("=> "), std::string::npos) << "the table is there: " << ended.out;
}

TEST_F(Bench, ALinkToAResultStaysALink) {
    test::write_file(dir_ / "old.json", "old");
    std::filesystem::create_symlink("old.json", dir_ / "link.json");
    const Ended ended = run_program({"bench", data_, "--no-controls", "--quiet", "--json", dir_ / "link.json"});
    ASSERT_EQ(ended.exit_code, 0) << ended.err;
    EXPECT_TRUE(std::filesystem::is_symlink(dir_ / "link.json"));
    EXPECT_EQ(test::read_file(dir_ / "old.json").front(), '{');
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
    const Ended datasets = run_program({"generate", "--workload", "help"});
    EXPECT_EQ(datasets.exit_code, 0) << datasets.err;
    EXPECT_NE(datasets.out.find("resnet50-h100"), std::string::npos);
    EXPECT_EQ(run_program({"--version"}).exit_code, 0);
}

}  // namespace
}  // namespace feedline
