#include "bench/notes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bench/hand_made.h"

namespace feedline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// 1000 samples in batches of 67: an epoch has 15 steps, which took 10 s.
BenchOptions of_the_run() {
    BenchOptions options;
    options.batch_size = 67;
    return options;
}

TEST(Notes, ARunAsItWasAskedForHasNone) {
    Result result = test::hand_made_result();
    BenchOptions options = of_the_run();
    EXPECT_THAT(epoch_notes(result, options), IsEmpty());
    options.steps = 15;
    EXPECT_THAT(epoch_notes(result, options), IsEmpty());
    options.duration_ns = 10 * kNanosecondsPerSecond;
    EXPECT_THAT(epoch_notes(result, options), IsEmpty());
    result.rounds.clear();
    EXPECT_THAT(epoch_notes(result, options), IsEmpty());
}

TEST(Notes, AGapInWhichTheProcessDidNotRunIsSaid) {
    Result result = test::hand_made_result();
    result.rounds[0][0].host_stall_seconds = 0.25;
    EXPECT_THAT(epoch_notes(result, of_the_run()),
                ElementsAre("this process did not run for 250 ms of 10.0 s: suspended, or starved of CPU; measure "
                            "again"));
}

TEST(Notes, MoreStepsThanTheEpochHasAreNamed) {
    BenchOptions options = of_the_run();
    options.steps = 5000;
    EXPECT_THAT(
        epoch_notes(test::hand_made_result(), options),
        ElementsAre("--steps 5,000: an epoch has only 15 steps (1,000 samples in batches of 67), so no more were run; "
                    "more take a larger dataset, a smaller --batch-size or more --epochs"));
    options.world = 2;
    Result half = test::hand_made_result();
    half.rounds[0][0].steps = 8;
    EXPECT_THAT(epoch_notes(half, options),
                ElementsAre(HasSubstr("only 8 steps (1,000 samples in batches of 67, shared by 2 ranks)")));
}

TEST(Notes, ADurationThatTheEpochDoesNotLastForIsNamed) {
    BenchOptions options = of_the_run();
    options.duration_ns = 60 * kNanosecondsPerSecond;
    Result result = test::hand_made_result();
    EXPECT_THAT(
        epoch_notes(result, options),
        ElementsAre(HasSubstr("--duration 60.0 s: the epoch was over after 10.0 s, for it has only 15 steps (1,000")));
    // --steps ended it, as was asked for as well.
    options.steps = 7;
    result.rounds[0][0].steps = 7;
    EXPECT_THAT(epoch_notes(result, options), IsEmpty());
    // The same the other way round.
    options.steps = 5000;
    options.duration_ns = 5 * kNanosecondsPerSecond;
    EXPECT_THAT(epoch_notes(result, options), IsEmpty());
}

TEST(Notes, DriftOfAFewStepsIsNone) {
    Result result = test::hand_made_result();
    EpochResult& epoch = result.rounds[0][0];
    epoch.idle.drift = 0.3;
    EXPECT_THAT(epoch_notes(result, of_the_run()), IsEmpty()) << "14 steady steps";
    epoch.idle.steady_steps = 20;
    EXPECT_THAT(epoch_notes(result, of_the_run()),
                ElementsAre("not steady: the second half of the steps ran 30.0 % faster than the first"));
    result.accelerators = 2;
    EXPECT_THAT(epoch_notes(result, of_the_run()), IsEmpty()) << "10 on each";
}

}  // namespace
}  // namespace feedline
