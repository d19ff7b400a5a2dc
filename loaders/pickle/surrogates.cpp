#include "loaders/pickle/surrogates.h"

#include <cstddef>

namespace feedline::pickle {
namespace {

unsigned char at(std::string_view bytes, std::size_t i) {
    return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0;
}

bool is_trail(unsigned char byte) {
    return (byte & 0xc0U) == 0x80;
}

// How many bytes the letter at the beginning has; 0: none is there (RFC 3629: shortest form, no surrogates).
std::size_t letter_bytes(std::string_view bytes) {
    const unsigned char lead = at(bytes, 0);
    const unsigned char second = at(bytes, 1);
    if (lead < 0x80) return 1;
    if (!is_trail(second)) return 0;
    if (lead >= 0xc2 && lead <= 0xdf) return 2;
    if (!is_trail(at(bytes, 2))) return 0;
    if (lead == 0xe0) return second >= 0xa0 ? 3 : 0;
    if (lead == 0xed) return second < 0xa0 ? 3 : 0;
    if (lead >= 0xe1 && lead <= 0xef) return 3;
    if (!is_trail(at(bytes, 3))) return 0;
    if (lead == 0xf0) return second >= 0x90 ? 4 : 0;
    if (lead == 0xf4) return second < 0x90 ? 4 : 0;
    return lead >= 0xf1 && lead <= 0xf3 ? 4 : 0;
}

}  // namespace

std::string escape_surrogates(std::string_view bytes) {
    std::string text;
    text.reserve(bytes.size());
    while (!bytes.empty()) {
        std::size_t length = letter_bytes(bytes);
        if (length > 0) {
            text += bytes.substr(0, length);
        } else {
            length = 1;
            const unsigned char byte = at(bytes, 0);  // 0x80 or above: U+DC00 + byte
            text += '\xed';
            text += static_cast<char>(0xb0U | byte >> 6U);
            text += static_cast<char>(0x80U | (byte & 0x3fU));
        }
        bytes.remove_prefix(length);
    }
    return text;
}

std::string unescape_surrogates(std::string_view text) {
    std::string bytes;
    bytes.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        const unsigned char second = at(text, i + 1);
        if (at(text, i) == 0xed && (second == 0xb2 || second == 0xb3) && is_trail(at(text, i + 2))) {
            bytes += static_cast<char>((second & 3U) << 6U | (at(text, i + 2) & 0x3fU));
            i += 2;
        } else {
            bytes += text[i];
        }
    }
    return bytes;
}

}  // namespace feedline::pickle
