#include "bench/options.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "core/error.h"

namespace feedline {
namespace {

// A text that each kind of value accepts and that is not its default, by the option's value name or name.
std::string other_value(const OptionInfo& info) {
    static const std::map<std::string_view, std::string> by_name{
        {"format", "files"},    {"order", "sequential"},       {"decode", "crc"},
        {"crc", "sampled"},     {"on-error", "skip"},          {"cache", "cold"},
        {"device", "emulated"}, {"step-kernel", "gemm"},       {"engine", "pread,uring"},
        {"index-cache", "off"}, {"workload", "resnet50-h100"}, {"require", "idle.fraction<=0.05"}};
    const auto found = by_name.find(info.name);
    if (found != by_name.end()) return found->second;
    if (info.value == "N") return "7";
    if (info.value == "TIME") return "7ms";
    if (info.value == "RATE") return "7GB/s";
    if (info.value == "FILE") return "some.file";
    if (info.value == "NAME") return "some/name";
    return "";
}

TEST(Options, EveryDeclaredOptionReachesItsMemberAndTheConfig) {
    BenchOptions options;
    std::set<std::string> names;
    for (const OptionBinding& binding : bind_options(options)) {
        EXPECT_TRUE(names.insert(std::string(binding.info.name)).second) << binding.info.name;
        std::string field(binding.info.name);
        for (char& c : field) c = c == '-' ? '_' : c;
        const nlohmann::ordered_json before = config_json(options);
        ASSERT_TRUE(before.contains(field)) << field;
        binding.set(binding.is_switch ? (binding.negatable ? "false" : "true") : other_value(binding.info));
        const nlohmann::ordered_json after = config_json(options);
        EXPECT_NE(before[field], after[field]) << field;
        for (const auto& [key, value] : after.items()) {
            if (key == field) continue;
            EXPECT_EQ(value, before[key]) << binding.info.name << " changed " << key;
        }
    }
    EXPECT_EQ(config_json(options).size(), names.size());
}

TEST(Options, HelpSaysTheDefaultOfEveryOption) {
    BenchOptions options;
    for (const OptionBinding& binding : bind_options(options)) {
        EXPECT_NE(binding.help.find("(default "), std::string::npos) << binding.info.name;
        EXPECT_EQ(binding.help.find("(default )"), std::string::npos) << binding.info.name;
    }
}

TEST(Options, ConfigIsInPlainUnits) {
    BenchOptions options;
    for (const OptionBinding& binding : bind_options(options)) {
        if (binding.info.name == "step-time") binding.set("375us");
        if (binding.info.name == "h2d-rate") binding.set("12.5GB/s");
        if (binding.info.name == "engine") binding.set("pread,mmap");
    }
    const nlohmann::ordered_json config = config_json(options);
    EXPECT_DOUBLE_EQ(config["step_time"].get<double>(), 375e-6);
    EXPECT_DOUBLE_EQ(config["h2d_rate"].get<double>(), 12.5e9);
    EXPECT_EQ(config["engine"], "pread,mmap");
    EXPECT_EQ(config["controls"], true);
    EXPECT_TRUE(config["steps"].is_null());
    EXPECT_TRUE(config["workload"].is_null());
    EXPECT_EQ(config["seed"], 0);
}

TEST(Options, WhatDiffersFromTheDefaultsReadsAsTyped) {
    BenchOptions options;
    EXPECT_EQ(changed_options(options), "");
    options.threads = 2;
    options.cache = CacheMode::cold;
    options.controls = false;
    options.quiet = true;
    EXPECT_EQ(changed_options(options), "--threads 2 --cache cold --no-controls");
}

TEST(Options, NonsenseIsRefusedInOneLineThatNamesTheOption) {
    const struct {
        const char* name;
        const char* text;
    } cases[] = {
        {"threads", "0"},        {"threads", "-1"},     {"threads", "two"},    {"threads", "4294967296"},
        {"threads", "2.5"},      {"threads", ""},       {"threads", "1\n2"},   {"queue-depth", "0"},
        {"batch-size", "0"},     {"batch-size", "-5"},  {"slots", "0"},        {"epochs", "0"},
        {"rounds", "0"},         {"steps", "0"},        {"duration", "0"},     {"duration", "-1s"},
        {"io-timeout", "0s"},    {"step-time", "-1ms"}, {"step-time", "fast"}, {"h2d-rate", "0"},
        {"h2d-rate", "-1GB/s"},  {"world", "0"},        {"accelerators", "0"}, {"cache", "tepid"},
        {"order", "random"},     {"decode", "png"},     {"crc", "some"},       {"on-error", "ignore"},
        {"step-kernel", "conv"}, {"engine", ""},        {"engine", "pread,"},  {"json", ""},
        {"seed", "-1"},
    };
    for (const auto& [name, text] : cases) {
        BenchOptions options;
        for (const OptionBinding& binding : bind_options(options)) {
            if (binding.info.name != name) continue;
            try {
                binding.set(text);
                ADD_FAILURE() << "--" << name << " accepted '" << text << "'";
            } catch (const Error& error) {
                EXPECT_EQ(error.kind(), ErrorKind::usage);
                const std::string what = error.what();
                EXPECT_TRUE(what.starts_with("--" + std::string(name) + ": ")) << what;
                EXPECT_EQ(what.find('\n'), std::string::npos) << what;
            }
        }
    }
}

TEST(Options, ZeroIsAcceptedWhereItMeansSomething) {
    for (const char* name : {"rank", "seed", "warmup-steps", "step-time", "h2d-latency"}) {
        BenchOptions options;
        for (const OptionBinding& binding : bind_options(options)) {
            if (binding.info.name != name) continue;
            EXPECT_NO_THROW(binding.set("0")) << name;
        }
    }
}

TEST(Options, ADatasetIsAPathOrANamedPath) {
    const auto parsed = [](const char* text) {
        const DatasetArgument argument = parse_dataset_argument(text);
        return argument.name + "|" + argument.path;
    };
    EXPECT_EQ(parsed("/data/train"), "train|/data/train");
    EXPECT_EQ(parsed("/data/train/"), "train|/data/train/");
    EXPECT_EQ(parsed("nvme=/data/train"), "nvme|/data/train");
    EXPECT_EQ(parsed("a.b-c_1=x=y"), "a.b-c_1|x=y");
    EXPECT_EQ(parsed("./a=b"), "a=b|./a=b");
    EXPECT_EQ(parsed("/data/a=b"), "a=b|/data/a=b");
    EXPECT_EQ(parsed("."), ".|.");
    EXPECT_EQ(parsed("/"), "/|/");
    EXPECT_EQ(parsed("=x"), "=x|=x");
    EXPECT_THROW(parse_dataset_argument("nvme="), Error);
}

}  // namespace
}  // namespace feedline
