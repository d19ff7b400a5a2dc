// Which members of a tar make a sample, by WebDataset's rules (https://github.com/webdataset/webdataset, "The
// WebDataset Format"): a name up to the first dot of its last component is the key, the rest is what the part is
// called.
//
// Thread-safety: pure functions.
#pragma once

#include <optional>
#include <string_view>

namespace feedline::webdataset {

struct MemberName {
    std::string_view key;        // directories included
    std::string_view extension;  // without the dot: "jpg", "seg.png"
};

// Nothing for what belongs to no sample: names without a dot or that begin with one, and `__x__` at the top.
std::optional<MemberName> split_name(std::string_view name);

// Whether a part says something about the sample (`cls`, `json`, `txt`, ...) rather than being what is trained on.
bool is_annotation(std::string_view extension);

}  // namespace feedline::webdataset
