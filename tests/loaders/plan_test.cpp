#include "loaders/plan.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <random>

#include "core/error.h"
#include "loaders/ring.h"
#include "tests/loaders/record_dataset.h"

namespace feedline {
namespace {

using test::RecordDataset;

constexpr Alignment kBuffered{};
constexpr Alignment kDirect{.memory_bytes = 4, .offset_bytes = 512};
constexpr Alignment kDirectPages{.memory_bytes = 4096, .offset_bytes = 4096};

RecordDataset files(const std::vector<std::uint64_t>& lengths) {
    std::vector<Extent> records;
    records.reserve(lengths.size());
    for (const std::uint64_t length : lengths) records.push_back({0, length, static_cast<ShardId>(records.size())});
    return RecordDataset(std::move(records));
}

RecordDataset shards(
    const std::vector<std::uint64_t>& lengths, std::size_t a_shard, std::uint64_t first_offset,
    const std::function<std::uint64_t()>& gap = [] { return 0; }) {
    std::vector<Extent> records;
    std::uint64_t offset = 0;
    for (const std::uint64_t length : lengths) {
        if (records.size() % a_shard == 0) offset = first_offset;
        records.push_back({offset, length, static_cast<ShardId>(records.size() / a_shard)});
        offset += length + gap();
    }
    return RecordDataset(std::move(records));
}

Order sequential(const Dataset& dataset, std::uint64_t batch_size) {
    return {dataset.size(), {.mode = OrderMode::sequential, .batch_size = batch_size}};
}

std::vector<PlannedBatch> plan_all(const Dataset& dataset, const Order& order, const PlanOptions& options) {
    const StagingNeed need = staging_need(dataset, std::span(&order, 1), options);
    BatchPlanner planner(dataset, order, options, need.slab_bytes);
    std::vector<PlannedBatch> batches;
    for (PlannedBatch batch; planner.next(batch);) batches.push_back(batch);
    return batches;
}

// The slots of a consumer that is always behind: a batch takes one when all the others are taken.
class Slots {
public:
    Slots(const StagingNeed& need, const PlanOptions& options)
        : ring_(need.slab_bytes, start_alignment(options.alignment), options.slots), slots_(options.slots) {}

    bool take(const PlannedBatch& batch) {
        if (live_.size() == slots_) live_.erase(live_.begin());
        const std::optional<std::uint64_t> begin = ring_.place(batch.bytes, live_);
        if (begin) live_.push_back({*begin, *begin + batch.bytes});
        return begin.has_value();
    }

private:
    Ring ring_;
    std::size_t slots_;
    std::vector<SlabSpan> live_;
};

TEST(BatchPlanner, OneRequestAFileEachOnItsOwnCacheLine) {
    const RecordDataset dataset = files({100, 0, 64, 63, 7});
    const Order order = sequential(dataset, 3);
    const auto batches = plan_all(dataset, order, {.alignment = kBuffered, .slots = 2});
    ASSERT_EQ(batches.size(), 2U);
    ASSERT_EQ(batches[0].reads.size(), 3U);
    EXPECT_EQ(batches[0].payload_bytes, 164U);
    EXPECT_EQ(batches[0].samples[0].offset_bytes, 0U);
    EXPECT_EQ(batches[0].samples[1].offset_bytes, 128U);  // 100 and the byte that would show growth
    EXPECT_EQ(batches[0].samples[2].offset_bytes, 192U);
    EXPECT_EQ(batches[0].bytes, 192U + 65U);
    EXPECT_EQ(batches[1].index, 1U);
    EXPECT_EQ(batches[1].reads[1].extent.shard, 4U);
    EXPECT_EQ(batches[1].reads[1].batch_offset_bytes, 64U);
}

TEST(BatchPlanner, NeighboursBecomeOneRequestUpToTheLimit) {
    const RecordDataset dataset = shards(std::vector<std::uint64_t>(10, 100), 8, 24);
    const Order order = sequential(dataset, 10);
    const auto batches = plan_all(dataset, order, {.alignment = kBuffered, .slots = 1, .run_bytes = 300});
    ASSERT_EQ(batches.size(), 1U);
    std::vector<std::uint32_t> runs;
    for (const PlannedRead& read : batches[0].reads) runs.push_back(read.samples);
    EXPECT_THAT(runs, testing::ElementsAre(3, 3, 2, 2));  // a run ends at the limit and with the shard
    EXPECT_EQ(batches[0].reads[0].extent.offset_bytes, 24U);
    EXPECT_EQ(batches[0].reads[0].extent.length_bytes, 300U);
    EXPECT_EQ(batches[0].samples[2].offset_bytes, 200U);
    EXPECT_EQ(batches[0].samples[3].offset_bytes, 320U);
}

TEST(BatchPlanner, RunsAreOfAboutOneLength) {
    const RecordDataset dataset = shards(std::vector<std::uint64_t>(64, 110'000), 64, 0);
    const auto batches = plan_all(dataset, sequential(dataset, 64), {.alignment = kDirectPages, .slots = 1});
    std::vector<std::uint32_t> runs;
    for (const PlannedRead& read : batches[0].reads) runs.push_back(read.samples);
    EXPECT_THAT(runs, testing::ElementsAre(11, 11, 11, 11, 11, 9));  // each above 0.94 MiB; no seventh with four
}

TEST(BatchPlanner, WhatLiesBetweenNeighboursIsReadWithThemWhereItIsLittle) {
    std::uint64_t gap = 15;
    const RecordDataset dataset = shards({100, 100, 100, 100}, 4, 8, [&] { return ++gap; });
    const auto batches =
        plan_all(dataset, sequential(dataset, 4), {.alignment = kBuffered, .slots = 1, .gap_bytes = 17});
    ASSERT_EQ(batches[0].reads.size(), 2U);
    EXPECT_EQ(batches[0].reads[0].samples, 3U);
    EXPECT_EQ(batches[0].reads[0].extent.length_bytes, 100U + 16U + 100U + 17U + 100U);
    EXPECT_EQ(batches[0].samples[1].offset_bytes, 116U);
    EXPECT_EQ(batches[0].samples[2].offset_bytes, 233U);
    EXPECT_EQ(batches[0].samples[3].offset_bytes, 384U);  // a request of its own
    EXPECT_EQ(batches[0].payload_bytes, 400U);
}

TEST(BatchPlanner, ARunGoesOnAcrossThePiecesInWhichItIsLocated) {
    const RecordDataset dataset = shards(std::vector<std::uint64_t>(5000, 7), 5000, 0);
    const Order order = sequential(dataset, 5000);
    const auto batches = plan_all(dataset, order, {.alignment = kBuffered, .slots = 1});
    ASSERT_EQ(batches[0].reads.size(), 1U);
    EXPECT_EQ(batches[0].reads[0].samples, 5000U);
    EXPECT_EQ(batches[0].samples[4999].offset_bytes, 4999U * 7U);
}

TEST(BatchPlanner, RecordsWithoutAByteAreDeliveredToo) {
    const RecordDataset dataset = shards({0, 0, 0}, 3, 8);
    const auto batches = plan_all(dataset, sequential(dataset, 3), {.slots = 1});
    std::uint32_t samples = 0;
    for (const PlannedRead& read : batches[0].reads) samples += read.samples;
    EXPECT_EQ(samples, 3U);
}

TEST(BatchPlanner, ARecordThatIsLongEnoughIsReadAlone) {
    const RecordDataset dataset = shards({500, 500}, 2, 0);
    const auto batches = plan_all(dataset, sequential(dataset, 2), {.slots = 1, .run_bytes = 100});
    EXPECT_EQ(batches[0].reads.size(), 2U);
}

TEST(BatchPlanner, RewindBeginsAgain) {
    const RecordDataset dataset = files({10, 10, 10});
    const Order order = sequential(dataset, 2);
    BatchPlanner planner(dataset, order, {.slots = 4}, 1024);
    PlannedBatch batch;
    EXPECT_TRUE(planner.next(batch));
    EXPECT_TRUE(planner.next(batch));
    EXPECT_FALSE(planner.next(batch));
    planner.rewind();
    EXPECT_TRUE(planner.next(batch));
    EXPECT_EQ(batch.index, 0U);
    EXPECT_EQ(batch.samples.size(), 2U);
}

TEST(BatchPlanner, ABatchLargerThanTheSlabIsRefused) {
    const RecordDataset dataset = files({1000});
    const Order order = sequential(dataset, 1);
    BatchPlanner planner(dataset, order, {.slots = 1}, 1000);  // 1001 are needed
    PlannedBatch batch;
    try {
        planner.next(batch);
        FAIL() << "planned";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::usage);
        EXPECT_THAT(error.what(), testing::HasSubstr("--batch-size"));
    }
}

TEST(BatchPlanner, ARankWithoutSamplesInTheLastStepGetsAnEmptyBatch) {
    const RecordDataset dataset = files({10, 10, 10});
    const Order order(dataset.size(), {.mode = OrderMode::sequential, .batch_size = 1, .rank = 1, .world = 2});
    const auto batches = plan_all(dataset, order, {.slots = 2});
    ASSERT_EQ(batches.size(), 2U);
    EXPECT_TRUE(batches[1].samples.empty());
    EXPECT_TRUE(batches[1].reads.empty());
    EXPECT_EQ(batches[1].bytes, 0U);
}

// Any dataset, any order: every sample once, every byte where the request will put it, nothing shared by two requests,
// no live batches that overlap, and a slab that is neither too small nor more than one batch too large.
TEST(BatchPlanner, HoldsItsPromisesForRandomDatasets) {
    std::mt19937_64 random(11);
    for (int round = 0; round < 300; ++round) {
        std::vector<std::uint64_t> lengths(1 + random() % 700);
        const std::uint64_t longest = 1 + random() % 9000;
        for (std::uint64_t& length : lengths) length = random() % 8 == 0 ? 0 : random() % longest;
        const bool packed = random() % 2 == 0;
        const RecordDataset dataset =
            packed ? shards(lengths, 1 + random() % lengths.size(), random() % 5000, [&] { return random() % 60; })
                   : files(lengths);
        const std::uint32_t world = 1 + static_cast<std::uint32_t>(random() % 3);
        const Order order(dataset.size(), {.mode = random() % 2 == 0 ? OrderMode::shuffle : OrderMode::sequential,
                                           .seed = random(),
                                           .batch_size = 1 + random() % (lengths.size() + 10),
                                           .rank = static_cast<std::uint32_t>(random() % world),
                                           .world = world});
        const Alignment alignments[] = {kBuffered, kDirect, kDirectPages};
        const PlanOptions options{.alignment = alignments[random() % 3],
                                  .slots = 1 + static_cast<unsigned>(random() % 5),
                                  .run_bytes = random() % 20000,
                                  .gap_bytes = random() % 80};
        const StagingNeed need = staging_need(dataset, std::span(&order, 1), options);
        BatchPlanner planner(dataset, order, options, need.slab_bytes);
        std::vector<PlannedBatch> batches;
        PlannedBatch reused;
        while (planner.next(reused)) batches.push_back(reused);
        ASSERT_EQ(batches.size(), order.batches());

        Slots slots(need, options);
        std::uint64_t longest_batch = 0;
        std::vector<int> seen(dataset.size(), 0);
        for (std::size_t b = 0; b < batches.size(); ++b) {
            const PlannedBatch& batch = batches[b];
            longest_batch = std::max(longest_batch, batch.bytes);
            ASSERT_LE(batch.bytes, need.slab_bytes);
            std::vector<SampleId> ids(order.batch_samples(b));
            order.batch(b, ids);
            ASSERT_EQ(ids.size(), batch.samples.size());
            std::uint64_t payload = 0;
            std::size_t sample = 0;
            std::uint64_t end_of_last = 0;
            for (const PlannedRead& read : batch.reads) {
                const std::uint64_t in_batch = read.batch_offset_bytes;
                const Footprint needed = footprint(options.alignment, read.extent);
                ASSERT_EQ(in_batch % start_alignment(options.alignment), 0U);
                ASSERT_GE(in_batch, end_of_last);
                end_of_last = in_batch + needed.capacity_bytes;
                ASSERT_EQ(read.first_sample, sample);
                std::uint64_t at = 0;  // in the run
                for (std::uint32_t i = 0; i < read.samples; ++i, ++sample) {
                    const Extent& record = dataset.record(ids[sample]);
                    const SampleView& view = batch.samples[sample];
                    ASSERT_EQ(view.id, ids[sample]);
                    ASSERT_EQ(record.shard, read.extent.shard);
                    const std::uint64_t in_run = record.offset_bytes - read.extent.offset_bytes;
                    ASSERT_GE(in_run, at);
                    ASSERT_LE(in_run - at, i == 0 ? 0 : options.gap_bytes);
                    ASSERT_EQ(view.length_bytes, record.length_bytes);
                    ASSERT_EQ(view.offset_bytes, in_batch + needed.payload_offset_bytes + in_run);
                    at = in_run + record.length_bytes;
                    payload += record.length_bytes;
                    ++seen[view.id];
                }
                ASSERT_EQ(at, read.extent.length_bytes);
                if (read.samples > 1) {
                    ASSERT_LE(at, options.run_bytes);
                }
            }
            ASSERT_EQ(sample, batch.samples.size());
            ASSERT_EQ(payload, batch.payload_bytes);
            ASSERT_EQ(end_of_last, batch.bytes);
            ASSERT_TRUE(slots.take(batch)) << "round " << round << ", batch " << b;
        }
        EXPECT_EQ(need.max_batch_bytes, longest_batch);
        EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), static_cast<std::ptrdiff_t>(order.samples()));
        EXPECT_EQ(std::count(seen.begin(), seen.end(), 0) + std::count(seen.begin(), seen.end(), 1),
                  static_cast<std::ptrdiff_t>(dataset.size()));
    }
}

TEST(StagingNeed, CoversEveryEpoch) {
    // The longest record meets other neighbours in each epoch.
    std::vector<std::uint64_t> lengths(200, 100);
    for (std::size_t i = 0; i < lengths.size(); i += 17) lengths[i] = 5000;
    const RecordDataset dataset = files(lengths);
    const PlanOptions options{.slots = 3};
    std::vector<Order> epochs;
    for (std::uint64_t epoch = 0; epoch < 6; ++epoch) {
        epochs.emplace_back(dataset.size(), OrderOptions{.epoch = epoch, .batch_size = 8});
    }
    const StagingNeed all = staging_need(dataset, epochs, options);
    std::uint64_t largest = 0;
    for (const Order& order : epochs) {
        const StagingNeed one = staging_need(dataset, std::span(&order, 1), options);
        largest = std::max(largest, one.max_batch_bytes);
        BatchPlanner planner(dataset, order, options, all.slab_bytes);
        Slots slots(all, options);
        for (PlannedBatch batch; planner.next(batch);) EXPECT_TRUE(slots.take(batch));
    }
    EXPECT_EQ(all.max_batch_bytes, largest);
}

// Too many samples to visit: every record is as long as the longest.
class EndlessDataset final : public Dataset {
public:
    explicit EndlessDataset(std::uint64_t samples) {
        info_.samples = samples;
        info_.shards = 1;
        info_.max_length_bytes = 761;
        info_.bytes = samples * 761;
    }
    const DatasetInfo& info() const override { return info_; }
    void locate(std::span<const SampleId> ids, std::span<Extent> extents) const override {
        for (std::size_t i = 0; i < ids.size(); ++i) extents[i] = {ids[i] * 761, 761, 0};
    }
    Source source(ShardId, std::string&) const override { return {}; }
    std::string path(ShardId) const override { return "endless"; }
    std::string key(SampleId id) const override { return std::to_string(id); }
    std::optional<std::int64_t> label(SampleId) const override { return std::nullopt; }

private:
    DatasetInfo info_;
};

TEST(StagingNeed, OfVeryManySamplesIsAnUpperBound) {
    const EndlessDataset dataset(1'000'000'000'000);
    for (const Alignment& alignment : {kBuffered, kDirect, kDirectPages}) {
        for (const OrderMode mode : {OrderMode::shuffle, OrderMode::sequential}) {
            const PlanOptions options{.alignment = alignment, .slots = 4};
            const Order order(dataset.size(), {.mode = mode, .batch_size = 1000});
            const StagingNeed need = staging_need(dataset, std::span(&order, 1), options);
            BatchPlanner planner(dataset, order, options, need.slab_bytes);
            Slots slots(need, options);
            PlannedBatch batch;
            for (int i = 0; i < 50 && planner.next(batch); ++i) {
                EXPECT_LE(batch.bytes, need.max_batch_bytes);
                EXPECT_TRUE(slots.take(batch));
            }
        }
    }
}

}  // namespace
}  // namespace feedline
