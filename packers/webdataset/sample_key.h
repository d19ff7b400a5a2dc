// What a sample is called in a WebDataset archive.
//
// The key is the sample's path without its suffix, or with it where another sample would otherwise have the same; every
// byte that would change its meaning is written as %XX: the dot, which ends a key, '%' itself, white space, which
// separates in index files, control characters, and what is not UTF-8. So different paths have different keys, and a
// key tells the path.
//
// Thread-safety: pure functions.
#pragma once

#include <string>
#include <string_view>

namespace feedline::webdataset {

std::string sample_key(std::string_view path, bool without_suffix);

// What a part is called: its name in lower case, as readers compare it; "bin" for one without a name, with one that a
// member's name cannot hold, or with that of the label.
std::string part_extension(std::string_view name);

}  // namespace feedline::webdataset
