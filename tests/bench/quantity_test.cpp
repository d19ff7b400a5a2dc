#include "bench/quantity.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/bench/hand_made.h"

namespace feedline {
namespace {

TEST(Quantity, IsToldByTheName) {
    const struct {
        const char* path;
        Quantity quantity;
    } cases[] = {
        {"idle.fraction", Quantity::share},
        {"controls.warm.utilization", Quantity::share},
        {"utilization.mlperf", Quantity::share},
        {"cache.resident_before", Quantity::share},
        {"drift", Quantity::share},
        {"latency_ns.read.p99", Quantity::nanoseconds},
        {"seconds", Quantity::seconds},
        {"slot_wait_seconds", Quantity::seconds},
        {"idle.by_cause.read", Quantity::seconds},
        {"idle.steady_by_cause.h2d", Quantity::seconds},
        {"config.step_time", Quantity::seconds},
        {"config.io_timeout", Quantity::seconds},
        {"config.h2d_rate", Quantity::bytes_per_second},
        {"bytes_per_second", Quantity::bytes_per_second},
        {"bytes", Quantity::bytes},
        {"cache.device_bytes", Quantity::bytes},
        {"samples_per_second", Quantity::number},
        {"controls.warm.samples_per_second", Quantity::number},
        {"config.queue_depth", Quantity::number},
        {"accelerators_sustained", Quantity::number},
    };
    for (const auto& [path, quantity] : cases) EXPECT_EQ(quantity_of(path), quantity) << path;
}

// A figure that is added with a unit in its name has that unit here, too.
void expect_units(const nlohmann::ordered_json& json, const std::string& above) {
    for (const auto& [key, value] : json.items()) {
        const std::string path = above.empty() ? key : fmt::format("{}.{}", above, key);
        if (value.is_object()) expect_units(value, path);
        if (!value.is_number() || path.starts_with("config.")) continue;
        const bool counted = key == "samples_per_second" ||
                             !(key.find("seconds") != std::string::npos || key.find("bytes") != std::string::npos ||
                               key.find("fraction") != std::string::npos);
        if (counted) continue;
        EXPECT_NE(quantity_of(path), Quantity::number) << path;
    }
}

TEST(Quantity, EveryFigureWithAUnitInItsNameHasOne) {
    const nlohmann::ordered_json result = to_json(test::hand_made_result());
    expect_units(result, "");
    expect_units(result["epochs"][0], "");
}

TEST(Quantity, IsWrittenPlainOrWithAUnitOfItsKind) {
    const struct {
        Quantity quantity;
        const char* text;
        double value;
    } cases[] = {
        {Quantity::number, "5", 5},          {Quantity::share, "0.05", 0.05},
        {Quantity::share, "5%", 0.05},       {Quantity::share, "5 %", 0.05},
        {Quantity::nanoseconds, "5e6", 5e6}, {Quantity::nanoseconds, "5ms", 5e6},
        {Quantity::seconds, "90", 90},       {Quantity::seconds, "1.5 m", 90},
        {Quantity::bytes, "64KiB", 65536},   {Quantity::bytes_per_second, "1GB/s", 1e9},
    };
    for (const auto& [quantity, text, value] : cases) EXPECT_EQ(parse_quantity(quantity, text), value) << text;
    for (const Quantity quantity : {Quantity::number, Quantity::share, Quantity::nanoseconds, Quantity::seconds,
                                    Quantity::bytes, Quantity::bytes_per_second}) {
        for (const char* text : {"", "x", "nan", "inf", "5 apples", "%", "5%%"}) {
            EXPECT_FALSE(parse_quantity(quantity, text)) << text;
        }
    }
    EXPECT_FALSE(parse_quantity(Quantity::number, "5%"));
    EXPECT_FALSE(parse_quantity(Quantity::number, "5ms"));
    EXPECT_FALSE(parse_quantity(Quantity::share, "5ms"));
    EXPECT_FALSE(parse_quantity(Quantity::nanoseconds, "5MB"));
    EXPECT_FALSE(parse_quantity(Quantity::bytes, "5ms"));
    EXPECT_FALSE(parse_quantity(Quantity::bytes_per_second, "5%"));
}

TEST(Quantity, IsShownAsInTheJsonAndAsPeopleReadIt) {
    EXPECT_EQ(show_quantity(Quantity::number, 20116.2), "20116.2");
    EXPECT_EQ(show_quantity(Quantity::share, 0.25), "0.25 (25.0 %)");
    EXPECT_EQ(show_quantity(Quantity::nanoseconds, 9e6), "9e+06 (9.00 ms)");
    EXPECT_EQ(show_quantity(Quantity::seconds, 0.375), "0.375 (375 ms)");
    EXPECT_EQ(show_quantity(Quantity::bytes, 2048), "2048 (2.05 KB)");
    EXPECT_EQ(show_quantity(Quantity::bytes_per_second, 1e9), "1e+09 (1.00 GB/s)");
}

}  // namespace
}  // namespace feedline
