// Which label a sample gets: its own, none, or one from a file.
//
// Thread-safety: immutable once use() is not called any more.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "loaders/dataset.h"

namespace feedline {

class LabelChoice {
public:
    // "auto", "none", or the path of a file with lines PATH<TAB>LABEL, where LABEL is a whole number, several with
    // commas between, or text. Paths are relative to the source, with or without "./". Throws Error{usage} for a line
    // that is none of it, with its offset; Error{io}.
    explicit LabelChoice(const std::string& how);

    bool keeps_own() const { return how_ == How::own; }
    // Whether a choice made by `how` would.
    static bool keeps_own(const std::string& how) { return how == "auto" || how == "dir"; }
    // The label of the sample that was made from `path` and has `own`. Throws Error{usage} where the file has none.
    Label label(const std::string& path, const Label& own) const;
    // Before label() is called from several threads: there is a sample of `path`.
    void use(const std::string& path);
    // What to say of lines that are of no path that use() was told of; empty: there are none.
    std::string unused() const;
    // Of all that is in the file; 0 without one.
    std::uint64_t digest() const { return digest_; }

private:
    enum class How { own, none, file };
    void read(const std::string& path);

    How how_ = How::own;
    std::string file_;
    struct Line {
        Label label;
        std::uint64_t number = 0;  // from 1
        bool used = false;
    };
    std::unordered_map<std::string, Line> labels_;
    std::uint64_t digest_ = 0;
};

}  // namespace feedline
