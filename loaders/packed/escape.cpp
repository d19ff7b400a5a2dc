#include "loaders/packed/escape.h"

#include <fmt/format.h>

#include <charconv>

#include "core/error.h"
#include "core/utf8.h"

namespace feedline {

std::string escaped(std::string_view bytes) {
    std::string text;
    while (!bytes.empty()) {
        const std::size_t length = utf8_sequence_length(bytes);
        if (length == 0 || bytes.front() == '%') {
            text += fmt::format("%{:02X}", static_cast<unsigned char>(bytes.front()));
            bytes.remove_prefix(1);
        } else {
            text += bytes.substr(0, length);
            bytes.remove_prefix(length);
        }
    }
    return text;
}

std::string unescaped(std::string_view text) {
    std::string bytes;
    for (std::size_t i = 0; i < text.size(); ++i) {
        unsigned value = 0;
        const char* begin = text.data() + i + 1;
        if (text[i] != '%') {
            bytes += text[i];
        } else if (text.size() - i > 2 && std::from_chars(begin, begin + 2, value, 16).ptr == begin + 2) {
            bytes += static_cast<char>(value);
            i += 2;
        } else {
            throw Error(ErrorKind::corrupt, "a name is not escaped as it should be");
        }
    }
    return bytes;
}

}  // namespace feedline
