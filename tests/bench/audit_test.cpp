#include "bench/audit.h"

#include <gtest/gtest.h>

#include "tests/testutil/scripted_source.h"

namespace feedline {
namespace {

using test::samples_from;

TEST(DeliveryAudit, EverySampleOnce) {
    DeliveryAudit audit(200);
    audit.deliver(samples_from(100, 100));
    EXPECT_FALSE(audit.once(200));
    audit.deliver(samples_from(0, 100));
    EXPECT_TRUE(audit.once(200));
    EXPECT_EQ(audit.delivered(), 200U);
}

TEST(DeliveryAudit, LossIsSeen) {
    DeliveryAudit audit(100);
    audit.deliver(samples_from(0, 99));
    EXPECT_FALSE(audit.once(100));
    EXPECT_TRUE(audit.once(99));
}

TEST(DeliveryAudit, RepetitionIsSeenEvenWhenTheCountIsRight) {
    DeliveryAudit audit(100);
    audit.deliver(samples_from(0, 99));
    audit.deliver(samples_from(42, 1));
    EXPECT_EQ(audit.repeated(), 1U);
    EXPECT_FALSE(audit.once(100));
    EXPECT_FALSE(audit.once(99));
}

TEST(DeliveryAudit, SampleOutsideTheDatasetIsNoDelivery) {
    DeliveryAudit audit(64);
    audit.deliver(samples_from(64, 1));
    EXPECT_EQ(audit.delivered(), 0U);
    EXPECT_EQ(audit.repeated(), 1U);
}

TEST(DeliveryAudit, SkippedSamplesAreAccountedFor) {
    DeliveryAudit audit(10);
    std::vector<SampleView> samples = samples_from(0, 10);
    samples[3].status = SampleStatus::skipped;
    audit.deliver(samples);
    EXPECT_EQ(audit.delivered(), 9U);
    EXPECT_EQ(audit.skipped(), 1U);
    EXPECT_TRUE(audit.once(10));
}

TEST(DeliveryAudit, ResetBeginsAnew) {
    DeliveryAudit audit(10);
    audit.deliver(samples_from(0, 10));
    audit.reset();
    EXPECT_TRUE(audit.once(0));
    audit.deliver(samples_from(0, 10));
    EXPECT_TRUE(audit.once(10));
}

}  // namespace
}  // namespace feedline
