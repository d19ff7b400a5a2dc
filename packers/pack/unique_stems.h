// Which samples can be called by their path without its suffix, because no other one could be meant.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace feedline {

// 16 bytes a path. Built by one thread: add() all, then close(); then const members from any thread at once.
class UniqueStems {
public:
    void add(std::string_view path);
    void close();
    // Whether the stem of `path`, which was added, is neither another's path nor another's stem. Now and then says no
    // though it is: it compares hashes.
    bool unique(std::string_view path) const;

private:
    std::vector<std::uint64_t> hashes_;  // of all paths and stems, sorted when closed
};

}  // namespace feedline
