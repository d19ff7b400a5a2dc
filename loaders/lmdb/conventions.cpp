#include "loaders/lmdb/conventions.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace feedline::lmdb {

bool is_about_the_dataset(std::string_view key) {
    constexpr std::array<std::string_view, 7> kKeys = {"__len__", "__keys__", "num-samples", "total",
                                                       "length",  "keys",     "len"};
    return std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end();
}

std::optional<std::uint64_t> numbered(std::string_view key, std::string_view kind) {
    constexpr std::size_t kDigits = 9;
    if (key.size() != kind.size() + 1 + kDigits || !key.starts_with(kind) || key[kind.size()] != '-')
        return std::nullopt;
    const std::string_view digits = key.substr(kind.size() + 1);
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
    return number;
}

std::string_view path_in(std::string_view key) {
    constexpr std::size_t kDigits = 8;
    const std::size_t digits = std::min(key.find_first_not_of("0123456789"), key.size());
    if (digits < kDigits || digits >= key.size() || key[digits] != '_') return {};
    return key.substr(digits + 1);
}

}  // namespace feedline::lmdb
