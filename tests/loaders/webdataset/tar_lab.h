// Tar archives for tests, written header by header so that every oddity can be had.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace feedline::test {

struct TarEntry {
    std::string name;
    std::string content = {};
    char type = '0';
    std::string magic = std::string(
        "ustar\0"
        "00",
        8);
    bool base256 = false;  // the size as GNU writes large ones
};

// Header, content and padding.
std::string tar_entry(const TarEntry& entry);
// With the name in an extension header: PAX ('x') or GNU ('L').
std::string pax_entry(const std::string& name, const std::string& content);
std::string gnu_long_entry(const std::string& name, const std::string& content);
inline std::string tar_end() {
    return std::string(1024, '\0');
}
// The header's checksum, written where it belongs.
void sign_tar_header(std::string& header);

}  // namespace feedline::test
