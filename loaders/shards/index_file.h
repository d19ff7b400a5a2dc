// Index files that others wrote beside a shard, as DALI's readers want them: SHARD.idx, or SHARD with `.idx` in place
// of its suffix.
//
// Such a file may be of another shard, or of an earlier state of this one. So it counts only where it covers the shard
// to its end and the records that are looked at here and there are as it says; otherwise it is an oddity.
//
// Thread-safety: functions work on their arguments alone.
#pragma once

#include <charconv>
#include <concepts>
#include <optional>
#include <string_view>
#include <vector>

#include "loaders/shards/chain.h"

namespace feedline {

// The shard's records, if there is an index file that fits; else nothing, and an oddity where there is one that does
// not.
std::optional<Chain> chain_from_index_file(const ShardFile& shard, const ChainFormat& format,
                                           std::vector<Oddity>& oddities);

// Words of an index file's line, separated by white space.
class Words {
public:
    explicit Words(std::string_view line) : rest_(line) {}

    // Empty at the end of the line.
    std::string_view next() {
        const std::size_t begin = std::min(rest_.find_first_not_of(" \t\r"), rest_.size());
        const std::size_t end = std::min(rest_.find_first_of(" \t\r", begin), rest_.size());
        const std::string_view word = rest_.substr(begin, end - begin);
        rest_.remove_prefix(end);
        return word;
    }
    // False where the next word is none.
    template <std::unsigned_integral T>
    bool number(T& value) {
        const std::string_view word = next();
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
        return !word.empty() && error == std::errc() && end == word.data() + word.size();
    }

private:
    std::string_view rest_;
};

// Takes the first line off `text`.
inline std::string_view take_line(std::string_view& text) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return line;
}

// Which of `count` things to look at: the first, the last and a few between.
std::vector<std::size_t> some_of(std::size_t count);

}  // namespace feedline
