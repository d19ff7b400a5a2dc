#include "packers/webdataset/tar_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

namespace feedline::tar {
namespace {

constexpr std::size_t kBlock = 512;
constexpr std::size_t kNameBytes = 100;
constexpr std::uint64_t kLargestOctal = 077777777777;  // 8 GiB - 1, eleven digits

void put(std::span<char, kBlock> block, std::size_t at, std::string_view text) {
    std::copy(text.begin(), text.end(), block.begin() + static_cast<std::ptrdiff_t>(at));
}

// Modification time 1970-01-01, mode 0644, owner 0: what every file gets.
void append_ustar(std::vector<std::byte>& out, std::string_view name, std::uint64_t size_bytes, char type) {
    std::array<char, kBlock> bytes{};
    const std::span<char, kBlock> block(bytes);
    put(block, 0, name.substr(0, kNameBytes));
    put(block, 100, "0000644");
    put(block, 108, "0000000");
    put(block, 116, "0000000");
    put(block, 124, fmt::format("{:011o}", std::min(size_bytes, kLargestOctal)));
    put(block, 136, "00000000000");
    put(block, 148, "        ");
    block[156] = type;
    put(block, 257,
        std::string_view("ustar\0"
                         "00",
                         8));
    unsigned sum = 0;
    for (const char c : block) sum += static_cast<unsigned char>(c);
    put(block, 148, fmt::format("{:06o}", sum));
    block[154] = '\0';
    const auto raw = std::as_bytes(std::span(bytes));
    out.insert(out.end(), raw.begin(), raw.end());
}

// "LENGTH KEY=VALUE\n", where LENGTH counts itself.
std::string pax_record(std::string_view key, std::string_view value) {
    const std::size_t rest = key.size() + value.size() + 3;
    std::size_t length = rest + 1;
    while (fmt::formatted_size("{}", length) + rest != length) length = fmt::formatted_size("{}", length) + rest;
    return fmt::format("{} {}={}\n", length, key, value);
}

}  // namespace

std::vector<std::byte> file_header(std::string_view name, std::uint64_t size_bytes) {
    std::vector<std::byte> out;
    std::string extended;
    if (name.size() > kNameBytes) extended += pax_record("path", name);
    if (size_bytes > kLargestOctal) extended += pax_record("size", fmt::format("{}", size_bytes));
    if (!extended.empty()) {
        append_ustar(out, "PaxHeaders/feedline", extended.size(), 'x');
        const auto raw = std::as_bytes(std::span(extended));
        out.insert(out.end(), raw.begin(), raw.end());
        out.resize(out.size() + padding(extended.size()));
    }
    append_ustar(out, name, size_bytes, '0');
    return out;
}

}  // namespace feedline::tar
