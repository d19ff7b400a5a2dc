// What a loader delivers: everything once, in the order's order, with the right bytes, whatever reads it.
#include "loaders/loader.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <deque>
#include <mutex>
#include <random>
#include <set>

#include "core/error.h"
#include "tests/loaders/loader_lab.h"
#include "tests/loaders/test_engine.h"

namespace feedline {
namespace {

using test::count_of;
using test::Delivery;
using test::drain;
using test::RecordDataset;
using test::shuffled;
using test::slab_for;
using test::some_lengths;
using test::test_engines;

// ---- every engine of this build, and the test engine, which completes out of order

class EveryEngine : public testing::TestWithParam<std::string> {
protected:
    LoaderOptions options_for(const Dataset& dataset) const {
        LoaderOptions options;
        if (GetParam() == "out-of-order") {
            options.engine.kind = EngineKind::uring;
            options.make_engine = test_engines();
        } else {
            options.engine = select_engine(parse_engine_kind(GetParam()), dataset);
        }
        return options;
    }
};

TEST_P(EveryEngine, DeliversEverySampleOnceInOrderWithItsBytes) {
    for (const bool packed : {false, true}) {
        const auto lengths = some_lengths(230, 5);
        const auto dataset = packed ? RecordDataset::of_shards(lengths, 60) : RecordDataset::of_files(lengths);
        for (const unsigned threads : {1U, 2U, 5U}) {
            for (const unsigned slots : {1U, 3U, 8U}) {
                for (const std::uint64_t batch_size : {1U, 33U, 500U}) {
                    for (const std::uint32_t world : {1U, 3U}) {
                        SCOPED_TRACE(testing::Message() << "packed " << packed << ", threads " << threads << ", slots "
                                                        << slots << ", batch " << batch_size << ", world " << world);
                        std::set<SampleId> seen;
                        std::uint64_t delivered = 0;
                        for (std::uint32_t rank = 0; rank < world; ++rank) {
                            const Order order(dataset->size(),
                                              {.mode = packed ? OrderMode::sequential : OrderMode::shuffle,
                                               .seed = 3,
                                               .batch_size = batch_size,
                                               .rank = rank,
                                               .world = world});
                            LoaderOptions options = options_for(*dataset);
                            options.threads = threads;
                            options.slots = slots;
                            options.queue_depth = 8;
                            Loader loader(dataset, order, slab_for(*dataset, order, options), nullptr, options);
                            const Delivery delivery = drain(loader, *dataset, order);
                            ASSERT_FALSE(HasFatalFailure());
                            EXPECT_EQ(delivery.batches.size(), order.batches());
                            for (const auto& batch : delivery.batches) seen.insert(batch.begin(), batch.end());
                            delivered += count_of(delivery.batches);
                            EXPECT_EQ(loader.stats().delivered_samples, count_of(delivery.batches));
                            EXPECT_EQ(loader.next(), nullptr);
                        }
                        EXPECT_EQ(delivered, dataset->size());
                        EXPECT_EQ(seen.size(), dataset->size());
                    }
                }
            }
        }
    }
}

std::vector<std::string> engine_names() {
    std::vector<std::string> names{"out-of-order"};
    for (const EngineKind kind : available_engines()) names.emplace_back(to_string(kind));
    return names;
}

INSTANTIATE_TEST_SUITE_P(Loader, EveryEngine, testing::ValuesIn(engine_names()), [](const auto& param) {
    std::string name = param.param;
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
});

// ---- properties

TEST(Loader, RandomShapesDeliverEverythingOnce) {
    std::mt19937_64 random(17);
    for (int round = 0; round < 60; ++round) {
        const auto lengths = some_lengths(1 + random() % 120, random());
        const auto dataset = random() % 2 == 0 ? RecordDataset::of_files(lengths)
                                               : RecordDataset::of_shards(lengths, 1 + random() % lengths.size());
        const std::uint32_t world = 1 + static_cast<std::uint32_t>(random() % 3);
        const Order order(dataset->size(), {.mode = random() % 2 == 0 ? OrderMode::shuffle : OrderMode::sequential,
                                            .seed = random(),
                                            .batch_size = 1 + random() % (lengths.size() + 5),
                                            .rank = static_cast<std::uint32_t>(random() % world),
                                            .world = world});
        LoaderOptions options;
        options.threads = 1 + static_cast<unsigned>(random() % 6);
        options.slots = 1 + static_cast<unsigned>(random() % 6);
        options.queue_depth = 1 + static_cast<unsigned>(random() % 40);
        if (random() % 3 != 0) {
            options.engine.kind = EngineKind::uring;
            options.make_engine = test_engines({}, random());
        }
        Loader loader(dataset, order, slab_for(*dataset, order, options), nullptr, options);
        // Holds as many batches as there are slots before it gives the oldest back.
        Delivery delivery;
        std::deque<std::uint64_t> held;
        while (const Batch* batch = loader.next()) {
            expect_batch(*batch, *dataset, order, delivery);
            ASSERT_FALSE(HasFatalFailure());
            held.push_back(batch->index);
            if (held.size() == options.slots) {
                loader.release(held.front());
                held.pop_front();
            }
        }
        EXPECT_EQ(count_of(delivery.batches), order.samples());
    }
}

TEST(Loader, TheOrderIsTheSameForEveryThreadCountAndEngine) {
    const auto dataset = RecordDataset::of_files(some_lengths(150, 9));
    const Order order(dataset->size(), shuffled(16));
    std::vector<std::vector<std::vector<SampleId>>> orders;
    for (const unsigned threads : {1U, 4U}) {
        for (const bool out_of_order : {false, true}) {
            LoaderOptions options;
            options.threads = threads;
            if (out_of_order) {
                options.engine.kind = EngineKind::uring;
                options.make_engine = test_engines();
            }
            Loader loader(dataset, order, slab_for(*dataset, order, options), nullptr, options);
            orders.push_back(drain(loader, *dataset, order).batches);
        }
    }
    for (const auto& other : orders) EXPECT_EQ(other, orders.front());
}

// ---- the queue

// Completes one request whenever it is waited for, the oldest, and notes how full its queue was.
class OneByOneEngine final : public Engine {
public:
    OneByOneEngine(const EngineOptions& options, std::vector<std::size_t>& seen)
        : depth_(options.queue_depth), seen_(seen) {}
    EngineKind kind() const override { return EngineKind::uring; }
    unsigned max_queue_depth() const override { return depth_; }
    unsigned in_flight() const override { return static_cast<unsigned>(requests_.size()); }
    std::size_t submit(std::span<const ReadRequest> requests) override {
        requests_.insert(requests_.end(), requests.begin(), requests.end());
        return requests.size();
    }
    std::size_t reap(std::size_t min, std::span<Completion> out, Nanoseconds) override {
        if (min == 0 || requests_.empty()) return 0;
        seen_.push_back(requests_.size());
        const Nanoseconds now = now_ns();
        out[0] = {.tag = requests_.front().tag,
                  .result = static_cast<std::int64_t>(requests_.front().length_bytes),
                  .grew = false,
                  .issued_ns = now,
                  .opened_ns = now,
                  .completed_ns = now};
        requests_.pop_front();
        return 1;
    }
    EngineCounters counters() const override { return {}; }

private:
    unsigned depth_;
    std::vector<std::size_t>& seen_;
    std::deque<ReadRequest> requests_;
};

TEST(Loader, KeepsTheQueueFullToTheEndOfTheEpoch) {
    const auto dataset = RecordDataset::of_files(std::vector<std::uint64_t>(103, 10));
    const Order order(dataset->size(), shuffled(7));
    std::vector<std::size_t> seen;
    LoaderOptions options;
    options.engine.kind = EngineKind::uring;
    options.queue_depth = 16;
    options.slots = 15;  // never short of a slot
    options.make_engine = [&](const EngineOptions& engine) { return std::make_unique<OneByOneEngine>(engine, seen); };
    Loader loader(dataset, order, slab_for(*dataset, order, options), nullptr, options);
    while (loader.next() != nullptr) {
    }
    ASSERT_TRUE(loader.finish(60 * kNanosecondsPerSecond));
    ASSERT_EQ(seen.size(), 103U);
    for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], std::min<std::size_t>(16, 103 - i)) << i;
}

// ---- counts

TEST(LoaderStats, AreExact) {
    const auto dataset = RecordDataset::of_shards(std::vector<std::uint64_t>(100, 1000), 100);
    const Order order(dataset->size(), {.mode = OrderMode::sequential, .batch_size = 25});
    LoaderOptions options;
    options.threads = 2;
    Loader loader(dataset, order, slab_for(*dataset, order, options), nullptr, options);
    drain(loader, *dataset, order);
    const LoaderStats stats = loader.stats();
    EXPECT_EQ(stats.planned_requests, 4U);  // a batch is one run
    EXPECT_EQ(stats.planned_bytes, 100'000U);
    EXPECT_EQ(stats.delivered_samples, 100U);
    EXPECT_EQ(stats.skipped_samples, 0U);
    EXPECT_TRUE(stats.failures.empty());
    EXPECT_EQ(stats.read_latency_ns.count(), 4U);
    EXPECT_EQ(stats.batch_latency_ns.count(), 4U);
    EXPECT_EQ(stats.engine.reads, 4U);
    EXPECT_EQ(stats.engine.opens, 0U);
}

TEST(Loader, FirstIssueIsNotAfterAnyTrace) {
    const auto dataset = RecordDataset::of_files(some_lengths(40, 4));
    const Order order(dataset->size(), shuffled(10));
    LoaderOptions options;
    options.threads = 2;
    options.slots = 4;
    Loader loader(dataset, order, slab_for(*dataset, order, options), nullptr, options);
    while (const Batch* batch = loader.next()) {
        EXPECT_GT(loader.first_issue_ns(), 0);
        EXPECT_LE(loader.first_issue_ns(), batch->first_issue_ns);
        loader.release(batch->index);
    }
}

// ---- how much is delivered

TEST(Loader, MaxBatchesEndsTheEpochEarly) {
    const auto dataset = RecordDataset::of_files(some_lengths(50, 4));
    const Order order(dataset->size(), shuffled(10));
    LoaderOptions options;
    options.max_batches = 3;
    Loader loader(dataset, order, slab_for(*dataset, order, options), nullptr, options);
    EXPECT_EQ(drain(loader, *dataset, order).batches.size(), 3U);
    EXPECT_EQ(loader.stats().planned_requests, 30U);
}

TEST(Loader, WrappingBeginsAgainAtBatchZero) {
    // 3 batches of unlike lengths, the last one short: the ring never comes back to the same place.
    const auto dataset = RecordDataset::of_files({100, 5000, 30, 7, 900});
    const Order order(dataset->size(), shuffled(2));
    for (const unsigned slots : {1U, 2U, 3U}) {
        LoaderOptions options;
        options.threads = 2;
        options.slots = slots;
        options.max_batches = 50;
        options.wrap = true;
        Loader loader(dataset, order, slab_for(*dataset, order, options), nullptr, options);
        std::uint64_t steps = 0;
        std::deque<const Batch*> held;
        while (const Batch* batch = loader.next()) {
            EXPECT_EQ(batch->index, steps);
            std::vector<SampleId> ids(order.batch_samples(steps % order.batches()));
            order.batch(steps % order.batches(), ids);
            ASSERT_EQ(batch->samples.size(), ids.size());
            for (std::size_t i = 0; i < ids.size(); ++i) {
                const SampleView& view = batch->samples[i];
                EXPECT_EQ(view.id, ids[i]);
                const std::string_view got(reinterpret_cast<const char*>(batch->data) + view.offset_bytes,
                                           view.length_bytes);
                EXPECT_TRUE(got == dataset->content(view.id));
            }
            loader.release(batch->index);
            ++steps;
        }
        EXPECT_EQ(steps, 50U);
    }
}

TEST(Loader, ABatchLargerThanTheDatasetIsTheDataset) {
    const auto dataset = RecordDataset::of_files({1, 2, 3});
    const Order order(dataset->size(), shuffled(1000));
    Loader loader(dataset, order, slab_for(*dataset, order, {}), nullptr, {});
    EXPECT_EQ(count_of(drain(loader, *dataset, order).batches), 3U);
}

// ---- the null-storage control

TEST(LoaderReplay, HandsOutTheFirstBatchAgainAndAgain) {
    const auto dataset = RecordDataset::of_files(some_lengths(23, 6));
    const Order order(dataset->size(), shuffled(10));
    std::vector<SampleId> first(10);
    order.batch(0, first);
    for (const unsigned slots : {1U, 4U}) {
        LoaderOptions options;
        options.engine.kind = EngineKind::null;
        options.threads = 2;
        options.slots = slots;
        options.max_batches = 200;
        options.wrap = true;
        options.replay = true;
        Loader loader(dataset, order, slab_for(*dataset, order, options), nullptr, options);
        std::uint64_t steps = 0;
        while (const Batch* batch = loader.next()) {
            ASSERT_EQ(batch->samples.size(), order.batch_samples(steps % 3));
            std::uint64_t payload = 0;
            for (std::size_t i = 0; i < batch->samples.size(); ++i) {
                const SampleView& view = batch->samples[i];
                EXPECT_EQ(view.id, first[i]);
                const std::string_view got(reinterpret_cast<const char*>(batch->data) + view.offset_bytes,
                                           view.length_bytes);
                ASSERT_TRUE(got == dataset->content(view.id));
                EXPECT_LE(view.offset_bytes + view.length_bytes, batch->bytes);
                payload += view.length_bytes;
            }
            EXPECT_EQ(batch->payload_bytes, payload);
            EXPECT_EQ(batch->trace.size(), batch->samples.size());
            loader.release(batch->index);
            ++steps;
        }
        EXPECT_EQ(steps, 200U);
    }
}

TEST(LoaderReplay, FailsAsReadingDoesWhenTheFirstBatchCannotBeRead) {
    const auto dataset = RecordDataset::of_files({10, 20});
    ASSERT_EQ(std::remove(dataset->path(1).c_str()), 0);
    const Order order(dataset->size(), shuffled(2));
    LoaderOptions options;
    options.engine.kind = EngineKind::null;
    options.replay = true;
    Loader loader(dataset, order, slab_for(*dataset, order, options), nullptr, options);
    EXPECT_THROW(loader.next(), Error);
}

TEST(LoaderReplay, IsForTheNullEngineAlone) {
    const auto dataset = RecordDataset::of_files({10, 20});
    const Order order(dataset->size(), shuffled(2));
    LoaderOptions options;
    options.replay = true;
    EXPECT_THROW(Loader(dataset, order, make_host_slab(1000), nullptr, options), Error);
}

// ---- set-up

TEST(Loader, RefusesWhatMakesNoSense) {
    const auto dataset = RecordDataset::of_files({10});
    const Order order(dataset->size(), shuffled(1));
    for (const int which : {0, 1, 2}) {
        LoaderOptions options;
        if (which == 0) options.threads = 0;
        if (which == 1) options.slots = 0;
        if (which == 2) options.queue_depth = 0;
        try {
            Loader loader(dataset, order, make_host_slab(1000), nullptr, options);
            ADD_FAILURE() << which;
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::usage);
        }
    }
}

TEST(Loader, AnEngineThatCannotBeMadeIsTheConstructorsError) {
    const auto dataset = RecordDataset::of_files({10});
    const Order order(dataset->size(), shuffled(1));
    std::atomic<int> made{0};
    LoaderOptions options;
    options.threads = 3;
    options.make_engine = [&](const EngineOptions& engine) -> std::unique_ptr<Engine> {
        if (++made == 2) throw Error(ErrorKind::unsupported, "no ring for you");
        return make_engine(engine);
    };
    const std::shared_ptr<Slab> slab = make_host_slab(1000);
    try {
        Loader loader(dataset, order, slab, nullptr, options);
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::unsupported);
        EXPECT_EQ(error.message(), "no ring for you");
    }
    EXPECT_EQ(slab.use_count(), 1);  // no thread is left
}

TEST(Loader, ASlabTooSmallForABatchIsSaid) {
    const auto dataset = RecordDataset::of_files({5000});
    const Order order(dataset->size(), shuffled(1));
    Loader loader(dataset, order, make_host_slab(1000), nullptr, {});
    try {
        loader.next();
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::usage);
        EXPECT_THAT(error.what(), testing::HasSubstr("--batch-size"));
    }
}

TEST(Loader, QueueDepthIsSharedOutAmongTheWorkers) {
    const auto dataset = RecordDataset::of_files({10});
    const Order order(dataset->size(), shuffled(1));
    for (const auto& [depth, threads] : {std::pair{10U, 4U}, std::pair{2U, 4U}, std::pair{32U, 1U}}) {
        std::mutex mutex;
        std::vector<unsigned> depths;
        LoaderOptions options;
        options.engine.kind = EngineKind::uring;
        options.threads = threads;
        options.queue_depth = depth;
        options.make_engine = [&](const EngineOptions& engine) {
            const std::lock_guard lock(mutex);
            depths.push_back(engine.queue_depth);
            return test_engines()(engine);
        };
        { Loader loader(dataset, order, make_host_slab(1000), nullptr, options); }
        unsigned sum = 0;
        for (const unsigned share : depths) sum += share;
        EXPECT_EQ(depths.size(), threads);
        EXPECT_EQ(sum, std::max(depth, threads));
        EXPECT_LE(*std::max_element(depths.begin(), depths.end()) - *std::min_element(depths.begin(), depths.end()),
                  1U);
    }
}

}  // namespace
}  // namespace feedline
