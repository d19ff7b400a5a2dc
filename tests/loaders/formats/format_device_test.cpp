// Every format with every engine onto every device: what the accelerator holds after a batch's copy is what was written
// into the dataset, each sample once, with slots refilled as soon as they are free.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <tuple>
#include <vector>

#include "loaders/dataset.h"
#include "loaders/loader.h"
#include "tests/cuda/backend.h"
#include "tests/loaders/formats/dataset_makers.h"
#include "tests/testutil/temp_dir.h"

namespace feedline {
namespace {

using test::Backend;
using test::FormatMaker;

constexpr unsigned kSlots = 3;

class FormatOnDevice : public testing::TestWithParam<std::tuple<FormatMaker, EngineKind, Backend>> {
protected:
    void SetUp() override { backend().prepare(); }
    void TearDown() override { EXPECT_THAT(backend().complaints(), testing::IsEmpty()); }

    const FormatMaker& maker() const { return std::get<0>(GetParam()); }
    EngineKind engine() const { return std::get<1>(GetParam()); }
    const Backend& backend() const { return std::get<2>(GetParam()); }

    // What batch number `count` is on the device; where a device keeps no data, what was copied from.
    std::string on_device(Device& device, Slab& pinned, std::uint64_t count, const Batch& batch) const {
        if (!backend().read_back) return {reinterpret_cast<const char*>(batch.data), batch.bytes};
        const auto bytes = backend().read_back(device, pinned, count, kSlots, batch.bytes);
        return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    }

    test::TempDir directory_;
};

TEST_P(FormatOnDevice, EverySampleArrivesOnceWithItsBytes) {
    constexpr std::array<std::size_t, 8> kSizes = {0, 1, 511, 513, 4095, 4097, 20'000, 33};
    std::vector<std::string> payloads;
    for (std::size_t i = 0; i < 60; ++i)
        payloads.push_back(test::pattern(kSizes.at(i % kSizes.size()), static_cast<unsigned>(i)));
    maker().write(directory_ / "dataset", payloads, 25);
    const std::shared_ptr<const Dataset> dataset = open_dataset(directory_ / "dataset", "auto", {});

    LoaderOptions options;
    options.engine = select_engine(engine(), *dataset);
    ASSERT_EQ(options.engine.kind, engine());
    options.threads = 2;
    options.slots = kSlots;
    const Order order(dataset->size(), {.mode = OrderMode::shuffle, .seed = 3, .batch_size = 7});
    const StagingNeed need = staging_need(*dataset, std::span(&order, 1), plan_options(options.engine, kSlots));
    DeviceOptions device_options;
    device_options.kind = backend().kind;
    device_options.slots = kSlots;
    device_options.step_ns = 20'000;
    const std::unique_ptr<Device> device = backend().make(device_options);
    const std::shared_ptr<Slab> slab = device->make_slab(need.slab_bytes);
    const std::shared_ptr<Slab> pinned = device->make_slab(need.max_batch_bytes);
    device->begin_epoch(need.max_batch_bytes);
    Loader loader(dataset, order, slab, nullptr, options);
    std::vector<int> seen(payloads.size(), 0);
    while (const Batch* batch = loader.next()) {
        device->enqueue(batch->index, batch->data, batch->bytes, backend().now());
        device->wait_copied(batch->index);
        const std::string copied = on_device(*device, *pinned, batch->index, *batch);
        ASSERT_EQ(copied.size(), batch->bytes);
        for (const SampleView& view : batch->samples) {
            const auto* record = reinterpret_cast<const std::byte*>(copied.data()) + view.offset_bytes;
            const auto payload = dataset->payload(view.id, {record, view.length_bytes});
            ASSERT_EQ(std::string(reinterpret_cast<const char*>(payload.data()), payload.size()), payloads[view.id]);
            ++seen[view.id];
        }
        loader.release(batch->index);
    }
    device->drain();
    EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), static_cast<std::ptrdiff_t>(payloads.size()));
}

// Every format with every engine that reads it, on the devices of this program.
std::vector<std::tuple<FormatMaker, EngineKind, Backend>> combinations() {
    std::vector<std::tuple<FormatMaker, EngineKind, Backend>> all;
    for (const Backend& backend : test::backends()) {
        for (const FormatMaker& maker : test::format_makers()) {
            if (maker.extents) {
                for (const EngineKind engine : available_engines()) all.emplace_back(maker, engine, backend);
            }
            if (maker.native) all.emplace_back(maker, EngineKind::native, backend);
        }
    }
    return all;
}

std::string name_of(const testing::TestParamInfo<std::tuple<FormatMaker, EngineKind, Backend>>& info) {
    const auto& [maker, engine, backend] = info.param;
    std::string name = maker.format + maker.variant + "_" + std::string(to_string(engine)) + "_" + backend.name;
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

INSTANTIATE_TEST_SUITE_P(Formats, FormatOnDevice, testing::ValuesIn(combinations()), name_of);

}  // namespace
}  // namespace feedline
