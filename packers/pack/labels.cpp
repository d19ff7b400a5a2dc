#include "packers/pack/labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/line_reader.h"
#include "core/units.h"
#include "packers/output/digest.h"

namespace feedline {
namespace {

std::optional<std::vector<std::int64_t>> numbers_in(std::string_view text) {
    std::vector<std::int64_t> numbers;
    const char* at = text.data();
    const char* end = at + text.size();
    for (;;) {
        std::int64_t number = 0;
        const auto [next, error] = std::from_chars(at, end, number);
        if (error != std::errc()) return std::nullopt;
        numbers.push_back(number);
        if (next == end) return numbers;
        if (*next != ',') return std::nullopt;
        at = next + 1;
    }
}

// Nothing for a number that is out of range; the smallest stands for no label in formats that need one.
std::optional<Label> label_in(std::string_view text) {
    const std::optional<std::vector<std::int64_t>> numbers = numbers_in(text);
    if (!numbers) {
        const bool digits = text.find_first_not_of("0123456789,-") == std::string_view::npos;
        return digits && text.find_first_of("0123456789") != std::string_view::npos
                   ? std::nullopt
                   : std::optional<Label>(std::string(text));
    }
    const bool in_range =
        std::find(numbers->begin(), numbers->end(), std::numeric_limits<std::int64_t>::min()) == numbers->end();
    if (!in_range) return std::nullopt;
    if (numbers->size() == 1) return numbers->front();
    return *numbers;
}

// As `find .` writes paths, and tar sometimes.
std::string_view without_dot(std::string_view path) {
    while (path.size() > 2 && path.starts_with("./")) path.remove_prefix(2);
    return path;
}

}  // namespace

LabelChoice::LabelChoice(const std::string& how) {
    if (keeps_own(how)) return;
    if (how == "none") {
        how_ = How::none;
        return;
    }
    how_ = How::file;
    read(how);
}

void LabelChoice::read(const std::string& path) {
    file_ = path;
    std::optional<LineReader> in;
    try {
        in.emplace(path);
    } catch (const Error& error) {
        if (error.error_number() != ENOENT) throw;
        throw Error(ErrorKind::usage, "there is no such file of labels")
            .at(path)
            .advise("--labels takes auto, dir, none, or a file of lines PATH<TAB>LABEL");
    }
    std::string line;
    std::uint64_t number = 0;
    while (in->next(line)) {
        ++number;
        if (line.ends_with('\r')) line.pop_back();
        const std::size_t tab = line.rfind('\t');
        const auto refuse = [&](std::string why) {
            return Error(ErrorKind::usage, std::move(why)).at(path, in->offset_bytes());
        };
        if (tab == std::string::npos || tab == 0 || tab + 1 == line.size()) {
            throw refuse("a line of the file of labels is not PATH<TAB>LABEL");
        }
        const std::string_view text = std::string_view(line).substr(tab + 1);
        const std::optional<Label> label = label_in(text);
        if (!label) throw refuse(fmt::format("'{}' is a number that no label can have", printable(text)));
        const auto [known, added] = labels_.try_emplace(std::string(without_dot(std::string_view(line).substr(0, tab))),
                                                        Line{*label, number, false});
        if (!added) throw refuse("the file of labels has a second label for " + printable(known->first));
        digest_ = feedline::digest(line, digest_);
    }
}

Label LabelChoice::label(const std::string& path, const Label& own) const {
    if (how_ == How::own) return own;
    if (how_ == How::none) return {};
    const auto found = labels_.find(std::string(without_dot(path)));
    if (found == labels_.end()) {
        throw Error(ErrorKind::usage, "the file of labels has none for " + printable(path))
            .at(file_)
            .advise("Its paths are relative to the source, as this one is; --labels none goes without");
    }
    return found->second.label;
}

void LabelChoice::use(const std::string& path) {
    const auto found = labels_.find(std::string(without_dot(path)));
    if (found != labels_.end()) found->second.used = true;
}

std::string LabelChoice::unused() const {
    std::uint64_t count = 0;
    const std::pair<const std::string, Line>* first = nullptr;
    for (const auto& line : labels_) {
        if (line.second.used) continue;
        ++count;
        if (first == nullptr || line.second.number < first->second.number) first = &line;
    }
    if (first == nullptr) return {};
    return fmt::format("{} of the file of labels {} of no sample, the first is line {}: {}",
                       format_counted(count, "line"), count == 1 ? "is" : "are", first->second.number,
                       printable(first->first));
}

}  // namespace feedline
