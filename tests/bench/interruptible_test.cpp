#include "bench/interruptible.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>

namespace feedline {
namespace {

TEST(RunInterruptibly, ReturnsWhatTheWorkReturns) {
    const Interrupt interrupt;
    EXPECT_EQ(run_interruptibly([] { return 42; }, interrupt), 42);
    EXPECT_EQ(*run_interruptibly([] { return std::make_unique<int>(7); }, interrupt), 7);
}

TEST(RunInterruptibly, RethrowsWhatTheWorkThrows) {
    const Interrupt interrupt;
    const auto fail = []() -> int { throw Error(ErrorKind::corrupt, "broken"); };
    try {
        run_interruptibly(fail, interrupt);
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::corrupt);
    }
}

TEST(RunInterruptibly, LeavesWorkThatHangs) {
    const auto interrupt = std::make_shared<Interrupt>();
    const auto released = std::make_shared<std::promise<void>>();
    const auto ended = std::make_shared<std::promise<void>>();
    std::future<void> over = ended->get_future();
    const auto hang = [released, ended] {
        released->get_future().wait();
        ended->set_value();
        return true;
    };
    const auto tick = [&] { interrupt->request(); };
    try {
        run_interruptibly(hang, *interrupt, tick);
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::interrupted);
    }
    released->set_value();
    over.wait();  // the thread lived on with what it owns
}

TEST(RunInterruptibly, LeavesWorkThatHangsWhenPatienceEnds) {
    const Interrupt interrupt;
    const auto released = std::make_shared<std::promise<void>>();
    const auto ended = std::make_shared<std::promise<void>>();
    std::future<void> over = ended->get_future();
    const auto hang = [released, ended] {
        released->get_future().wait();
        ended->set_value();
        return true;
    };
    try {
        run_interruptibly(hang, interrupt, {}, 1);
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::timeout);
    }
    released->set_value();
    over.wait();
}

}  // namespace
}  // namespace feedline
