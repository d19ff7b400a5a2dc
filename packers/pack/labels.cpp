#include "packers/pack/labels.h"

#include <cerrno>
#include <charconv>
#include <fstream>
#include <optional>
#include <vector>

#include "core/error.h"
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

Label label_in(std::string_view text) {
    const std::optional<std::vector<std::int64_t>> numbers = numbers_in(text);
    if (!numbers) return std::string(text);
    if (numbers->size() == 1) return numbers->front();
    return *numbers;
}

}  // namespace

LabelChoice::LabelChoice(const std::string& how) {
    if (how == "auto" || how == "dir") return;
    if (how == "none") {
        how_ = How::none;
        return;
    }
    how_ = How::file;
    read(how);
}

void LabelChoice::read(const std::string& path) {
    file_ = path;
    errno = 0;
    std::ifstream in(path, std::ios::binary);
    if (!in) {
        if (errno != ENOENT) throw system_error(errno, "cannot open the file of labels", path);
        throw Error(ErrorKind::usage, "there is no such file of labels")
            .at(path)
            .advise("--labels takes auto, dir, none, or a file of lines PATH<TAB>LABEL");
    }
    std::string line;
    std::uint64_t offset = 0;
    while (std::getline(in, line)) {
        const std::size_t tab = line.rfind('\t');
        if (tab == std::string::npos || tab == 0) {
            throw Error(ErrorKind::usage, "a line of the file of labels is not PATH<TAB>LABEL").at(path, offset);
        }
        const auto [known, added] =
            labels_.emplace(line.substr(0, tab), label_in(std::string_view(line).substr(tab + 1)));
        if (!added) {
            throw Error(ErrorKind::usage, "the file of labels has a second label for " + printable(known->first))
                .at(path, offset);
        }
        digest_ = feedline::digest(line, digest_);
        offset += line.size() + 1;
    }
}

Label LabelChoice::label(const std::string& path, const Label& own) const {
    if (how_ == How::own) return own;
    if (how_ == How::none) return {};
    const auto found = labels_.find(path);
    if (found == labels_.end()) {
        throw Error(ErrorKind::usage, "the file of labels has none for " + printable(path)).at(file_);
    }
    return found->second;
}

}  // namespace feedline
