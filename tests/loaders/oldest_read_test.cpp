#include "loaders/oldest_read.h"

#include <gtest/gtest.h>

#include <thread>

namespace feedline {
namespace {

TEST(OldestRead, IsNoneAtFirst) {
    EXPECT_EQ(PublishedOldestRead().look().since_ns, 0);
}

TEST(OldestRead, IsSeenWhole) {
    constexpr std::uint32_t kLast = 200'000;
    PublishedOldestRead published;
    std::jthread publishing([&] {
        for (std::uint32_t k = 1; k <= kLast; ++k) published.publish({k, k, std::uint64_t{k} << 32U});
    });
    std::uint32_t before = 0;
    while (before < kLast) {
        const OldestRead seen = published.look();
        const auto k = static_cast<std::uint32_t>(seen.since_ns);
        ASSERT_GE(k, before);
        ASSERT_EQ(seen.shard, k);
        ASSERT_EQ(seen.offset_bytes, std::uint64_t{k} << 32U);
        before = k;
    }
}

}  // namespace
}  // namespace feedline
