#include "core/interrupt.h"

#include <gtest/gtest.h>

#include <csignal>

namespace feedline {
namespace {

TEST(Interrupt, AnImpatientSecondSignalDoesNotEndTheProcess) {
    Interrupt interrupt;
    const SignalScope scope(interrupt);
    EXPECT_FALSE(interrupt.requested());
    std::raise(SIGINT);
    EXPECT_TRUE(interrupt.requested());
    std::raise(SIGINT);
    std::raise(SIGTERM);
    EXPECT_TRUE(interrupt.requested());
}

TEST(Interrupt, ATerminalThatIsGoneInterruptsUnlessThatIsIgnored) {
    {
        Interrupt interrupt;
        const SignalScope scope(interrupt);
        std::raise(SIGHUP);
        EXPECT_TRUE(interrupt.requested());
    }
    std::signal(SIGHUP, SIG_IGN);  // as nohup(1) does
    {
        Interrupt interrupt;
        const SignalScope scope(interrupt);
        std::raise(SIGHUP);
        EXPECT_FALSE(interrupt.requested());
    }
    std::signal(SIGHUP, SIG_DFL);
}

TEST(Interrupt, ASignalLongAfterTheFirstDoes) {
    constexpr Nanoseconds kFirst = 1000;
    EXPECT_FALSE(SignalScope::ends_at_once(0, kFirst));
    EXPECT_FALSE(SignalScope::ends_at_once(kFirst, kFirst));
    EXPECT_FALSE(SignalScope::ends_at_once(kFirst, kFirst + kTimeToStop));
    EXPECT_TRUE(SignalScope::ends_at_once(kFirst, kFirst + kTimeToStop + 1));
}

}  // namespace
}  // namespace feedline
