#include <gtest/gtest.h>

#include "core/error.h"
#include "packers/generate/generate.h"

namespace feedline {
namespace {

TEST(PresetOptions, ScaleChangesTheNumberOfFilesAndNotTheirSizes) {
    const Preset& preset = find_preset("unet3d-h100");
    const GenerateOptions whole = generate_options_for(preset, std::nullopt);
    const GenerateOptions half = generate_options_for(preset, 0.5);
    EXPECT_EQ(whole.samples, preset.samples());
    EXPECT_EQ(half.samples, preset.samples() / 2);
    EXPECT_EQ(half.sample_size_bytes, preset.record_bytes);
    EXPECT_EQ(half.sample_stddev_bytes, preset.record_stddev_bytes);
}

TEST(PresetOptions, TheListNamesEachWorkloadAndWhatItMakes) {
    const std::string list = list_workload_datasets();
    for (const Preset& preset : presets()) {
        EXPECT_NE(list.find(std::string(preset.name) + " "), std::string::npos) << preset.name;
    }
    EXPECT_NE(list.find("1,281,024"), std::string::npos) << list;
}

TEST(PresetOptions, ATinyScaleStillGivesOneFileInOneClass) {
    const GenerateOptions options = generate_options_for(find_preset("unet3d-h100"), 1e-9);
    EXPECT_EQ(options.samples, 1U);
    EXPECT_EQ(options.classes, 1U);
}

TEST(PresetOptions, NobodyWritesBillionsOfFilesByAccident) {
    const Preset& preset = find_preset("dlrm-b200");
    try {
        generate_options_for(preset, std::nullopt);
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::usage);
        EXPECT_NE(std::string(error.what()).find("--scale"), std::string::npos) << error.what();
    }
    EXPECT_EQ(generate_options_for(preset, 1.0).samples, preset.samples());
}

TEST(PresetOptions, AScaleMustBePositiveAndFinite) {
    for (const double scale : {0.0, -1.0, 1e300, std::numeric_limits<double>::quiet_NaN()}) {
        EXPECT_THROW(generate_options_for(find_preset("resnet50-h100"), scale), Error) << scale;
    }
}

}  // namespace
}  // namespace feedline
