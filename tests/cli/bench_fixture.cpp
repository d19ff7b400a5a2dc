#include "tests/cli/bench_fixture.h"

#include <algorithm>

namespace feedline::test {

using Json = nlohmann::json;

void make_dataset(const std::string& path) {
    for (unsigned i = 0; i < kFiles; ++i) {
        const std::string name = path + "/" + std::string(1, static_cast<char>('a' + i % 3)) + "/" + std::to_string(i);
        write_file(name, pattern(1000 + i * 211, i));
    }
}

Json results_in(const std::string& path) {
    return Json::parse(read_file(path)).at("results");
}

std::size_t lines_in(const std::string& text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

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

Ended Bench::bench(std::vector<std::string> more) const {
    std::vector<std::string> arguments{"bench", data_, "--no-controls", "--json", json_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program(arguments);
}

}  // namespace feedline::test
