#include "packers/generate/jpeg_content.h"

#include <gtest/gtest.h>
#include <turbojpeg.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/error.h"
#include "packers/generate/generate.h"
#include "tests/testutil/memory_directory.h"
#include "tests/testutil/temp_dir.h"

namespace feedline {
namespace {

std::vector<std::byte> file_of(JpegContent& content, std::uint64_t sample, std::uint64_t size_bytes) {
    std::vector<std::byte> file;
    content.start(sample, size_bytes);
    for (;;) {
        const std::span<const std::byte> piece = content.next_piece();
        if (piece.empty()) return file;
        file.insert(file.end(), piece.begin(), piece.end());
    }
}

struct Picture {
    int width = 0;
    int height = 0;
    std::string problem;
};

// Any warning of the decoder counts as a problem.
Picture decode(const std::vector<std::byte>& file) {
    const std::unique_ptr<void, int (*)(tjhandle)> decoder(tjInitDecompress(), tjDestroy);
    Picture picture;
    int subsampling = 0;
    int colorspace = 0;
    const auto* data = reinterpret_cast<const unsigned char*>(file.data());
    if (tjDecompressHeader3(decoder.get(), data, file.size(), &picture.width, &picture.height, &subsampling,
                            &colorspace) != 0) {
        picture.problem = tjGetErrorStr2(decoder.get());
        return picture;
    }
    std::vector<unsigned char> pixels(static_cast<std::size_t>(picture.width) *
                                      static_cast<std::size_t>(picture.height) * 3);
    if (tjDecompress2(decoder.get(), data, file.size(), pixels.data(), picture.width, 0, picture.height, TJPF_RGB,
                      TJFLAG_STOPONWARNING) != 0) {
        picture.problem = tjGetErrorStr2(decoder.get());
    }
    return picture;
}

// Bytes of comment segments before the tables.
std::size_t comment_bytes(const std::vector<std::byte>& file) {
    std::size_t total = 0;
    std::size_t at = 2;
    for (;;) {
        while (file[at + 1] == std::byte{0xFF}) ++at;
        const std::size_t length =
            2 + (std::to_integer<std::size_t>(file[at + 2]) << 8U) + std::to_integer<std::size_t>(file[at + 3]);
        if (file[at + 1] == std::byte{0xFE}) {
            total += length;
        } else if (file[at + 1] != std::byte{0xE0}) {
            return total;
        }
        at += length;
    }
}

TEST(JpegContent, EverySizeIsExactAndDecodesWithoutAWarning) {
    JpegContent content(7);
    // All sizes in a row, so that every length of the filling occurs: none, 1 to 3 bytes, one segment.
    for (std::uint64_t size = kSmallestJpegBytes; size < kSmallestJpegBytes + 1200; ++size) {
        const std::vector<std::byte> file = file_of(content, size, size);
        ASSERT_EQ(file.size(), size);
        ASSERT_EQ(decode(file).problem, "") << size;
    }
    for (const std::uint64_t size : {10'000U, 65'536U, 114'660U, 500'000U, 2'828'486U}) {
        const std::vector<std::byte> file = file_of(content, size, size);
        ASSERT_EQ(file.size(), size);
        ASSERT_EQ(decode(file).problem, "") << size;
    }
}

TEST(JpegContent, FillingOverSeveralSegmentsDecodes) {
    JpegContent content(7);
    const std::vector<std::byte> file = file_of(content, 0, kLargestJpegBytes);
    EXPECT_EQ(file.size(), kLargestJpegBytes);
    EXPECT_GT(comment_bytes(file), 65'537U);
    EXPECT_EQ(decode(file).problem, "");
}

TEST(JpegContent, APhotographsSizeHasAPhotographsPixels) {
    JpegContent content(1);
    for (std::uint64_t sample = 0; sample < 20; ++sample) {
        const std::vector<std::byte> file = file_of(content, sample, 110'000);
        const Picture picture = decode(file);
        ASSERT_EQ(picture.problem, "");
        const double bits_a_pixel = 8.0 * 110'000 / picture.width / picture.height;
        EXPECT_NEAR(bits_a_pixel, 4.75, 0.5);
        EXPECT_NEAR(static_cast<double>(picture.width) / picture.height, 4.0 / 3, 0.4);
        EXPECT_LT(comment_bytes(file), 110'000U * 5 / 100);
    }
}

TEST(JpegContent, SmallFilesAreMostlyPictureToo) {
    JpegContent content(1);
    for (std::uint64_t size = 4096; size < 40'000; size += 777) {
        EXPECT_LT(comment_bytes(file_of(content, size, size)), size * 15 / 100) << size;
    }
}

TEST(JpegContent, SampleAndSeedDecideAndNothingBefore) {
    JpegContent one(1);
    JpegContent other(1);
    file_of(other, 99, 50'000);
    EXPECT_EQ(file_of(one, 5, 20'000), file_of(other, 5, 20'000));
    EXPECT_NE(file_of(one, 5, 20'000), file_of(one, 6, 20'000));
    JpegContent another_seed(2);
    EXPECT_NE(file_of(one, 5, 20'000), file_of(another_seed, 5, 20'000));
}

TEST(GenerateJpeg, WritesFilesThatDecodeTheSameForAnyThreads) {
    const test::TempDir dir(test::memory_directory());
    GenerateOptions options;
    options.samples = 40;
    options.sample_size_bytes = 9000;
    options.sample_stddev_bytes = 6000;
    options.classes = 3;
    options.content = Content::jpeg;
    options.destination = dir / "a";
    options.threads = 1;
    const GenerateResult result = generate(options, {}, Interrupt());
    options.destination = dir / "b";
    options.threads = 4;
    generate(options, {}, Interrupt());
    std::uint64_t bytes = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(dir / "a")) {
        if (entry.is_directory()) continue;
        EXPECT_EQ(entry.path().extension(), ".JPEG");
        const std::string content = test::read_file(entry.path());
        bytes += content.size();
        EXPECT_EQ(content, test::read_file(dir / "b" + entry.path().string().substr((dir / "a").size())));
        const auto* data = reinterpret_cast<const std::byte*>(content.data());
        EXPECT_EQ(decode({data, data + content.size()}).problem, "");
    }
    EXPECT_EQ(bytes, result.bytes);
}

TEST(GenerateJpeg, SizesThatNoJpegHasAreRefused) {
    const test::TempDir dir(test::memory_directory());
    GenerateOptions options;
    options.destination = dir / "d";
    options.samples = 4;
    options.classes = 1;
    options.content = Content::jpeg;
    for (const std::uint64_t size : {std::uint64_t{100}, kLargestJpegBytes + 1}) {
        options.sample_size_bytes = size;
        try {
            generate(options, {}, Interrupt());
            FAIL();
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::usage);
        }
    }
    EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

// The sizes of a workload cannot be changed, so advice must not name the options that would.
TEST(JpegContent, AWorkloadOfOtherSizesIsToldWhatToDo) {
    for (const char* workload : {"unet3d-h100", "dlrm-b200"}) {
        const test::TempDir dir;
        GenerateOptions options = generate_options_for(find_preset(workload), 1e-6);
        options.destination = dir / "new";
        options.content = Content::jpeg;
        try {
            generate(options, {}, Interrupt{});
            FAIL() << workload;
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::usage);
            const std::string what = error.what();
            EXPECT_NE(what.find(workload), std::string::npos) << what;
            EXPECT_NE(what.find("Use --content random, or --samples and --sample-size in place of --workload."),
                      std::string::npos)
                << what;
        }
        EXPECT_FALSE(std::filesystem::exists(dir / "new"));
    }
}

}  // namespace
}  // namespace feedline
