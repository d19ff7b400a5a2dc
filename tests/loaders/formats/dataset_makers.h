// Every format as the conformance battery sees it: something that writes payloads as a dataset of that format.
#pragma once

#include <ostream>
#include <span>
#include <string>
#include <vector>

namespace feedline::test {

struct FormatMaker {
    std::string format;
    // Writes `payloads` in that order below the directory `path`, which does not exist, in shards of at most `a_shard`.
    void (*write)(const std::string& path, const std::vector<std::string>& payloads, std::size_t a_shard);
    // Whether the format stores checksums of payloads.
    bool checksums = false;
    // Whether what stands before a cut can still be read. Otherwise the whole shard is lost.
    bool readable_up_to_a_cut = true;
    // Whether engines other than native read it, and whether native does.
    bool extents = true;
    bool native = true;
    const char* variant = "";  // what tells it from others of its format
};

inline std::ostream& operator<<(std::ostream& out, const FormatMaker& maker) {
    return out << maker.format << maker.variant;
}

std::span<const FormatMaker> format_makers();

}  // namespace feedline::test
