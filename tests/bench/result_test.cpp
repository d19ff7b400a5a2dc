#include "bench/result.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <map>

#include "bench/context.h"
#include "bench/report/csv.h"
#include "core/error.h"
#include "tests/bench/hand_made.h"
#include "tests/testutil/temp_dir.h"

namespace feedline {
namespace {

using Json = nlohmann::ordered_json;

Json hand_made_json() {
    return to_json(
        ResultFile{test::hand_made_context(), {test::hand_made_result()}, {{"disk/files/native", "has none"}}});
}

// What feedline.result/1 promises: path -> type, where "number?" may also be null. [] steps into each entry of a list.
const std::pair<const char*, const char*> kSchema[] = {
    {"schema", "string"},
    {"context.feedline.version", "string"},
    {"context.feedline.git", "string"},
    {"context.feedline.build_type", "string"},
    {"context.feedline.compiler", "string"},
    {"context.feedline.cuda", "string"},
    {"context.command", "string"},
    {"context.time", "string"},
    {"context.host.cpu", "string"},
    {"context.host.cores", "number"},
    {"context.host.memory_bytes", "number"},
    {"context.host.kernel", "string"},
    {"context.fingerprint", "string"},
    {"results.[].name", "string"},
    {"results.[].status", "string"},
    {"results.[].config", "object"},
    {"results.[].dataset.path", "string"},
    {"results.[].dataset.format", "string"},
    {"results.[].dataset.samples", "number"},
    {"results.[].dataset.shards", "number"},
    {"results.[].dataset.bytes", "number"},
    {"results.[].dataset.fs_type", "string"},
    {"results.[].dataset.tier_kind", "string"},
    {"results.[].dataset.classes.[].name", "string"},
    {"results.[].dataset.classes.[].label", "number"},
    {"results.[].device.kind", "string"},
    {"results.[].device.name", "string"},
    {"results.[].epochs.[].seconds", "number"},
    {"results.[].epochs.[].samples", "number"},
    {"results.[].epochs.[].bytes", "number"},
    {"results.[].epochs.[].samples_per_second", "number"},
    {"results.[].epochs.[].bytes_per_second", "number"},
    {"results.[].epochs.[].idle.fraction", "number"},
    {"results.[].epochs.[].idle.seconds", "number"},
    {"results.[].epochs.[].idle.steady_fraction", "number?"},
    {"results.[].epochs.[].idle.by_cause.open", "number"},
    {"results.[].epochs.[].idle.by_cause.read", "number"},
    {"results.[].epochs.[].idle.by_cause.decode", "number"},
    {"results.[].epochs.[].idle.by_cause.staging", "number"},
    {"results.[].epochs.[].idle.by_cause.h2d", "number"},
    {"results.[].epochs.[].idle.by_cause.sync", "number"},
    {"results.[].epochs.[].idle.by_cause.other", "number"},
    {"results.[].epochs.[].idle.steady_by_cause.read", "number"},
    {"results.[].epochs.[].idle.first_fill_seconds", "number"},
    {"results.[].epochs.[].idle.end_wait_seconds", "number"},
    {"results.[].epochs.[].idle.steady_steps", "number"},
    {"results.[].missing", "array"},
    {"results.[].epochs.[].utilization.whole_epoch", "number"},
    {"results.[].epochs.[].utilization.mlperf", "number?"},
    {"results.[].epochs.[].cache.verdict", "string"},
    {"results.[].epochs.[].cache.metadata", "string"},
    {"results.[].epochs.[].cache.resident_before", "number?"},
    {"results.[].epochs.[].cache.device_bytes", "number?"},
    {"results.[].epochs.[].cache.logical_bytes", "number"},
    {"results.[].epochs.[].cache.least_bytes", "number"},
    {"results.[].epochs.[].cache.witness", "string"},
    {"results.[].epochs.[].cache.reason", "string?"},
    {"results.[].missed_requirements", "array"},
    {"results.[].unjudged_requirements", "array"},
    {"results.[].epochs.[].slot_wait_seconds", "number"},
    {"results.[].epochs.[].oversleep_seconds", "number"},
    {"results.[].epochs.[].host_stall_seconds", "number"},
    {"results.[].epochs.[].h2d_bytes", "number"},
    {"results.[].epochs.[].padding_bytes", "number"},
    {"results.[].epochs.[].latency_ns.read.p50", "number"},
    {"results.[].epochs.[].latency_ns.read.p90", "number"},
    {"results.[].epochs.[].latency_ns.read.p99", "number"},
    {"results.[].epochs.[].latency_ns.read.max", "number"},
    {"results.[].epochs.[].latency_ns.batch.p50", "number"},
    {"results.[].epochs.[].latency_ns.batch.max", "number"},
    {"results.[].epochs.[].cpu_seconds", "number"},
    {"results.[].epochs.[].max_rss_bytes", "number"},
    {"results.[].epochs.[].samples_delivered_once", "boolean"},
    {"results.[].rounds.[].seconds", "number"},
    {"results.[].requests.planned", "number"},
    {"results.[].requests.planned_bytes", "number"},
    {"results.[].requests.device_reads", "number?"},
    {"results.[].requests.device_reads_per_sample", "number?"},
    {"results.[].requests.syscalls", "number"},
    {"results.[].controls.null_storage.utilization", "number?"},
    {"results.[].controls.null_storage.samples_per_second", "number?"},
    {"results.[].controls.null_step.utilization", "number?"},
    {"results.[].controls.warm.utilization", "number?"},
    {"results.[].controls.h2d.utilization", "number?"},
    {"results.[].controls.serial.samples_per_second", "number?"},
    {"results.[].accelerators_sustained", "number?"},
    {"results.[].bottleneck", "string"},
    {"results.[].raw.step_ns.[]", "number"},
    {"skipped.[].name", "string"},
    {"skipped.[].reason", "string"},
};

void expect_type(const Json& json, std::string_view path, std::string_view type, std::string_view whole) {
    if (path.empty()) {
        const bool optional = type.ends_with('?');
        if (optional) type.remove_suffix(1);
        if (optional && json.is_null()) return;
        EXPECT_EQ(std::string_view(json.type_name()), type) << whole;
        return;
    }
    const std::size_t dot = path.find('.');
    const std::string step(path.substr(0, dot));
    const std::string_view rest = dot == std::string_view::npos ? "" : path.substr(dot + 1);
    if (step == "[]") {
        ASSERT_TRUE(json.is_array()) << whole;
        ASSERT_FALSE(json.empty()) << whole;
        for (const Json& entry : json) expect_type(entry, rest, type, whole);
        return;
    }
    ASSERT_TRUE(json.is_object() && json.contains(step)) << whole;
    expect_type(json.at(step), rest, type, whole);
}

TEST(Result, HasEveryFieldOfTheSchemaWithItsType) {
    const Json json = hand_made_json();
    for (const auto& [path, type] : kSchema) expect_type(json, path, type, path);
    EXPECT_EQ(json["schema"], "feedline.result/1");
}

TEST(Result, FiguresAreTheOnesThatWereMeasured) {
    const Json result = hand_made_json()["results"][0];
    const Json& epoch = result["epochs"][0];
    EXPECT_DOUBLE_EQ(epoch["samples_per_second"].get<double>(), 100);
    EXPECT_DOUBLE_EQ(epoch["bytes_per_second"].get<double>(), 1e7);
    EXPECT_DOUBLE_EQ(epoch["idle"]["seconds"].get<double>(), 2.5);
    EXPECT_DOUBLE_EQ(epoch["utilization"]["whole_epoch"].get<double>(), 0.75);
    EXPECT_DOUBLE_EQ(result["requests"]["device_reads_per_sample"].get<double>(), 1.02);
    EXPECT_EQ(result["raw"]["step_ns"], Json::array({60'000'000'000, 500'000'000}));
    EXPECT_EQ(result["bottleneck"], "storage");
    double sum = 0;
    for (const auto& [cause, seconds] : epoch["idle"]["by_cause"].items()) sum += seconds.get<double>();
    EXPECT_NEAR(sum, epoch["idle"]["seconds"].get<double>(), 0.001 * sum);
}

TEST(Result, WhatCouldNotBeSeenIsNullAndNotZero) {
    Result result = test::hand_made_result();
    EpochResult& epoch = result.rounds[0][0];
    epoch.device_reads.reset();
    epoch.cache.device_bytes.reset();
    epoch.idle.mlperf_utilization.reset();
    result.controls.warm.reset();
    result.accelerators_sustained.reset();
    result.bottleneck = Bottleneck::unknown;
    const Json json = to_json(result);
    EXPECT_TRUE(json["requests"]["device_reads"].is_null());
    EXPECT_TRUE(json["requests"]["device_reads_per_sample"].is_null());
    EXPECT_TRUE(json["epochs"][0]["cache"]["device_bytes"].is_null());
    EXPECT_TRUE(json["epochs"][0]["utilization"]["mlperf"].is_null());
    EXPECT_TRUE(json["controls"]["warm"].is_null());
    EXPECT_TRUE(json["accelerators_sustained"].is_null());
    EXPECT_TRUE(json["bottleneck"].is_null());
}

TEST(Result, RoundsHoldOneEntryForEachRepetition) {
    Result result = test::hand_made_result();
    EpochResult first = test::hand_made_epoch();
    first.samples = 1;
    EpochResult second = test::hand_made_epoch();
    second.samples = 2;
    result.rounds = {{first, second}, {second, first}, {first, second}};
    const Json json = to_json(result);
    ASSERT_EQ(json["rounds"].size(), 3U);
    EXPECT_EQ(json["rounds"][0]["samples"], 2);
    EXPECT_EQ(json["rounds"][0]["epochs"][0]["samples"], 1);
    EXPECT_EQ(json["rounds"][1]["samples"], 1);
    ASSERT_EQ(json["epochs"].size(), 2U);
    EXPECT_EQ(json["epochs"][1]["samples"], 2);
}

TEST(Result, AFailedOneSaysWhy) {
    Result result = test::hand_made_result();
    result.status = RunStatus::failed;
    result.error = "cannot read: /data/\xff";
    result.rounds = {{}};
    const Json json = to_json(result);
    EXPECT_EQ(json["status"], "failed");
    EXPECT_EQ(json["error"], "cannot read: /data/\\xff");
    EXPECT_TRUE(json["epochs"].empty());
    EXPECT_NO_THROW(static_cast<void>(json.dump()));
}

TEST(Result, NamesThatAreNoUtf8DoNotBreakTheFile) {
    Result result = test::hand_made_result();
    result.dataset.path = "/data/\xfe\xff";
    result.dataset.classes = {{"caf\xe9", 0, 1}};
    result.dataset.oddities = {{"socket", 1, "\xff"}};
    result.tier.device = "\xff";
    result.name = "\xff/files/pread/custom";
    result.notes = {"\xff"};
    const Json json = Json::parse(json_text({test::hand_made_context(), {result}, {{"\xff", "\xff"}}}));
    EXPECT_EQ(json["results"][0]["dataset"]["classes"][0]["name"], "caf\\xe9");
}

// A CSV as a spreadsheet reads it: one map of names to fields a line.
std::vector<std::map<std::string, std::string>> parsed_csv(const std::string& csv) {
    std::vector<std::vector<std::string>> rows(1, {""});
    bool quoted = false;
    for (std::size_t i = 0; i < csv.size(); ++i) {
        if (quoted && csv[i] == '"' && i + 1 < csv.size() && csv[i + 1] == '"') {
            rows.back().back() += csv[i++];
        } else if (csv[i] == '"') {
            quoted = !quoted;
        } else if (csv[i] == ',' && !quoted) {
            rows.back().emplace_back();
        } else if (csv[i] == '\n' && !quoted) {
            rows.push_back({""});
        } else {
            rows.back().back() += csv[i];
        }
    }
    rows.pop_back();
    std::vector<std::map<std::string, std::string>> lines;
    for (std::size_t r = 1; r < rows.size(); ++r) {
        EXPECT_EQ(rows[r].size(), rows[0].size());
        for (std::size_t c = 0; c < rows[0].size(); ++c) {
            if (c == 0) lines.emplace_back();
            EXPECT_TRUE(lines.back().emplace(rows[0][c], rows[r].at(c)).second) << "two columns " << rows[0][c];
        }
    }
    return lines;
}

TEST(Csv, HasOneLineAnEpochThatTellsWhatItIs) {
    Result result = test::hand_made_result();
    result.rounds = {{test::hand_made_epoch(), test::hand_made_epoch()}, {test::hand_made_epoch()}};
    result.name = "a,\"b\"";
    const auto lines = parsed_csv(render_csv({test::hand_made_context(), {result}, {}}));
    ASSERT_EQ(lines.size(), 3U);
    const std::map<std::string, std::string> expected{
        {"name", "a,\"b\""},
        {"status", "ok"},
        {"tier", "disk"},
        {"path", "/data/train"},
        {"format", "files"},
        {"engine", "uring"},
        {"workload", "custom"},
        {"steps_without_samples", "0"},
        {"device", "emulated"},
        {"accelerators", "1"},
        {"batch_size", "67"},
        {"step_seconds", "0.5"},
        {"queue_depth", "64"},
        {"cache_asked", "cold"},
        {"cache_verdict", "cold"},
        {"round", "1"},
        {"epoch", "2"},
        {"samples", "1000"},
        {"samples_per_second", "100"},
        {"idle_fraction", "0.25"},
        {"idle_seconds", "2.5"},
        {"idle_read_seconds", "2"},
        {"bottleneck", "storage"},
        {"error", ""},
        {"device_reads", "1020"},
    };
    for (const auto& [name, value] : expected) EXPECT_EQ(lines[1].at(name), value) << name;
    EXPECT_EQ(lines[2].at("round"), "2");
}

TEST(Csv, AResultOfWhichNothingWasMeasuredIsNotForgotten) {
    Result failed = test::hand_made_result();
    failed.status = RunStatus::failed;
    failed.error = "cannot read: x, y";
    failed.rounds = {{}};
    failed.bottleneck = Bottleneck::unknown;
    const auto lines = parsed_csv(render_csv({test::hand_made_context(), {test::hand_made_result(), failed}, {}}));
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_EQ(lines[1].at("status"), "failed");
    EXPECT_EQ(lines[1].at("error"), "cannot read: x, y");
    EXPECT_EQ(lines[1].at("engine"), "uring");
    for (const char* name : {"round", "epoch", "samples", "idle_fraction", "bottleneck"}) {
        EXPECT_EQ(lines[1].at(name), "") << name;
    }
}

TEST(Csv, WhatCouldNotBeSeenIsEmpty) {
    Result result = test::hand_made_result();
    result.rounds[0][0].device_reads.reset();
    result.rounds[0][0].idle.mlperf_utilization.reset();
    const auto lines = parsed_csv(render_csv({test::hand_made_context(), {result}, {}}));
    EXPECT_EQ(lines.at(0).at("device_reads"), "");
    EXPECT_EQ(lines.at(0).at("utilization_mlperf"), "");
}

TEST(Context, SaysWhereItWasMeasured) {
    const Context context = make_context("feedline bench x");
    EXPECT_EQ(context.command, "feedline bench x");
    EXPECT_GT(context.cores, 0U);
    EXPECT_GT(context.memory_bytes, 0U);
    EXPECT_FALSE(context.cpu.empty());
    EXPECT_FALSE(context.kernel.empty());
    EXPECT_FALSE(context.git.empty());
    EXPECT_EQ(context.time.size(), std::string("2026-01-02T03:04:05Z").size());
    EXPECT_EQ(context.fingerprint.size(), 16U);
    EXPECT_EQ(context.fingerprint, make_context("another").fingerprint);
}

}  // namespace
}  // namespace feedline
