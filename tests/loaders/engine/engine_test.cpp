// Names, footprints, limits, and the null engine.
#include "loaders/engine/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "core/error.h"
#include "tests/loaders/engine/engine_lab.h"

namespace feedline::test {
namespace {

TEST(EngineNames, AreReadAsTheyAreWritten) {
    for (const EngineKind kind :
         {EngineKind::pread, EngineKind::mmap, EngineKind::uring, EngineKind::uring_direct, EngineKind::null}) {
        EXPECT_EQ(parse_engine_kind(to_string(kind)), kind);
    }
    EXPECT_EQ(to_string(EngineKind::uring_direct), "uring-direct");
}

TEST(EngineNames, AnUnknownOneIsAUsageErrorThatListsThem) {
    try {
        parse_engine_kind("libaio");
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::usage);
        EXPECT_THAT(error.what(), testing::HasSubstr("libaio"));
        EXPECT_THAT(error.what(), testing::HasSubstr("uring-direct"));
    }
}

TEST(FootprintOf, BufferedIsOneByteMoreThanTheExtent) {
    const Footprint empty = footprint({}, {0, 0, 0});
    EXPECT_EQ(empty.capacity_bytes, 1U);
    const Footprint some = footprint({}, {12345, 761, 0});
    EXPECT_EQ(some.capacity_bytes, 762U);
    EXPECT_EQ(some.payload_offset_bytes, 0U);
}

TEST(FootprintOf, DirectIsTheAlignedSupersetAndHoldsOneByteMore) {
    for (const std::uint32_t block : {512U, 4096U}) {
        for (const std::uint64_t offset : {0ULL, 1ULL, 511ULL, 512ULL, 4095ULL, 4096ULL, (5ULL << 30U) + 7}) {
            for (const std::uint64_t length : {0ULL, 1ULL, 511ULL, 512ULL, 4096ULL, 114660ULL, 3ULL << 30U}) {
                const Footprint fp = footprint({block, block}, {offset, length, 0});
                EXPECT_EQ(fp.payload_offset_bytes, offset % block);
                EXPECT_EQ(fp.capacity_bytes % block, 0U);
                EXPECT_GT(fp.capacity_bytes, fp.payload_offset_bytes + length);
                EXPECT_LE(fp.capacity_bytes, fp.payload_offset_bytes + length + block);
            }
        }
    }
}

TEST(FootprintOf, DirectCapacityKeepsTheNextDestinationAligned) {
    EXPECT_EQ(footprint({4096, 512}, {0, 761, 0}).capacity_bytes, 4096U);
}

TEST(QueueDepth, BeyondTheLimitIsAUsageErrorThatNamesIt) {
    for (const EngineKind kind : available_engines()) {
        const unsigned limit = max_engine_queue_depth(kind);
        ASSERT_GE(limit, 1U);
        const Alignment alignment = kind == EngineKind::uring_direct ? Alignment{4096, 4096} : Alignment{};
        EXPECT_NO_THROW(make_engine({.kind = kind, .queue_depth = limit, .alignment = alignment}));
        for (const unsigned depth : {0U, limit + 1, std::numeric_limits<unsigned>::max()}) {
            try {
                make_engine({.kind = kind, .queue_depth = depth, .alignment = alignment});
                ADD_FAILURE() << to_string(kind) << " took a depth of " << depth;
            } catch (const Error& error) {
                EXPECT_EQ(error.kind(), ErrorKind::usage);
                EXPECT_THAT(error.what(), testing::HasSubstr(std::to_string(limit)));
            }
        }
    }
}

TEST(NullEngine, CompletesAtOnceInFullAndTouchesNothing) {
    EngineLab lab({EngineKind::null, {}}, 8);
    EXPECT_THAT(available_engines(), testing::Not(testing::Contains(EngineKind::null)));
    for (unsigned i = 0; i < 100; ++i) lab.whole("there is no such file", 1000 + i);
    const std::vector<Completion> completions = lab.run();
    for (unsigned i = 0; i < 100; ++i) {
        EXPECT_EQ(completions[i].result, 1000 + i);
        EXPECT_FALSE(completions[i].grew);
        EXPECT_TRUE(lab.destination(i).untouched());
    }
    EXPECT_EQ(lab.engine().counters().syscalls, 0U);
}

}  // namespace
}  // namespace feedline::test
