// What goes wrong: files that change, reads that fail or hang, payloads that do not decode, and stopping.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <future>
#include <latch>
#include <thread>

#include "core/error.h"
#include "loaders/engine/select.h"
#include "tests/loaders/loader_lab.h"
#include "tests/loaders/test_engine.h"

namespace feedline {
namespace {

using test::Delivery;
using test::drain;
using test::RecordDataset;
using test::shuffled;
using test::slab_for;
using test::test_engines;
using testing::HasSubstr;

constexpr SampleId kBad = 7;

struct Fault {
    std::string name;  // as the failures are counted
    ErrorKind kind;
    int error_number;
    std::function<void(const RecordDataset&)> before;
};

void resize(const RecordDataset& dataset, std::int64_t by) {
    const std::string path = dataset.path(kBad);
    std::filesystem::resize_file(
        path, static_cast<std::uintmax_t>(static_cast<std::int64_t>(std::filesystem::file_size(path)) + by));
}

std::vector<Fault> faults() {
    return {
        {"vanished", ErrorKind::changed, ENOENT, [](const RecordDataset& d) { std::filesystem::remove(d.path(kBad)); }},
        {"shrank", ErrorKind::changed, 0, [](const RecordDataset& d) { resize(d, -1); }},
        {"grew", ErrorKind::changed, 0, [](const RecordDataset& d) { resize(d, 1); }},
        // A directory in the place of the file: reading it is refused for root, too.
        {"no file", ErrorKind::changed, 0,
         [](const RecordDataset& d) {
             std::filesystem::remove(d.path(kBad));
             std::filesystem::create_directory(d.path(kBad));
         }},
    };
}

class LoaderFault : public testing::TestWithParam<std::tuple<Fault, bool>> {
protected:
    const Fault& fault() const { return std::get<0>(GetParam()); }
    LoaderOptions options() const {
        LoaderOptions options;
        options.threads = 2;
        options.slots = 3;
        if (std::get<1>(GetParam())) {
            options.engine.kind = EngineKind::uring;
            options.make_engine = test_engines();
        }
        return options;
    }
};

TEST_P(LoaderFault, StopsWithTheFilesName) {
    const auto dataset = RecordDataset::of_files(std::vector<std::uint64_t>(40, 900));
    fault().before(*dataset);
    const Order order(dataset->size(), shuffled(6));
    Loader loader(dataset, order, slab_for(*dataset, order, options()), nullptr, options());
    try {
        drain(loader, *dataset, order);
        FAIL() << "delivered everything";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), fault().kind) << error.what();
        EXPECT_EQ(error.path(), dataset->path(kBad));
        EXPECT_EQ(error.offset_bytes(), 0U);
        EXPECT_EQ(error.error_number(), fault().error_number) << error.what();
        EXPECT_THAT(error.what(), testing::Not(HasSubstr("\n")));
    }
    EXPECT_THROW(loader.next(), Error);  // and again, not the end of the epoch
}

TEST_P(LoaderFault, SkipsCountsAndGoesOn) {
    const auto dataset = RecordDataset::of_files(std::vector<std::uint64_t>(40, 900));
    fault().before(*dataset);
    const Order order(dataset->size(), shuffled(6));
    LoaderOptions skipping = options();
    skipping.on_error = OnError::skip;
    Loader loader(dataset, order, slab_for(*dataset, order, skipping), nullptr, skipping);
    const Delivery delivery = drain(loader, *dataset, order);
    EXPECT_THAT(delivery.skipped, testing::ElementsAre(kBad));
    const LoaderStats stats = loader.stats();
    EXPECT_EQ(stats.delivered_samples, 39U);
    EXPECT_EQ(stats.skipped_samples, 1U);
    ASSERT_EQ(stats.failures.size(), 1U);
    EXPECT_EQ(stats.failures[0].kind, fault().name);
    EXPECT_EQ(stats.failures[0].count, 1U);
    EXPECT_EQ(stats.failures[0].example, dataset->path(kBad));
}

INSTANTIATE_TEST_SUITE_P(All, LoaderFault, testing::Combine(testing::ValuesIn(faults()), testing::Bool()),
                         [](const auto& param) {
                             std::string name = std::get<0>(param.param).name;
                             std::erase_if(name, [](char c) { return std::isalnum(c) == 0; });
                             return name + (std::get<1>(param.param) ? "_out_of_order" : "_pread");
                         });

TEST(LoaderFaults, WhatIsNoFileAnyMoreIsCalledSoByEveryEngine) {
    for (const EngineKind kind : available_engines()) {
        for (const bool pipe : {false, true}) {
            const auto dataset = RecordDataset::of_files(std::vector<std::uint64_t>(10, 900));
            LoaderOptions options;
            options.engine = select_engine(kind, *dataset);
            std::filesystem::remove(dataset->path(kBad));
            if (pipe) {
                ASSERT_EQ(::mkfifo(dataset->path(kBad).c_str(), 0600), 0);
            } else {
                std::filesystem::create_directory(dataset->path(kBad));
            }
            const Order order(dataset->size(), shuffled(5));
            Loader loader(dataset, order, slab_for(*dataset, order, options), nullptr, options);
            try {
                drain(loader, *dataset, order);
                ADD_FAILURE() << "delivered everything";
            } catch (const Error& error) {
                EXPECT_EQ(error.kind(), ErrorKind::changed) << error.what();
                EXPECT_THAT(error.what(), HasSubstr(pipe ? "replaced by a pipe" : "replaced by a directory"))
                    << to_string(kind);
            }
        }
    }
}

TEST(LoaderFaults, AnEmptyFileThatVanishesIsSkippedToo) {
    const auto dataset = RecordDataset::of_files({0});
    std::filesystem::remove(dataset->path(0));
    const Order order(dataset->size(), shuffled(1));
    LoaderOptions options;
    options.on_error = OnError::skip;
    Loader loader(dataset, order, slab_for(*dataset, order, options), nullptr, options);
    EXPECT_THAT(drain(loader, *dataset, order).skipped, testing::ElementsAre(0));
}

// ---- the machine's own limits are no fault of a sample

TEST(LoaderFaults, AShortageStopsWithItsOwnAdviceWhateverTheEngine) {
    // Every open fails as it does for a process that has used up its descriptors, or the machine's.
    class NoMore final : public FaultHook {
    public:
        explicit NoMore(int error_number) : error_number_(error_number) {}
        std::int64_t on_open(std::uint64_t, std::int64_t) override { return -error_number_; }
        std::uint64_t on_read_length(std::uint64_t, std::uint64_t length) override { return length; }
        std::int64_t on_read(std::uint64_t, std::int64_t result) override { return result; }
        bool on_submit() override { return true; }

    private:
        int error_number_;
    };
    const auto dataset = RecordDataset::of_files(std::vector<std::uint64_t>(4, 900));
    const Order order(dataset->size(), shuffled(2));
    for (const EngineKind kind : available_engines()) {
        for (const int error_number : {EMFILE, ENFILE, ENOMEM}) {
            NoMore hook(error_number);
            LoaderOptions options;
            options.engine = select_engine(kind, *dataset);
            options.on_error = OnError::skip;
            options.faults = &hook;
            Loader loader(dataset, order, slab_for(*dataset, order, options), nullptr, options);
            try {
                drain(loader, *dataset, order);
                FAIL() << to_string(kind) << " skipped what was no fault of the samples";
            } catch (const Error& error) {
                EXPECT_EQ(error.error_number(), error_number) << error.what();
                const std::string advice(advice_about(error_number));
                EXPECT_THAT(error.what(), HasSubstr(advice.substr(1))) << to_string(kind);
                EXPECT_THAT(error.what(), testing::Not(HasSubstr("disk")));
            }
        }
    }
}

// ---- runs of neighbours that fail as one request

// What lies between the records of a run.
class LoaderRuns : public testing::TestWithParam<std::uint64_t> {
protected:
    std::shared_ptr<RecordDataset> dataset_ =
        RecordDataset::of_shards(std::vector<std::uint64_t>(20, 100), 20, GetParam());
};

TEST_P(LoaderRuns, OneBadRecordDoesNotCostItsNeighbours) {
    const Order order(dataset_->size(), {.mode = OrderMode::sequential, .batch_size = 10});
    // A bad sector under record 7: whoever touches it gets EIO.
    class BadSector final : public FaultHook {
    public:
        std::int64_t on_open(std::uint64_t, std::int64_t result) override { return result; }
        std::uint64_t on_read_length(std::uint64_t, std::uint64_t length) override {
            // The eighth single read of the fallback is record 7's.
            if (length == 100) ++single_reads;
            return length;
        }
        std::int64_t on_read(std::uint64_t, std::int64_t result) override {
            if (result >= 1000 && runs++ == 0) return -EIO;
            if (result == 100 && single_reads == 8) return -EIO;
            return result;
        }
        bool on_submit() override { return true; }
        int runs = 0;
        int single_reads = 0;
    } hook;
    LoaderOptions options;
    options.on_error = OnError::skip;
    options.faults = &hook;
    Loader loader(dataset_, order, slab_for(*dataset_, order, options), nullptr, options);
    const Delivery delivery = drain(loader, *dataset_, order);
    EXPECT_THAT(delivery.skipped, testing::ElementsAre(kBad));
    EXPECT_EQ(loader.stats().engine.reads, 2U + 10U);
    EXPECT_EQ(hook.single_reads, 10);
}

TEST_P(LoaderRuns, AShardCutOffLosesOnlyWhatLiesBehindItsEnd) {
    std::filesystem::resize_file(dataset_->path(0), dataset_->record(17).offset_bytes + 50);
    const Order order(dataset_->size(), {.mode = OrderMode::sequential, .batch_size = 20});
    LoaderOptions options;
    options.on_error = OnError::skip;
    Loader loader(dataset_, order, slab_for(*dataset_, order, options), nullptr, options);
    EXPECT_THAT(drain(loader, *dataset_, order).skipped, testing::ElementsAre(17, 18, 19));
    ASSERT_EQ(loader.stats().failures.size(), 1U);
    EXPECT_EQ(loader.stats().failures[0].kind, "shrank");
    EXPECT_EQ(loader.stats().failures[0].count, 3U);
}

INSTANTIATE_TEST_SUITE_P(Gaps, LoaderRuns, testing::Values(0U, 7U));

// ---- decoding

class PickyDecoder final : public Decoder {
public:
    std::string decode(SampleId id, std::span<const std::byte> payload) override {
        ++calls;
        bytes += payload.size();
        return id == kBad ? "not to my taste" : "";
    }
    std::atomic<std::uint64_t> calls{0};
    std::atomic<std::uint64_t> bytes{0};
};

TEST(LoaderDecoding, SeesEveryPayloadOnceAndItsTimeIsTraced) {
    for (const bool out_of_order : {false, true}) {
        const auto dataset = RecordDataset::of_files(std::vector<std::uint64_t>(50, 300));
        const Order order(dataset->size(), shuffled(8));
        const auto decoder = std::make_shared<PickyDecoder>();
        LoaderOptions options;
        options.threads = 2;
        options.queue_depth = 5;
        options.on_error = OnError::skip;
        if (out_of_order) {
            options.engine.kind = EngineKind::uring;
            options.make_engine = test_engines();
        }
        Loader loader(dataset, order, slab_for(*dataset, order, options), decoder, options);
        const Delivery delivery = drain(loader, *dataset, order);
        EXPECT_THAT(delivery.skipped, testing::ElementsAre(kBad));
        EXPECT_EQ(decoder->calls, 50U);
        EXPECT_EQ(decoder->bytes, 50U * 300U);
        EXPECT_EQ(loader.stats().failures.at(0).kind, "corrupt");
    }
}

TEST(LoaderDecoding, ACorruptSampleStopsTheRunWithItsOffset) {
    const auto dataset = RecordDataset::of_shards(std::vector<std::uint64_t>(20, 100), 20);
    const Order order(dataset->size(), {.mode = OrderMode::sequential, .batch_size = 20});
    Loader loader(dataset, order, slab_for(*dataset, order, {}), std::make_shared<PickyDecoder>(), {});
    try {
        loader.next();
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::corrupt);
        EXPECT_EQ(error.path(), dataset->path(0));
        EXPECT_EQ(error.offset_bytes(), 700U);
        EXPECT_THAT(error.what(), HasSubstr("not to my taste"));
    }
}

class ThrowingDecoder final : public Decoder {
public:
    std::string decode(SampleId, std::span<const std::byte>) override { throw std::bad_alloc(); }
};

TEST(LoaderDecoding, AnExceptionInAWorkerReachesTheConsumer) {
    const auto dataset = RecordDataset::of_files({10});
    const Order order(dataset->size(), shuffled(1));
    Loader loader(dataset, order, slab_for(*dataset, order, {}), std::make_shared<ThrowingDecoder>(), {});
    try {
        loader.next();
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::io);
        EXPECT_THAT(error.what(), HasSubstr("out of memory: ")) << "in words, not as std::bad_alloc";
    }
}

// ---- hanging reads

// Holds up whoever reads until it is opened.
class Gate final : public FaultHook {
public:
    std::int64_t on_open(std::uint64_t, std::int64_t result) override { return result; }
    std::uint64_t on_read_length(std::uint64_t, std::uint64_t length) override { return length; }
    std::int64_t on_read(std::uint64_t, std::int64_t result) override {
        reached_ = true;
        reached_.notify_all();
        opened_.wait();
        return result;
    }
    bool on_submit() override { return true; }

    void wait_until_reached() { reached_.wait(false); }
    void open() { opened_.count_down(); }

private:
    std::atomic<bool> reached_{false};  // by one reader or by several
    std::latch opened_{1};
};

// The loader's threads may outlive it; the test does not outlive them.
void wait_for_last_user(const std::shared_ptr<Slab>& slab) {
    while (slab.use_count() > 1) std::this_thread::yield();
}

TEST(LoaderHang, AReadThatHangsInsideTheKernelBecomesATimeoutWithTheFilesName) {
    const auto dataset = RecordDataset::of_files({500});
    const Order order(dataset->size(), shuffled(1));
    Gate gate;
    LoaderOptions options;
    options.faults = &gate;
    options.io_timeout_ns = 20'000'000;
    const std::shared_ptr<Slab> slab = slab_for(*dataset, order, options);
    {
        Loader loader(dataset, order, slab, nullptr, options);
        try {
            loader.next();
            FAIL();
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::timeout);
            EXPECT_EQ(error.path(), dataset->path(0));
            EXPECT_THAT(error.what(), HasSubstr("20.0 ms"));
        }
        EXPECT_FALSE(loader.finish(0));
    }
    EXPECT_GT(slab.use_count(), 1);  // the stuck reader still holds what it may write to
    gate.open();
    wait_for_last_user(slab);
}

TEST(LoaderHang, ARequestThatAnAsynchronousEngineNeverCompletesBecomesATimeoutToo) {
    const auto dataset = RecordDataset::of_files(std::vector<std::uint64_t>(30, 500));
    const Order order(dataset->size(), shuffled(10));
    std::atomic<bool> held{true};
    const std::string bad = "record-" + std::to_string(kBad) + ".bin";
    LoaderOptions options;
    options.threads = 2;
    options.engine.kind = EngineKind::uring;
    options.io_timeout_ns = 20'000'000;
    options.make_engine = test_engines(
        [&held, bad](const ReadRequest& request, Completion&) { return !held || bad != request.source.name; });
    const std::shared_ptr<Slab> slab = slab_for(*dataset, order, options);
    {
        Loader loader(dataset, order, slab, nullptr, options);
        try {
            drain(loader, *dataset, order);
            FAIL();
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::timeout);
            EXPECT_EQ(error.path(), dataset->path(kBad));
        }
        held = false;
    }
    wait_for_last_user(slab);
}

TEST(LoaderHang, StopEndsNextThoughAReadHangs) {
    const auto dataset = RecordDataset::of_files(std::vector<std::uint64_t>(10, 500));
    const Order order(dataset->size(), shuffled(5));
    Gate gate;
    LoaderOptions options;
    options.faults = &gate;
    options.threads = 2;
    const std::shared_ptr<Slab> slab = slab_for(*dataset, order, options);
    {
        Loader loader(dataset, order, slab, nullptr, options);
        gate.wait_until_reached();
        auto next = std::async(std::launch::async, [&] { return loader.next(); });
        loader.stop();
        EXPECT_EQ(next.get(), nullptr);
        EXPECT_EQ(loader.next(), nullptr);
    }
    gate.open();
    wait_for_last_user(slab);
}

TEST(LoaderHang, WithoutATimeoutASlowReadIsWaitedFor) {
    const auto dataset = RecordDataset::of_files({500});
    const Order order(dataset->size(), shuffled(1));
    Gate gate;
    LoaderOptions options;
    options.faults = &gate;
    Loader loader(dataset, order, slab_for(*dataset, order, options), nullptr, options);
    gate.wait_until_reached();
    gate.open();
    EXPECT_EQ(drain(loader, *dataset, order).batches.size(), 1U);
}

// ---- stopping

TEST(LoaderStop, InTheMiddleEndsTheEpochAndIssuesNothingMore) {
    for (const bool out_of_order : {false, true}) {
        const auto dataset = RecordDataset::of_files(std::vector<std::uint64_t>(300, 200));
        const Order order(dataset->size(), shuffled(10));
        LoaderOptions options;
        options.threads = 3;
        options.slots = 2;
        if (out_of_order) {
            options.engine.kind = EngineKind::uring;
            options.make_engine = test_engines();
        }
        const std::shared_ptr<Slab> slab = slab_for(*dataset, order, options);
        Loader loader(dataset, order, slab, nullptr, options);
        const Batch* batch = loader.next();
        ASSERT_NE(batch, nullptr);
        loader.stop();
        loader.stop();
        EXPECT_EQ(loader.next(), nullptr);
        loader.release(batch->index);  // still allowed
        EXPECT_TRUE(loader.finish(60 * kNanosecondsPerSecond));
        // Two batches had a slot when it stopped, and at most one more was released.
        EXPECT_LE(loader.stats().planned_requests, 30U);
        EXPECT_EQ(loader.stats().delivered_samples, 10U);
    }
}

TEST(LoaderStop, ALoaderMayBeDroppedAtAnyMoment) {
    const auto dataset = RecordDataset::of_files(std::vector<std::uint64_t>(100, 200));
    const Order order(dataset->size(), shuffled(10));
    for (int take = 0; take < 8; ++take) {
        LoaderOptions options;
        options.threads = 2;
        options.slots = 4;
        const std::shared_ptr<Slab> slab = slab_for(*dataset, order, options);
        {
            Loader loader(dataset, order, slab, nullptr, options);
            for (int i = 0; i < take; ++i) {
                const Batch* batch = loader.next();
                ASSERT_NE(batch, nullptr);
                loader.release(batch->index);
            }
        }
        wait_for_last_user(slab);
    }
}

}  // namespace
}  // namespace feedline
