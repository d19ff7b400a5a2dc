#include "packers/webdataset/sample_key.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/path_suffix.h"
#include "core/utf8.h"

namespace feedline::webdataset {
namespace {

bool keeps_its_meaning(unsigned char c) {
    return c > ' ' && c != 0x7f && c != '.' && c != '%';
}

}  // namespace

std::string sample_key(std::string_view path, bool without_suffix) {
    if (without_suffix) path.remove_suffix(path_suffix(path).size());
    std::string key;
    key.reserve(path.size() + 8);
    while (!path.empty()) {
        const std::size_t length = utf8_sequence_length(path);
        const std::string_view character = path.substr(0, std::max<std::size_t>(length, 1));
        path.remove_prefix(character.size());
        const auto first = static_cast<unsigned char>(character.front());
        if (length > 1 || (length == 1 && keeps_its_meaning(first))) {
            key += character;
        } else {
            key += fmt::format("%{:02X}", first);
        }
    }
    return key;
}

std::string part_extension(std::string_view name) {
    std::string extension(name);
    std::transform(extension.begin(), extension.end(), extension.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    const bool plain = std::all_of(extension.begin(), extension.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
    });
    if (extension.empty() || !plain || extension.front() == '.' || extension == "cls") return "bin";
    return extension;
}

}  // namespace feedline::webdataset
