// Compressed streams, from their start and from their middle.
#include "loaders/shards/inflate.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <random>
#include <string>

#include "loaders/shards/byte_stream.h"
#include "tests/loaders/shards/deflate.h"
#include "tests/testutil/temp_dir.h"

namespace feedline {
namespace {

using test::gzipped;
using test::zlibbed;

// Neither as regular as a pattern nor as irregular as noise: words, so that data refer back.
std::string some_text(std::size_t bytes) {
    std::mt19937_64 random(7);
    std::string text;
    while (text.size() < bytes) {
        text += random() % 4 == 0 ? test::pattern(random() % 40, static_cast<unsigned>(random()))
                                  : "word" + std::to_string(random() % 300);
    }
    text.resize(bytes);
    return text;
}

class Inflating : public testing::Test {
protected:
    Fd write(const std::string& content) {
        test::write_file(path_, content);
        return Fd(open(path_.c_str(), O_RDONLY | O_CLOEXEC));
    }

    // Everything, in steps of `step` bytes.
    std::string inflate(const std::string& content, std::size_t step, AccessPoints* points = nullptr) {
        Inflater inflater(write(content));
        std::string all;
        std::string part(step, '\0');
        while (inflater.state() == Inflater::State::going) {
            all.append(part, 0, inflater.next(std::as_writable_bytes(std::span(part)), points));
        }
        state_ = inflater.state();
        return all;
    }

    test::TempDir directory_;
    std::string path_ = directory_ / "stream";
    Inflater::State state_ = Inflater::State::going;
};

TEST_F(Inflating, StreamsOfEveryKindComeBack) {
    for (const std::size_t size : {0UL, 1UL, 511UL, 512UL, 513UL, 4095UL, 4096UL, 4097UL, 300'000UL}) {
        const std::string text = some_text(size);
        for (const std::string& stream :
             {gzipped(text), gzipped(text, 0), zlibbed(text), gzipped(text) + gzipped(text) + gzipped(""),
              gzipped(text) + std::string(513, '\0')}) {
            const std::string all = inflate(stream, 1000);
            EXPECT_EQ(state_, Inflater::State::ended) << size;
            EXPECT_TRUE(all == text || all == text + text) << size;
        }
    }
}

TEST_F(Inflating, AnyPlaceCanBeReadInAnyOrder) {
    const std::string text = some_text(2'000'000);
    const std::string half = text.substr(0, text.size() / 2);
    const std::string rest = text.substr(text.size() / 2);
    for (const std::string& stream : {gzipped(text), gzipped(text, 0), zlibbed(text), gzipped(half) + gzipped(rest)}) {
        for (const std::uint64_t budget : {0UL, 100'000UL, 64UL << 20U}) {
            const auto points = std::make_shared<AccessPoints>(budget);
            ASSERT_TRUE(inflate(stream, 70'000, points.get()) == text);
            EXPECT_LE(points->window_bytes(), budget);
            if (budget > 1'000'000) {
                EXPECT_GE(points->size(), 5U);
            }
            const auto reader = make_inflate_stream(Fd(open(path_.c_str(), O_RDONLY | O_CLOEXEC)), points);
            std::mt19937_64 random(budget);
            std::string part(2000, '\0');
            for (int i = 0; i < 20; ++i) {
                const std::size_t offset = random() % (text.size() - part.size());
                ASSERT_EQ(reader->read(offset, std::as_writable_bytes(std::span(part))), 2000);
                ASSERT_TRUE(part == text.substr(offset, part.size())) << offset;
                // Where it stands, and a little further.
                ASSERT_EQ(reader->read(offset + 7, std::as_writable_bytes(std::span(part).first(500))), 500);
                ASSERT_TRUE(std::string_view(part).substr(0, 500) == std::string_view(text).substr(offset + 7, 500));
            }
            EXPECT_EQ(reader->read(text.size() - 10, std::as_writable_bytes(std::span(part))), 10);
            EXPECT_EQ(reader->read(text.size() + 10, std::as_writable_bytes(std::span(part))), 0);
        }
    }
}

TEST_F(Inflating, ACutStreamIsNeverWhole) {
    const std::string text = some_text(500);
    const std::string stream = gzipped(text) + gzipped(text);
    const std::size_t first = gzipped(text).size();
    for (std::size_t size = 0; size < stream.size(); ++size) {
        const std::string all = inflate(stream.substr(0, size), 300);
        EXPECT_EQ(state_, size == first ? Inflater::State::ended : Inflater::State::truncated) << size;
        EXPECT_TRUE(all == (text + text).substr(0, all.size())) << size;
    }
}

TEST_F(Inflating, AFlippedBitIsSeenOrChangesNothing) {
    const std::string text = some_text(300);
    const std::string stream = gzipped(text);
    for (std::size_t bit = 0; bit < stream.size() * 8; ++bit) {
        std::string broken = stream;
        broken[bit / 8] = static_cast<char>(broken[bit / 8] ^ (1 << (bit % 8)));
        const std::string all = inflate(broken, 300);
        if (state_ == Inflater::State::ended) {
            EXPECT_TRUE(all == text) << "bit " << bit;
        }
    }
}

TEST_F(Inflating, WhatFollowsAStreamMustBeOne) {
    inflate(gzipped("text") + "more", 100);
    EXPECT_EQ(state_, Inflater::State::corrupt);
    inflate(zlibbed("text") + std::string(3, '\0') + "x", 100);
    EXPECT_EQ(state_, Inflater::State::corrupt);
}

TEST_F(Inflating, DamageInTheMiddleIsThatOfTheReadThatMeetsIt) {
    const std::string text = some_text(2'000'000);
    // Stored blocks of 64 KiB at most: zeros over one's header contradict each other.
    std::string stream = gzipped(text, 0);
    const auto points = std::make_shared<AccessPoints>(64U << 20U);
    inflate(stream, 70'000, points.get());
    stream.replace(stream.size() / 2, 70'000, 70'000, '\0');
    const auto reader = make_inflate_stream(write(stream), points);
    std::string part(1000, '\0');
    bool failed = false;
    for (std::size_t offset = 0; offset + part.size() < text.size(); offset += 9000) {
        const std::int64_t result = reader->read(offset, std::as_writable_bytes(std::span(part)));
        if (result == -EBADMSG) {
            failed = true;
            EXPECT_NE(reader->problem().find("damaged"), std::string::npos);
        }
    }
    EXPECT_TRUE(failed);
    EXPECT_EQ(reader->read(0, std::as_writable_bytes(std::span(part))), 1000);
    EXPECT_TRUE(part == text.substr(0, 1000));
    EXPECT_EQ(reader->read(text.size() - 1000, std::as_writable_bytes(std::span(part))), 1000);
    EXPECT_TRUE(part == text.substr(text.size() - 1000));
}

TEST(Compressed, IsToldByTheFirstBytes) {
    const auto looks = [](std::string_view start) { return looks_compressed(std::as_bytes(std::span(start))); };
    EXPECT_TRUE(looks("\x1f\x8b\x08"));
    for (const int level : {1, 6, 9}) EXPECT_TRUE(looks(zlibbed("x", level)));
    for (const char* none : {"", "\x1f", "x", "xy", "PK\x03\x04", "\x78\xbb"}) EXPECT_FALSE(looks(none)) << none;
}

}  // namespace
}  // namespace feedline
