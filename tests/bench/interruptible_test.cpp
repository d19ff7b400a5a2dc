#include "bench/interruptible.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>

namespace feedline {
namespace {

// Work that does not come back until it is released, and owns what it waits for.
class HangingWork {
public:
    auto hang() const {
        return [released = released_, ended = ended_] {
            released->get_future().wait();
            ended->set_value();
            return true;
        };
    }
    // Returns when the work has ended.
    void release() {
        released_->set_value();
        ended_->get_future().wait();
    }

private:
    std::shared_ptr<std::promise<void>> released_ = std::make_shared<std::promise<void>>();
    std::shared_ptr<std::promise<void>> ended_ = std::make_shared<std::promise<void>>();
};

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
    HangingWork work;
    const auto tick = [&] { interrupt->request(); };
    try {
        run_interruptibly(work.hang(), *interrupt, tick);
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::interrupted);
    }
    work.release();  // the thread lived on with what it owns
}

TEST(RunInterruptibly, LeavesWorkThatHangsWhenPatienceEnds) {
    const Interrupt interrupt;
    HangingWork work;
    try {
        run_interruptibly(work.hang(), interrupt, {}, 1);
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::timeout);
    }
    work.release();
}

}  // namespace
}  // namespace feedline
