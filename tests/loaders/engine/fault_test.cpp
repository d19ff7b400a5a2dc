// What the operating system may answer at any time, answered on purpose.
#include <gtest/gtest.h>

#include <cerrno>

#include "tests/loaders/engine/engine_lab.h"

namespace feedline::test {
namespace {

class Faults : public testing::TestWithParam<EngineCase> {};

INSTANTIATE_TEST_SUITE_P(Engines, Faults, testing::ValuesIn(reading_engines()),
                         [](const auto& tested) { return case_name(tested.param); });

TEST_P(Faults, ShortReadsOfAnyLengthAreContinued) {
    ScriptedFaults faults;
    EngineLab lab(GetParam(), 4, &faults);
    for (const std::uint64_t size : {0ULL, 1ULL, 2ULL, 17ULL, 513ULL, 4097ULL}) {
        lab.make_file(std::to_string(size), pattern(size, 4));
    }
    for (const std::uint64_t severed : {1ULL, 2ULL, 3ULL, 16ULL, 17ULL, 512ULL, 513ULL, 4096ULL, 4097ULL, 4098ULL}) {
        faults.sever_reads(severed);
        for (const std::uint64_t size : {0ULL, 1ULL, 2ULL, 17ULL, 513ULL, 4097ULL}) {
            SCOPED_TRACE(testing::Message() << "severed at " << severed << ", size " << size);
            const std::uint64_t tag = lab.whole(std::to_string(size), size).tag;
            const Completion whole = lab.run_one();
            EXPECT_EQ(whole.result, static_cast<std::int64_t>(size));
            EXPECT_FALSE(whole.grew);
            EXPECT_EQ(lab.destination(tag).payload(size), pattern(size, 4));

            lab.whole(std::to_string(size), size + 600);
            EXPECT_EQ(lab.run_one().result, static_cast<std::int64_t>(size)) << "shrank";
            if (size == 0) continue;
            lab.whole(std::to_string(size), size - 1);
            const Completion grown = lab.run_one();
            EXPECT_EQ(grown.result, static_cast<std::int64_t>(size - 1));
            EXPECT_TRUE(grown.grew);
        }
    }
    EXPECT_GT(lab.engine().counters().short_reads, 0U);
}

TEST_P(Faults, InterruptedAndTemporarilyUnavailableOperationsAreRetried) {
    ScriptedFaults faults;
    EngineLab lab(GetParam(), 4, &faults);
    lab.make_file("file", pattern(100000, 6));
    for (const int error : {EINTR, EAGAIN}) {
        faults.fail_opens(error, 7);
        faults.fail_reads(error, 5);
        const std::uint64_t first = lab.whole("file", 100000).tag;
        for (unsigned i = 0; i < 3; ++i) lab.whole("file", 100000);
        const std::uint64_t retries = lab.engine().counters().retries;
        for (const Completion& completion : lab.run()) {
            EXPECT_EQ(completion.result, 100000);
            EXPECT_EQ(lab.destination(first).payload(100000), pattern(100000, 6));
        }
        EXPECT_EQ(lab.engine().counters().retries - retries, 12U);
    }
}

TEST_P(Faults, WhatStaysUnavailableFailsInTheEnd) {
    ScriptedFaults faults;
    EngineLab lab(GetParam(), 2, &faults);
    lab.make_file("file", "content");
    for (const int error : {EINTR, EAGAIN}) {
        faults.fail_reads(error, ~0ULL);
        lab.whole("file", 7);
        EXPECT_EQ(lab.run_one().result, -error);
        faults.fail_reads(0, 0);
        faults.fail_opens(error, ~0ULL);
        lab.whole("file", 7);
        EXPECT_EQ(lab.run_one().result, -error);
        faults.fail_opens(0, 0);
    }
    lab.whole("file", 7);
    EXPECT_EQ(lab.run_one().result, 7);
}

TEST_P(Faults, FailuresAreReportedOnceAndOnlyForTheirRequest) {
    for (const int error : {EIO, EACCES, ENOENT, ESTALE, ENXIO, EMFILE, ENOMEM}) {
        SCOPED_TRACE(error);
        ScriptedFaults faults;
        EngineLab lab(GetParam(), 1, &faults);
        lab.make_file("file", "content");
        faults.fail_opens(error, 1);
        const std::uint64_t tag = lab.whole("file", 7).tag;
        EXPECT_EQ(lab.run_one().result, -error);
        EXPECT_TRUE(lab.destination(tag).untouched());
        lab.whole("file", 7);
        EXPECT_EQ(lab.run_one().result, 7);
        faults.fail_reads(error, 1);
        lab.whole("file", 7);
        EXPECT_EQ(lab.run_one().result, -error);
        lab.whole("file", 7);
        EXPECT_EQ(lab.run_one().result, 7);
    }
}

TEST_P(Faults, NoPermissionToSkipAccessTimesIsNoFailure) {
    ScriptedFaults faults;
    EngineLab lab(GetParam(), 2, &faults);
    lab.make_file("file", "content");
    faults.fail_opens(EPERM, 1);  // what O_NOATIME gives for a file of somebody else
    lab.whole("file", 7);
    EXPECT_EQ(lab.run_one().result, 7);
    faults.fail_opens(EPERM, 1);  // now it is about the file itself
    lab.whole("file", 7);
    EXPECT_EQ(lab.run_one().result, -EPERM);
}

TEST_P(Faults, AFullRingOnlyDelays) {
    ScriptedFaults faults;
    EngineLab lab(GetParam(), 8, &faults);
    lab.make_file("file", pattern(3000, 8));
    faults.fill_ring_every(3);
    for (unsigned i = 0; i < 100; ++i) lab.whole("file", 3000);
    for (const Completion& completion : lab.run()) EXPECT_EQ(completion.result, 3000);
    EXPECT_GT(lab.engine().counters().retries, 0U);
}

}  // namespace
}  // namespace feedline::test
