#include "core/presets.h"

#include <gtest/gtest.h>

#include <set>

#include "core/error.h"

namespace feedline {
namespace {

TEST(Presets, NamesAreModelAndAcceleratorAndUnique) {
    std::set<std::string_view> names;
    for (const Preset& preset : presets()) {
        EXPECT_EQ(std::string(preset.name), std::string(preset.model) + "-" + std::string(preset.accelerator));
        EXPECT_TRUE(names.insert(preset.name).second) << preset.name;
        EXPECT_EQ(&find_preset(preset.name), &preset);
    }
}

// The rates that the publishers state for one accelerator, to three digits.
TEST(Presets, IdealRatesAreThePublishedOnes) {
    const struct {
        const char* name;
        double bytes_per_second;
    } cases[] = {
        {"unet3d-v100", 0.431e9},  {"unet3d-a100", 1.61e9},   {"unet3d-h100", 3.18e9},    {"unet3d-b200", 6.33e9},
        {"resnet50-a100", 105e6},  {"resnet50-h100", 205e6},  {"cosmoflow-v100", 302e6},  {"cosmoflow-a100", 513e6},
        {"cosmoflow-h100", 808e6}, {"retinanet-b200", 163e6}, {"retinanet-mi355", 163e6}, {"flux-b200", 77e6},
        {"flux-mi355", 77e6},      {"dlrm-b200", 33.2e9},     {"dlrm-mi355", 22.2e9},     {"bert-v100", 0.124e6},
    };
    EXPECT_EQ(std::size(cases), presets().size());
    for (const auto& [name, rate] : cases) {
        EXPECT_NEAR(find_preset(name).bytes_per_second() / rate, 1, 0.005) << name;
    }
}

TEST(Presets, EachSaysWhereItComesFrom) {
    for (const Preset& preset : presets()) {
        EXPECT_TRUE(preset.source.starts_with("https://")) << preset.name;
        EXPECT_NE(preset.source.find(std::string(preset.model) + "_" + std::string(preset.accelerator) + ".yaml"),
                  std::string_view::npos);
        EXPECT_EQ(preset.source_date.substr(0, 2), "20") << preset.name;
    }
}

TEST(Presets, AnUnknownNameIsAnsweredWithTheKnownOnes) {
    try {
        find_preset("resnet50-tpu");
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::usage);
        const std::string what = error.what();
        EXPECT_NE(what.find("resnet50-tpu"), std::string::npos);
        for (const Preset& preset : presets()) EXPECT_NE(what.find(preset.name), std::string::npos);
        EXPECT_EQ(what.find('\n'), std::string::npos);
    }
}

TEST(Presets, ANameThatComesNearIsSuggested) {
    const auto refusal = [](const char* name) {
        try {
            find_preset(name);
        } catch (const Error& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    EXPECT_NE(refusal("resnet50").find("did you mean resnet50-a100 or resnet50-h100?"), std::string::npos)
        << refusal("resnet50");
    EXPECT_NE(refusal("unet3d-h10").find("did you mean unet3d-h100"), std::string::npos) << refusal("unet3d-h10");
    EXPECT_EQ(refusal("frobnicate").find("did you mean"), std::string::npos) << refusal("frobnicate");
}

}  // namespace
}  // namespace feedline
