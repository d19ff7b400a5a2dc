// What the built program refuses, or cannot run: one line that says what to do, and nothing is touched.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <set>
#include <span>

#include "loaders/engine/engine.h"
#include "tests/cli/bench_fixture.h"

namespace feedline {
namespace {

using test::Bench;
using test::Ended;
using test::lines_in;
using test::results_in;
using test::run_program;

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
TEST_F(Bench, FewOpenFilesForRingsSayWhichLimitItIs) {
    const std::span<const EngineKind> engines = available_engines();
    if (std::find(engines.begin(), engines.end(), EngineKind::uring) == engines.end()) GTEST_SKIP() << "no io_uring";
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "the sanitizer's look at types needs a descriptor of its own";
#endif
    // A ring is a descriptor: twelve do not fit.
    const Ended ended = run_program({"bench", data_, "--no-controls", "--engine", "uring-direct", "--threads", "12"},
                                    {.limits = {{RLIMIT_NOFILE, 10}}});
    EXPECT_EQ(ended.exit_code, 5) << ended.err;
    EXPECT_NE(ended.err.find("ulimit -n"), std::string::npos) << ended.err;
}

TEST_F(Bench, WhatAKilledWriterLeftIsNotMeasured) {
    test::write_file(data_ + "/.feedline-incomplete", "");
    const Ended ended = bench({});
    EXPECT_EQ(ended.exit_code, 2);
    EXPECT_EQ(lines_in(ended.err), 1U) << ended.err;
    EXPECT_NE(ended.err.find("not whole"), std::string::npos) << ended.err;
}

TEST_F(Bench, ASmallStackIsEnough) {
    const test::Surroundings small{.limits = {{RLIMIT_STACK, 128U << 10U}}};
    const Ended ended = run_program(
        {"bench", data_, "--batch-size", "8", "--step-time", "100us", "--threads", "16", "--engine", "all", "--quiet"},
        small);
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    const Ended generated = run_program({"generate", dir_ / "made", "--samples", "20", "--quiet"}, small);
    EXPECT_EQ(generated.exit_code, 0) << generated.err;
    const test::Surroundings tiny{.launcher = {"/bin/sh", "-c", "ulimit -s 16; exec \"$@\"", "sh"}};
    const Ended packed = run_program({"pack", data_, dir_ / "packed", "--format", "tfrecord", "--quiet"}, tiny);
    EXPECT_EQ(packed.exit_code, 0) << packed.err;
    const Ended measured = run_program({"bench", dir_ / "packed", "--no-controls", "--engine", "all", "--quiet"}, tiny);
    EXPECT_EQ(measured.exit_code, 0) << measured.err;
}

TEST_F(Bench, AsManyReadersAreChosenAsMayOpenFiles) {
    for (const char* engine : {"pread", "mmap"}) {
        for (const unsigned limit : {10U, 16U}) {
            const Ended ended =
                run_program({"bench", data_, "--no-controls", "--quiet", "--engine", engine, "--json", json_},
                            {.limits = {{RLIMIT_NOFILE, limit}}});
            EXPECT_EQ(ended.exit_code, 0) << ended.err;
            EXPECT_LT(results_in(json_).at(0).at("config").at("threads"), limit);
        }
    }
}

TEST_F(Bench, ManyEpochsAreNotPlannedAhead) {
    test::TerminalProgram program(
        {"bench", data_, "--batch-size", "9", "--step-time", "20ms", "--epochs", "4294967295"}, "xterm", 200,
        {"/bin/sh", "-c", "ulimit -v 8000000; exec \"$@\"", "sh"});
    ASSERT_TRUE(program.wait_for("epoch 2 of"));
    program.send(SIGINT);
    EXPECT_EQ(program.finish().exit_code, 130);
}

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
        {{"inspect", data_, "--foo", "3"}, 2, "there is no option --foo. "},
        {{"inspect", "--foo", "3", data_}, 2, "there is no option --foo. "},
        {{"pack", data_, dir_ / "new", "--format", "tfrecord", "--bar", "x y"}, 2, "there is no option --bar. "},
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
        {{"bench", data_, "--workload", "resnet50"}, 2, "did you mean resnet50-a100 or resnet50-h100?"},
        {{"generate", dir_ / "new", "--workload", "resnet50"}, 2, "did you mean resnet50-a100 or resnet50-h100?"},
        {{"bench", data_, "--require", "seconds<=5MB"}, 2, "a time such as 90s"},
        {{"bench", data_, "--format", "zip"}, 2, "files"},
        {{"bench", data_, "--batch-size", "91"}, 2, "90 samples"},
        {{"bench", data_, "--batch-size", "50", "--world", "2"}, 2, "90 samples"},
        {{"bench", data_, "--workload", "resnet50-h100"}, 2, "90 samples"},
        {{"bench", data_, "--batch-size", "8", "--accelerators", "13"}, 2, "12 steps"},
        {{"bench", data_, "--batch-size", "8", "--warmup-steps", "12"}, 2, "12 steps"},
        {{"bench", data_, "--queue-depth", "4000000000", "--engine", "uring", "--threads", "1"}, 2, "--queue-depth"},
        {{"bench", data_, "--queue-depth", "4294967295", "--engine", "uring", "--threads", "2"}, 2, "at most"},
        {{"bench", data_, "--io-timeout", "1us"}, 2, "--io-timeout 1.00 us: 10.0 ms is the least"},
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

}  // namespace
}  // namespace feedline
