#include "core/status_line.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>

namespace feedline {
namespace {

// What is written to a file that stands for a terminal.
template <typename Act>
std::string written(Act act) {
    std::FILE* file = std::tmpfile();
    act(file);
    std::rewind(file);
    std::array<char, 4096> buffer{};
    const std::size_t length = std::fread(buffer.data(), 1, buffer.size(), file);
    std::fclose(file);
    return {buffer.data(), length};
}

TEST(StatusLine, RewritesWithoutEscapeSequences) {
    const std::string text = written([](std::FILE* file) {
        StatusLine line(file);
        line.show("longer text");
        line.show("short");
        line.clear();
        line.clear();
    });
    EXPECT_EQ(text, "\rlonger text\rshort      \r     \r");
}

TEST(StatusLine, IsCutBetweenCharactersAndNotWithinOne) {
    std::string text;
    for (int i = 0; i < 100; ++i) text += "\xc3\xa4";
    const std::string shown = written([&](std::FILE* file) {
        StatusLine line(file);
        line.show(text);
    });
    const std::string first = shown.substr(1, shown.find('\r', 1) - 1);
    EXPECT_EQ(text_columns(first), 79U) << "a file has no width: 80 columns, one left free";
    EXPECT_EQ(first.size(), 2 * 79U);
}

TEST(StatusLine, NeedsATerminalThatCanDoIt) {
    std::FILE* file = std::tmpfile();
    ::setenv("TERM", "xterm", 1);
    EXPECT_FALSE(StatusLine::possible(file));
    std::fclose(file);
}

}  // namespace
}  // namespace feedline
