// Samples that only a reader of the format's own has: nothing lies in a file as it is.
#include <gmock/gmock.h>

#include <cerrno>
#include <cstring>

#include "core/error.h"
#include "loaders/dataset_slice.h"
#include "tests/loaders/loader_lab.h"

namespace feedline {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr SampleId kBad = 13;

// One shard that does not exist; neighbours follow each other in it, as they do in an inflated stream.
class LibraryDataset final : public Dataset {
public:
    LibraryDataset(std::uint64_t samples, bool bad) : bad_(bad) {
        for (SampleId id = 0; id < samples; ++id) {
            extents_.push_back({info_.bytes, id * 37 % 500, 0});
            info_.bytes += extents_.back().length_bytes;
        }
        info_.samples = samples;
        info_.shards = 1;
        info_.max_length_bytes = 500;
        info_.packed = true;
    }

    const DatasetInfo& info() const override { return info_; }
    void locate(std::span<const SampleId> ids, std::span<Extent> extents) const override {
        for (std::size_t i = 0; i < ids.size(); ++i) extents[i] = extents_.at(ids[i]);
    }
    Source source(ShardId, std::string&) const override { return {.dir_fd = -1, .name = "none"}; }
    std::string path(ShardId) const override { return "library"; }
    std::string key(SampleId id) const override { return std::to_string(id); }
    std::optional<std::int64_t> label(SampleId) const override { return std::nullopt; }
    bool has_extents() const override { return false; }
    std::unique_ptr<NativeReader> native_reader() const override { return std::make_unique<Reader>(*this); }

    std::string content(SampleId id) const {
        return test::pattern(extents_[id].length_bytes, static_cast<unsigned>(id) + 1);
    }

private:
    class Reader final : public NativeReader {
    public:
        explicit Reader(const LibraryDataset& dataset) : dataset_(dataset) {}
        std::int64_t read(SampleId id, const Extent& extent, std::span<std::byte> destination) override {
            if (dataset_.bad_ && id == kBad) return -EBADMSG;
            const std::string content = dataset_.content(id);
            EXPECT_EQ(extent.offset_bytes, dataset_.extents_[id].offset_bytes);
            EXPECT_EQ(destination.size(), content.size());
            std::memcpy(destination.data(), content.data(), content.size());
            return static_cast<std::int64_t>(content.size());
        }
        std::string problem() const override { return "chunk 4 does not inflate"; }

    private:
        const LibraryDataset& dataset_;
    };

    bool bad_;
    std::vector<Extent> extents_;
    DatasetInfo info_;
};

LoaderOptions options_for(const Dataset& dataset, EngineKind wanted) {
    LoaderOptions options;
    options.engine = select_engine(wanted, dataset);
    options.threads = 2;
    options.slots = 3;
    return options;
}

// Delivered samples whose bytes are right.
std::uint64_t drain(Loader& loader, const LibraryDataset& dataset) {
    std::uint64_t right = 0;
    while (const Batch* batch = loader.next()) {
        for (const SampleView& view : batch->samples) {
            if (view.status != SampleStatus::ok) continue;
            const std::string_view got(reinterpret_cast<const char*>(batch->data) + view.offset_bytes,
                                       view.length_bytes);
            EXPECT_TRUE(got == dataset.content(view.id)) << view.id;
            ++right;
        }
        loader.release(batch->index);
    }
    return right;
}

TEST(LoaderNative, WhateverEngineIsWantedEverySampleIsARequestOfItsOwn) {
    const auto dataset = std::make_shared<LibraryDataset>(200, false);
    for (const EngineKind wanted : {EngineKind::native, EngineKind::pread, EngineKind::uring_direct}) {
        const LoaderOptions options = options_for(*dataset, wanted);
        EXPECT_EQ(options.engine.kind, EngineKind::native);
        EXPECT_EQ(options.engine.fallback.empty(), wanted == EngineKind::native);
        const Order order(dataset->size(), {.mode = OrderMode::sequential, .batch_size = 32});
        Loader loader(dataset, order, test::slab_for(*dataset, order, options), nullptr, options);
        EXPECT_EQ(drain(loader, *dataset), 200U);
        EXPECT_EQ(loader.stats().planned_requests, 200U);
    }
}

TEST(LoaderNative, CorruptDataIsCalledSoInTheReadersWords) {
    const auto dataset = std::make_shared<LibraryDataset>(40, true);
    LoaderOptions options = options_for(*dataset, EngineKind::native);
    const Order order(dataset->size(), test::shuffled(6));
    try {
        Loader loader(dataset, order, test::slab_for(*dataset, order, options), nullptr, options);
        drain(loader, *dataset);
        FAIL() << "delivered everything";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::corrupt);
        EXPECT_THAT(error.what(), HasSubstr("chunk 4 does not inflate: library"));
        // It would be of no file.
        EXPECT_THAT(error.what(), Not(HasSubstr("offset")));
    }
    options.on_error = OnError::skip;
    Loader loader(dataset, order, test::slab_for(*dataset, order, options), nullptr, options);
    EXPECT_EQ(drain(loader, *dataset), 39U);
    const LoaderStats stats = loader.stats();
    ASSERT_EQ(stats.failures.size(), 1U);
    EXPECT_EQ(stats.failures[0].kind, "corrupt");
}

TEST(LoaderNative, TheBatchThatIsReplayedIsReadByIt) {
    const auto dataset = std::make_shared<LibraryDataset>(40, false);
    LoaderOptions options = options_for(*dataset, EngineKind::null);
    EXPECT_TRUE(options.engine.one_by_one);
    options.replay = true;
    options.wrap = true;
    options.max_batches = 30;
    const Order order(dataset->size(), test::shuffled(10));
    Loader loader(dataset, order, test::slab_for(*dataset, order, options), nullptr, options);
    EXPECT_EQ(drain(loader, *dataset), 300U);
}

TEST(LoaderNative, ASliceAsksForItsSamplesByTheNumbersThatTheyHave) {
    const auto whole = std::make_shared<LibraryDataset>(60, false);
    const std::vector<SampleId> ids = {41, 7, 13, 58, 0, 22};
    const auto slice = std::make_shared<DatasetSlice>(whole, ids);
    const LoaderOptions options = options_for(*slice, EngineKind::pread);
    EXPECT_EQ(options.engine.kind, EngineKind::native);
    const Order order(slice->size(), {.mode = OrderMode::sequential, .batch_size = 4});
    Loader loader(slice, order, test::slab_for(*slice, order, options), nullptr, options);
    std::uint64_t delivered = 0;
    while (const Batch* batch = loader.next()) {
        for (const SampleView& view : batch->samples) {
            const std::string_view got(reinterpret_cast<const char*>(batch->data) + view.offset_bytes,
                                       view.length_bytes);
            EXPECT_TRUE(got == whole->content(ids[view.id])) << view.id;
            ++delivered;
        }
        loader.release(batch->index);
    }
    EXPECT_EQ(delivered, ids.size());
}

}  // namespace
}  // namespace feedline
