// Damaged HDF5 files: an error, or an answer within the file; never a crash, a hang or memory without bound.
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <memory>
#include <span>

#include "core/error.h"
#include "loaders/hdf5/hdf5_format.h"
#include "tests/loaders/hdf5/hdf5_lab.h"
#include "tests/testutil/temp_dir.h"

namespace feedline {
namespace {

using test::Hdf5Writer;

struct Kind {
    std::string name;
    void (*write)(const std::string& path);
};

void write_plain(const std::string& path) {
    test::write_packed_hdf5(path, {"abc", "defg", ""});
}

void write_gzip(const std::string& path) {
    Hdf5Writer file(path);
    file.write("images", {5, 3}, "abcdefghijklmno", {.chunk = {2, 3}, .gzip = true});
    file.write_integers("labels", {1, 2, 3, 4, 5});
}

void write_checked(const std::string& path) {
    Hdf5Writer file(path, 0, H5F_LIBVER_LATEST);
    file.write("images", {5, 3}, "abcdefghijklmno", {.chunk = {2, 3}, .fletcher32 = true});
}

void write_sequences(const std::string& path) {
    Hdf5Writer file(path);
    file.write_variable("x", {"abc", "", "defgh"}, false);
}

// h5py's empty texts have a place in a heap, so the library looks into it for them too.
void write_empties(const std::string& path) {
    write_sequences(path);
    std::string bytes = test::read_file(path);
    const std::size_t heap = bytes.find("GCOL");
    std::string address;
    for (unsigned i = 0; i < 8; ++i) address += static_cast<char>(heap >> 8U * i);
    bytes.at(bytes.find(address) - 4) = 0;  // the length of the first element
    test::write_file(path, bytes);
}

class DamagedHdf5 : public testing::TestWithParam<Kind> {
protected:
    // What opening and reading it all ends in.
    static void take(const std::string& path, std::size_t file_bytes) {
        std::unique_ptr<Dataset> dataset;
        try {
            dataset = Hdf5Format().open(path, {});
        } catch (const Error& error) {
            EXPECT_NE(error.kind(), ErrorKind::internal) << error.what();
            return;
        }
        const auto reader = dataset->native_reader();
        for (SampleId id = 0; id < std::min<SampleId>(dataset->size(), 20); ++id) {
            Extent extent;
            dataset->locate(std::span(&id, 1), std::span(&extent, 1));
            if (dataset->has_extents()) {
                ASSERT_LE(extent.offset_bytes + extent.length_bytes, file_bytes);
            }
            if (extent.length_bytes > 1U << 20U) continue;
            std::vector<std::byte> record(extent.length_bytes);
            const std::int64_t got = reader->read(id, extent, record);
            ASSERT_LE(got, static_cast<std::int64_t>(record.size()));
            if (got < 0) {
                ASSERT_FALSE(reader->problem().empty());
            }
        }
    }

    test::TempDir directory_{"/dev/shm"};
    std::string path_ = directory_ / "broken.h5";
};

TEST_P(DamagedHdf5, CutAnywhereItIsAnError) {
    GetParam().write(path_);
    const std::string whole = test::read_file(path_);
    for (std::size_t size = 0; size < whole.size(); size += 1 + size / 64) {
        test::write_file(path_, whole.substr(0, size));
        try {
            Hdf5Format().open(path_, {});
            FAIL() << "opened with " << size << " bytes of " << whole.size();
        } catch (const Error& error) {
            EXPECT_TRUE(error.kind() == ErrorKind::corrupt || error.kind() == ErrorKind::usage) << error.what();
        }
    }
}

TEST_P(DamagedHdf5, ChangedAnywhereItIsHarmless) {
    GetParam().write(path_);
    const std::string whole = test::read_file(path_);
    for (std::size_t i = 0; i < whole.size(); ++i) {
        // Most of a small file are zeros that nothing looks at: a sample of those.
        if (whole[i] == 0 && i % 7 != 0) continue;
        std::string broken = whole;
        broken[i] = static_cast<char>(broken[i] ^ std::array{0x01, 0x80, 0xff}.at(i % 3));
        test::write_file(path_, broken);
        SCOPED_TRACE(i);
        take(path_, whole.size());
    }
}

INSTANTIATE_TEST_SUITE_P(Files, DamagedHdf5,
                         testing::Values(Kind{"packed", write_plain}, Kind{"gzip", write_gzip},
                                         Kind{"fletcher32", write_checked}, Kind{"sequences", write_sequences},
                                         Kind{"empties", write_empties}),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace feedline
