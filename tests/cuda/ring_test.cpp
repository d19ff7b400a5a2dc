#include "cuda/ring.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <random>

namespace feedline {
namespace {

TEST(Ring, BehavesAsADequeUnderRandomUse) {
    std::mt19937 random(7);
    Ring<int> ring;
    std::deque<int> model;
    for (int k = 0; k < 20'000; ++k) {
        // Grows and shrinks by turns, so that it wraps at many lengths.
        const unsigned push_odds = (k / 500) % 2 == 0 ? 70 : 30;
        if (model.empty() || random() % 100 < push_odds) {
            ring.push(k);
            model.push_back(k);
        } else {
            ASSERT_EQ(ring.front(), model.front());
            ring.pop();
            model.pop_front();
        }
        ASSERT_EQ(ring.size(), model.size());
        ASSERT_EQ(ring.empty(), model.empty());
        if (!model.empty()) {
            const std::size_t at = random() % model.size();
            ASSERT_EQ(ring[at], model[at]);
        }
    }
}

TEST(Ring, KeepsTheOrderWhenItGrowsWrapped) {
    Ring<std::unique_ptr<int>> ring;
    for (int k = 0; k < 10; ++k) ring.push(std::make_unique<int>(k));
    for (int k = 0; k < 10; ++k) ring.pop();
    for (int k = 0; k < 40; ++k) ring.push(std::make_unique<int>(k));
    for (int k = 0; k < 40; ++k) {
        ASSERT_EQ(*ring.front(), k);
        ring.pop();
    }
    EXPECT_TRUE(ring.empty());
}

TEST(Ring, IsEmptyAfterClear) {
    Ring<int> ring;
    ring.push(1);
    ring.push(2);
    ring.clear();
    EXPECT_TRUE(ring.empty());
    ring.push(3);
    EXPECT_EQ(ring.front(), 3);
}

}  // namespace
}  // namespace feedline
