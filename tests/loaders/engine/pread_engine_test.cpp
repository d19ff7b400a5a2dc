#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/loaders/engine/engine_lab.h"

namespace feedline::test {
namespace {

TEST(PreadEngine, AWholeFileCostsThreeCallsAndAnExtentOne) {
    EngineLab lab({EngineKind::pread, {}}, 8);
    lab.make_file("file", pattern(114660, 1));
    const Fd fd = lab.open("file");
    for (unsigned i = 0; i < 50; ++i) lab.whole("file", 114660);
    lab.run();
    EXPECT_EQ(lab.engine().counters().syscalls, 150U);
    EXPECT_EQ(lab.engine().counters().opens, 50U);
    EXPECT_EQ(lab.engine().counters().reads, 50U);
    EXPECT_EQ(lab.engine().counters().short_reads, 0U);
    for (unsigned i = 0; i < 50; ++i) lab.open_part(fd.get(), 100, 1000);
    lab.run();
    EXPECT_EQ(lab.engine().counters().syscalls, 200U);
}

}  // namespace
}  // namespace feedline::test
