// One 512-byte header of a tar archive: ustar, GNU and PAX alike (POSIX.1-2017, pax, "ustar Interchange Format";
// https://www.gnu.org/software/tar/manual/html_node/Standard.html).
//
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace feedline::tar {

constexpr std::uint64_t kBlockBytes = 512;

// What a content of so many bytes occupies: whole blocks.
constexpr std::uint64_t padded(std::uint64_t bytes) {
    return (bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
}

struct Header {
    std::string name;  // prefix included
    std::uint64_t size_bytes = 0;
    char type = '0';

    bool is_file() const { return type == '0' || type == '\0' || type == '7'; }
    // Its content describes the entry after it, or all of them.
    bool is_extension() const { return type == 'x' || type == 'g' || type == 'L' || type == 'K'; }
    // Of links, directories, devices and pipes only the header is there, whatever size it names.
    bool has_content() const {
        return type != '1' && type != '2' && type != '3' && type != '4' && type != '5' && type != '6';
    }
};

using Block = std::span<const std::byte, kBlockBytes>;

bool is_zero(Block block);
// Nothing when the checksum does not match or the size is no number.
std::optional<Header> parse_header(Block block);
// "ustar" where POSIX and GNU headers have it: a header of which this is missing is an old one.
bool has_magic(Block block);

// What extension headers say of the entry that follows.
struct Extension {
    std::optional<std::string> name;
    std::optional<std::uint64_t> size_bytes;
};

// PAX records "LENGTH KEY=VALUE\n" (path and size; the rest is passed over). False when they are not well-formed.
bool parse_pax(std::string_view records, Extension& extension);

}  // namespace feedline::tar
