// Which members of a tar make a sample, by WebDataset's rules (https://github.com/webdataset/webdataset, "The
// WebDataset Format"): a name up to the first dot of its last component is the key, the rest is what the part is
// called.
//
// Thread-safety: pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace feedline::webdataset {

struct MemberName {
    std::string_view key;        // directories included
    std::string_view extension;  // without the dot: "jpg", "seg.png"
};

// Nothing for what belongs to no sample: names without a dot or that begin with one, and `__x__` at the top.
std::optional<MemberName> split_name(std::string_view name);

// The path that a member's name tells. Writers that escape what a key cannot hold (ours: a dot, white space and the
// like as %XX) have it back; where the key holds the ending too, it is not there twice. Other names are as they are.
std::string path_in(const MemberName& name);

// Whether a part says something about the sample (`cls`, `json`, `txt`, ...) rather than being what is trained on.
bool is_annotation(std::string_view extension);

}  // namespace feedline::webdataset
