// The slots a loader fills and is given back: from when one is free, and who may say so.
#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "core/error.h"
#include "loaders/loader.h"
#include "tests/loaders/loader_lab.h"

namespace feedline {
namespace {

using test::count_of;
using test::Delivery;
using test::RecordDataset;
using test::shuffled;
using test::slab_for;
using test::some_lengths;

TEST(Loader, AnotherThreadMayRelease) {
    const auto dataset = RecordDataset::of_files(some_lengths(200, 2));
    const Order order(dataset->size(), shuffled(5));
    LoaderOptions options;
    options.threads = 2;
    options.slots = 2;
    Loader loader(dataset, order, slab_for(*dataset, order, options), nullptr, options);
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::uint64_t> copied;
    std::thread releaser([&] {
        for (std::uint64_t i = 0; i < order.batches(); ++i) {
            std::unique_lock lock(mutex);
            changed.wait(lock, [&] { return !copied.empty(); });
            const std::uint64_t index = copied.front();
            copied.pop_front();
            lock.unlock();
            loader.release(index);
        }
    });
    Delivery delivery;
    while (const Batch* batch = loader.next()) {
        expect_batch(*batch, *dataset, order, delivery);
        const std::lock_guard lock(mutex);
        copied.push_back(batch->index);
        changed.notify_one();
    }
    releaser.join();
    EXPECT_EQ(count_of(delivery.batches), dataset->size());
}

TEST(Loader, BatchesStayInPlaceUntilTheyAreReleased) {
    const auto dataset = RecordDataset::of_files(some_lengths(64, 8));
    const Order order(dataset->size(), shuffled(4));
    LoaderOptions options;
    options.threads = 3;
    options.slots = 4;
    Loader loader(dataset, order, slab_for(*dataset, order, options), nullptr, options);
    std::deque<const Batch*> held;
    std::uint64_t checked = 0;
    while (const Batch* batch = loader.next()) {
        held.push_back(batch);
        if (held.size() < options.slots) continue;
        // The oldest was delivered while the others were still being read.
        for (const SampleView& view : held.front()->samples) {
            const std::string_view got(reinterpret_cast<const char*>(held.front()->data) + view.offset_bytes,
                                       view.length_bytes);
            EXPECT_TRUE(got == dataset->content(view.id));
            ++checked;
        }
        loader.release(held.front()->index);
        held.pop_front();
    }
    EXPECT_EQ(checked, (order.batches() - options.slots + 1) * 4);
}

TEST(LoaderStats, SayHowLongWorkersWaitedForASlot) {
    const auto dataset = RecordDataset::of_files(std::vector<std::uint64_t>(10, 10));
    const Order order(dataset->size(), shuffled(5));
    LoaderOptions options;
    options.threads = 2;
    options.slots = 1;
    Loader loader(dataset, order, slab_for(*dataset, order, options), nullptr, options);
    const Batch* batch = loader.next();
    ASSERT_NE(batch, nullptr);
    while (loader.stats().slot_wait_ns == 0) std::this_thread::yield();  // until the second batch finds no slot
    loader.release(batch->index);
    EXPECT_NE(loader.next(), nullptr);
    EXPECT_TRUE(loader.finish(kNanosecondsPerSecond * 60));
    EXPECT_GT(loader.stats().slot_wait_ns, 0);
}

TEST(Loader, ASlotIsThereFromTheReleaseOfItsLastBatch) {
    const auto dataset = RecordDataset::of_files(some_lengths(60, 4));
    const Order order(dataset->size(), shuffled(5));
    LoaderOptions options;
    options.slots = 3;
    const Nanoseconds begin = now_ns();
    Loader loader(dataset, order, slab_for(*dataset, order, options), nullptr, options);
    const Nanoseconds constructed = now_ns();
    std::vector<std::pair<Nanoseconds, Nanoseconds>> released;  // before and after
    while (const Batch* batch = loader.next()) {
        const std::uint64_t index = batch->index;
        if (index < options.slots) {
            EXPECT_GE(batch->slot_ns, begin);
            EXPECT_LE(batch->slot_ns, constructed);
        } else {
            EXPECT_GE(batch->slot_ns, released[index - options.slots].first);
            EXPECT_LE(batch->slot_ns, released[index - options.slots].second);
        }
        const Nanoseconds before = now_ns();
        loader.release(index);
        released.emplace_back(before, now_ns());
    }
    EXPECT_EQ(released.size(), 12U);
}

TEST(Loader, ASlotReleasedAheadIsTakenFromThenOn) {
    const auto dataset = RecordDataset::of_files(some_lengths(60, 4));
    const Order order(dataset->size(), shuffled(5));
    for (const unsigned threads : {1U, 3U}) {
        for (const unsigned slots : {1U, 3U}) {
            LoaderOptions options;
            options.slots = slots;
            options.threads = threads;
            Loader loader(dataset, order, slab_for(*dataset, order, options), nullptr, options);
            std::vector<Nanoseconds> free_at_ns;
            Delivery delivery;
            while (const Batch* batch = loader.next()) {
                expect_batch(*batch, *dataset, order, delivery);
                const std::uint64_t index = batch->index;
                if (index >= slots) {
                    EXPECT_GE(batch->slot_ns, free_at_ns[index - slots]);
                    EXPECT_GE(batch->first_issue_ns, free_at_ns[index - slots]);
                }
                // Some are free at once, and some before the one in front of them.
                free_at_ns.push_back(now_ns() + static_cast<Nanoseconds>(index % 3) * 2'000'000);
                loader.release_at(index, free_at_ns.back());
            }
            EXPECT_EQ(delivery.batches.size(), 12U);
        }
    }
}

TEST(Loader, StopDoesNotWaitForSlotsReleasedAhead) {
    const auto dataset = RecordDataset::of_files(std::vector<std::uint64_t>(4, 10));
    const Order order(dataset->size(), shuffled(1));
    LoaderOptions options;
    options.slots = 1;
    Loader loader(dataset, order, slab_for(*dataset, order, options), nullptr, options);
    ASSERT_NE(loader.next(), nullptr);
    const Nanoseconds hour_ahead = now_ns() + 3600 * kNanosecondsPerSecond;
    loader.release_at(0, hour_ahead);
    EXPECT_EQ(loader.slot_since_ns(1), hour_ahead);
    EXPECT_THROW(loader.release_at(0, hour_ahead), Error);
    EXPECT_TRUE(loader.finish(60 * kNanosecondsPerSecond));
    EXPECT_EQ(loader.stats().oversleep_ns, 0);
}

TEST(Loader, TellsSinceWhenABatchThatDidNotComeHasHadItsSlot) {
    const auto dataset = RecordDataset::of_files(std::vector<std::uint64_t>(4, 10));
    const Order order(dataset->size(), shuffled(1));
    LoaderOptions options;
    options.slots = 2;
    const Nanoseconds before = now_ns();
    Loader loader(dataset, order, slab_for(*dataset, order, options), nullptr, options);
    EXPECT_GE(loader.slot_since_ns(1).value(), before);
    EXPECT_EQ(loader.slot_since_ns(2), BatchSource::kNoSlotYet);
    ASSERT_NE(loader.next(), nullptr);
    const Nanoseconds released = now_ns();
    loader.release(0);
    EXPECT_GE(loader.slot_since_ns(2).value(), released);
    EXPECT_LE(loader.slot_since_ns(2).value(), now_ns());
    EXPECT_EQ(loader.slot_since_ns(3), BatchSource::kNoSlotYet);
    EXPECT_FALSE(loader.slot_since_ns(4)) << "the epoch has four batches";
}

TEST(Loader, ReleasingOutOfOrderIsRefused) {
    const auto dataset = RecordDataset::of_files({10, 10, 10});
    const Order order(dataset->size(), shuffled(1));
    Loader loader(dataset, order, slab_for(*dataset, order, {}), nullptr, {});
    EXPECT_THROW(loader.release(0), Error);  // not delivered yet
    ASSERT_NE(loader.next(), nullptr);
    ASSERT_NE(loader.next(), nullptr);
    EXPECT_THROW(loader.release(1), Error);
    loader.release(0);
    EXPECT_THROW(loader.release(0), Error);
}

}  // namespace
}  // namespace feedline
