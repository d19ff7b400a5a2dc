// What must hold for every format with every engine: it is recognised, every sample is delivered once with its bytes,
// and what is broken is found, named and, if so wanted, skipped.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "core/error.h"
#include "loaders/dataset.h"
#include "loaders/decode/record_decoder.h"
#include "loaders/loader.h"
#include "tests/loaders/formats/dataset_makers.h"
#include "tests/testutil/temp_dir.h"

namespace feedline {
namespace {

namespace fs = std::filesystem;
using test::FormatMaker;

// 0, 1, around a sector and a page, and large; each payload is different.
std::vector<std::string> some_payloads(std::size_t count) {
    constexpr std::array<std::size_t, 10> kSizes = {0, 1, 511, 512, 513, 4095, 4096, 4097, 70'000, 33};
    std::vector<std::string> payloads;
    for (std::size_t i = 0; i < count; ++i) {
        payloads.push_back(test::pattern(kSizes.at(i % kSizes.size()), static_cast<unsigned>(i)));
    }
    return payloads;
}

struct Delivered {
    std::vector<std::string> payloads;  // by id
    std::uint64_t samples = 0;
    LoaderStats stats;
};

Delivered load(const std::shared_ptr<const Dataset>& dataset, EngineKind engine, OrderMode mode, CheckMode check,
               OnError on_error = OnError::stop) {
    LoaderOptions options;
    options.engine = select_engine(engine, *dataset);
    options.threads = 2;
    options.slots = 3;
    options.on_error = on_error;
    const Order order(dataset->size(), {.mode = mode, .seed = 5, .batch_size = 7});
    const PlanOptions plan = plan_options(options.engine, options.slots);
    const std::shared_ptr<Slab> slab = make_host_slab(staging_need(*dataset, std::span(&order, 1), plan).slab_bytes);
    Loader loader(dataset, order, slab, record_decoder(dataset, check, nullptr), options);
    Delivered delivered;
    delivered.payloads.resize(dataset->size());
    while (const Batch* batch = loader.next()) {
        for (const SampleView& view : batch->samples) {
            if (view.status == SampleStatus::skipped) continue;
            const auto payload = dataset->payload(view.id, {batch->data + view.offset_bytes, view.length_bytes});
            delivered.payloads[view.id].assign(reinterpret_cast<const char*>(payload.data()), payload.size());
            ++delivered.samples;
        }
        loader.release(batch->index);
    }
    delivered.stats = loader.stats();
    return delivered;
}

class FormatConformance : public testing::TestWithParam<std::tuple<FormatMaker, EngineKind>> {
protected:
    const FormatMaker& maker() const { return std::get<0>(GetParam()); }
    EngineKind engine() const { return std::get<1>(GetParam()); }

    std::shared_ptr<const Dataset> write(const std::vector<std::string>& payloads, std::size_t a_shard) {
        maker().write(path_, payloads, a_shard);
        return open();
    }
    std::shared_ptr<const Dataset> open(bool skip_corrupt = false) const {
        return open_dataset(path_, "auto", {.skip_corrupt = skip_corrupt});
    }
    // Some file of the dataset that holds data, with its size.
    std::string a_file() const {
        std::vector<std::string> files;
        for (const auto& entry : fs::recursive_directory_iterator(path_)) {
            if (entry.is_regular_file() && entry.file_size() > 4096) files.push_back(entry.path());
        }
        std::sort(files.begin(), files.end());
        return files.at(files.size() / 2);
    }

    test::TempDir directory_;
    std::string path_ = directory_ / "dataset";
};

TEST_P(FormatConformance, IsRecognisedAndDeliversEverySampleOnceWithItsBytes) {
    const std::vector<std::string> payloads = some_payloads(133);
    const auto dataset = write(payloads, 50);
    EXPECT_EQ(dataset->info().format, maker().format);
    EXPECT_EQ(dataset->has_extents(), maker().extents);
    EXPECT_EQ(select_engine(engine(), *dataset).kind, engine());
    if (!maker().extents) {
        EXPECT_EQ(select_engine(EngineKind::pread, *dataset).kind, EngineKind::native);
    }
    ASSERT_EQ(dataset->size(), payloads.size());
    for (const OrderMode mode : {OrderMode::shuffle, OrderMode::sequential}) {
        const Delivered delivered = load(dataset, engine(), mode, CheckMode::all);
        EXPECT_EQ(delivered.samples, payloads.size());
        for (std::size_t id = 0; id < payloads.size(); ++id) {
            ASSERT_TRUE(delivered.payloads[id] == payloads[id]) << "sample " << id;
        }
    }
}

TEST_P(FormatConformance, TwoOpeningsAgree) {
    const auto first = write(some_payloads(20), 7);
    const auto second = open();
    for (SampleId id = 0; id < first->size(); ++id) {
        Extent a;
        Extent b;
        first->locate(std::span(&id, 1), std::span(&a, 1));
        second->locate(std::span(&id, 1), std::span(&b, 1));
        EXPECT_EQ(std::tie(a.shard, a.offset_bytes, a.length_bytes), std::tie(b.shard, b.offset_bytes, b.length_bytes));
        EXPECT_EQ(first->key(id), second->key(id));
    }
}

TEST_P(FormatConformance, OneSampleIsADataset) {
    const Delivered delivered = load(write({"only"}, 1), engine(), OrderMode::shuffle, CheckMode::off);
    EXPECT_EQ(delivered.payloads, std::vector<std::string>{"only"});
}

TEST_P(FormatConformance, AFileThatShrinksAfterIndexingIsNamed) {
    const auto dataset = write(some_payloads(40), 20);
    const std::string file = a_file();
    fs::resize_file(file, fs::file_size(file) / 2);
    try {
        load(dataset, engine(), OrderMode::shuffle, CheckMode::off);
        FAIL() << "nothing was thrown";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::changed) << error.what();
        EXPECT_EQ(error.path(), file);
    }
    const Delivered delivered = load(dataset, engine(), OrderMode::shuffle, CheckMode::off, OnError::skip);
    EXPECT_LT(delivered.samples, 40U);
    EXPECT_EQ(delivered.samples + delivered.stats.skipped_samples, 40U);
}

TEST_P(FormatConformance, AFileThatVanishesAfterIndexingIsNamed) {
    const auto dataset = write(some_payloads(40), 20);
    const std::string file = a_file();
    fs::remove(file);
    try {
        load(dataset, engine(), OrderMode::shuffle, CheckMode::off);
        FAIL() << "nothing was thrown";
    } catch (const Error& error) {
        EXPECT_EQ(error.path(), file);
        EXPECT_EQ(error.error_number(), ENOENT) << error.what();
    }
}

using FormatWithChecksums = FormatConformance;

TEST_P(FormatWithChecksums, AFlippedBitIsFound) {
    const auto dataset = write(some_payloads(40), 20);
    const std::string file = a_file();
    {
        std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
        const auto middle = static_cast<std::streamoff>(fs::file_size(file) / 2);
        bytes.seekg(middle);
        const auto byte = static_cast<char>(bytes.get() ^ 4);
        bytes.seekp(middle);
        bytes.put(byte);
    }
    EXPECT_EQ(load(dataset, engine(), OrderMode::shuffle, CheckMode::off).samples, 40U);
    try {
        load(dataset, engine(), OrderMode::shuffle, CheckMode::all);
        FAIL() << "nothing was thrown";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::corrupt);
        EXPECT_EQ(error.path(), file);
        EXPECT_TRUE(error.offset_bytes().has_value());
    }
    const Delivered delivered = load(dataset, engine(), OrderMode::shuffle, CheckMode::all, OnError::skip);
    EXPECT_EQ(delivered.samples, 39U);
    ASSERT_EQ(delivered.stats.failures.size(), 1U);
    EXPECT_EQ(delivered.stats.failures[0].kind, "corrupt");
}

std::string name_of(const testing::TestParamInfo<std::tuple<FormatMaker, EngineKind>>& info) {
    const FormatMaker& maker = std::get<0>(info.param);
    std::string name = maker.format + maker.variant + "_" + std::string(to_string(std::get<1>(info.param)));
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

// Every format with every engine that reads it.
std::vector<std::tuple<FormatMaker, EngineKind>> combinations(bool with_checksums) {
    std::vector<std::tuple<FormatMaker, EngineKind>> all;
    for (const FormatMaker& maker : test::format_makers()) {
        if (with_checksums && !maker.checksums) continue;
        if (maker.extents) {
            for (const EngineKind engine : available_engines()) all.emplace_back(maker, engine);
        }
        if (maker.native) all.emplace_back(maker, EngineKind::native);
    }
    return all;
}

INSTANTIATE_TEST_SUITE_P(Formats, FormatWithChecksums, testing::ValuesIn(combinations(true)), name_of);
INSTANTIATE_TEST_SUITE_P(Formats, FormatConformance, testing::ValuesIn(combinations(false)), name_of);

}  // namespace
}  // namespace feedline
