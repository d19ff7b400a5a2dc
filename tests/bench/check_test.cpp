#include "bench/check.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "core/error.h"
#include "tests/testutil/temp_dir.h"

namespace feedline {
namespace {

Capabilities able() {
    Capabilities machine;
    machine.root = true;
    machine.crc = true;
    machine.jpeg = true;
    machine.cuda_devices = 1;
    machine.max_threads = 1000;
    return machine;
}

BenchOptions valid() {
    BenchOptions options;
    options.datasets = {{"train", "/data/train"}};
    options.device = "emulated";
    return options;
}

// The refusal, or "" when there is none.
std::string refusal(const BenchOptions& options, const Capabilities& machine) {
    try {
        check_options(options, machine);
        return "";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::usage);
        EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
        return error.what();
    }
}

void expect_refused(const BenchOptions& options, const Capabilities& machine, const std::string& why) {
    const std::string line = refusal(options, machine);
    EXPECT_NE(line.find(why), std::string::npos) << "'" << line << "' does not say '" << why << "'";
}

TEST(Check, WhatIsValidPasses) {
    EXPECT_EQ(refusal(valid(), able()), "");
    BenchOptions options = valid();
    options.engines = {"pread", "uring-direct"};
    options.cache = CacheMode::cold;
    options.drop_caches = true;
    options.workload = "resnet50-h100";
    options.require = {"idle.fraction<=0.05"};
    EXPECT_EQ(refusal(options, able()), "");
}

TEST(Check, UnknownNamesAreAnsweredWithTheKnownOnes) {
    BenchOptions options = valid();
    options.engines = {"aio"};
    expect_refused(options, able(), "no engine 'aio'; there are: auto, all, pread, mmap, uring, uring-direct, native");
    options = valid();
    options.workload = "resnet50";
    expect_refused(options, able(), "resnet50-h100");
    options = valid();
    options.format = "zip";
    expect_refused(options, able(), "no format 'zip'; there are: auto, files");
    options = valid();
    options.device = "tpu";
    expect_refused(options, able(), "auto, cuda, emulated");
    options = valid();
    options.require = {"idle.fracton<=0.05"};
    expect_refused(options, able(), "no figure 'idle.fracton'");
}

TEST(Check, ContradictionsAreRefused) {
    BenchOptions options = valid();
    options.datasets.clear();
    expect_refused(options, able(), "no dataset");
    options.datasets = {{"a", "/x/a"}, {"a", "/y/a"}};
    expect_refused(options, able(), "NAME=PATH");
    options = valid();
    options.engines = {"all", "pread"};
    expect_refused(options, able(), "stands alone");
    options.engines = {"pread", "pread"};
    expect_refused(options, able(), "given twice");
    options = valid();
    options.rank = 4;
    options.world = 4;
    expect_refused(options, able(), "from 0 to 3");
    options = valid();
    options.threads = 8;
    options.queue_depth = 4;
    expect_refused(options, able(), "over all threads");
    options = valid();
    options.drop_caches = true;
    expect_refused(options, able(), "--cache cold");
    options = valid();
    options.steps = 10;
    options.warmup_steps = 10;
    expect_refused(options, able(), "leaves nothing");
    options = valid();
    options.step_kernel = StepKernel::gemm;
    expect_refused(options, able(), "gemm");
    options = valid();
    options.device = "cuda";
    options.h2d_rate = 1e9;
    expect_refused(options, able(), "--h2d-rate");
    options = valid();
    options.device = "cuda";
    options.accelerators = 2;
    expect_refused(options, able(), "1 usable GPU;");
}

TEST(Check, WhatThisMachineCannotDoIsRefused) {
    BenchOptions options = valid();
    Capabilities machine = able();
    machine.root = false;
    options.cache = CacheMode::cold;
    EXPECT_EQ(refusal(options, machine), "");
    options.drop_caches = true;
    expect_refused(options, machine, "root");
    machine = able();
    machine.crc = false;
    options = valid();
    options.decode = DecodeMode::crc;
    expect_refused(options, machine, "isa-l");
    machine.jpeg = false;
    options.decode = DecodeMode::jpeg;
    expect_refused(options, machine, "libjpeg-turbo");
    options = valid();
    options.threads = 1001;
    expect_refused(options, machine, "1000");
    machine.cuda_devices = 0;
    machine.no_cuda_reason = "this build has no CUDA";
    options = valid();
    options.device = "cuda";
    expect_refused(options, machine, "this build has no CUDA");
}

TEST(Check, FilesToWriteMustBePossibleBeforeAnythingIsMeasured) {
    const test::TempDir dir;
    BenchOptions options = valid();
    options.json_file = dir / "none/result.json";
    expect_refused(options, able(), "--json");
    options.json_file = dir.path();
    expect_refused(options, able(), "is a directory");
    options.json_file = dir / "result.json";
    options.csv_file = options.json_file;
    expect_refused(options, able(), "same file");
    options.csv_file = dir / "result.csv";
    EXPECT_EQ(refusal(options, able()), "");
    EXPECT_NE(::access(options.json_file.c_str(), F_OK), 0) << "a check must not create the file";
}

TEST(Check, AutoTakesAGpuWhereThereIsOne) {
    BenchOptions options = valid();
    options.device = "auto";
    Capabilities machine = able();
    EXPECT_EQ(chosen_device(options, machine), DeviceKind::cuda);
    machine.cuda_devices = 0;
    EXPECT_EQ(chosen_device(options, machine), DeviceKind::emulated);
    options.device = "emulated";
    machine.cuda_devices = 8;
    EXPECT_EQ(chosen_device(options, machine), DeviceKind::emulated);
}

}  // namespace
}  // namespace feedline
