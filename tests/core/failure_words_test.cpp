#include "core/failure_words.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <stdexcept>
#include <system_error>

namespace feedline {
namespace {

TEST(FailureWords, AnErrorStaysWhatItIs) {
    const Error error = as_error(Error(ErrorKind::corrupt, "bad").at("x"));
    EXPECT_EQ(error.kind(), ErrorKind::corrupt);
    EXPECT_STREQ(error.what(), "bad: x");
}

TEST(FailureWords, MemoryThatRanOutSaysHowMuchAndWhatToDo) {
    const std::string line = as_error(std::bad_alloc()).what();
    EXPECT_TRUE(line.starts_with("out of memory: ")) << line;
    EXPECT_NE(line.find('B'), std::string::npos);
    EXPECT_NE(line.find("--slots"), std::string::npos) << line;
    EXPECT_EQ(line.find("bad_alloc"), std::string::npos);
}

TEST(FailureWords, AThreadThatCannotBeStartedBringsItsErrno) {
    const Error error = as_error(std::system_error(EAGAIN, std::generic_category()));
    EXPECT_EQ(error.error_number(), EAGAIN);
    EXPECT_NE(std::string(error.what()).find("--threads"), std::string::npos) << error.what();
}

TEST(FailureWords, AllElseIsOursAndOnOneLine) {
    const Error error = as_error(std::runtime_error("a\nb"));
    EXPECT_EQ(error.kind(), ErrorKind::internal);
    EXPECT_STREQ(error.what(), "a\\x0ab");
}

}  // namespace
}  // namespace feedline
