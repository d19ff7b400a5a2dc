// File names in Python's texts: bytes that are not UTF-8 stand as lone surrogates U+DC80 to U+DCFF, as os.fsdecode()
// writes them (PEP 383), and pickles hold those as three bytes (ED B2 80 to ED B3 BF).
//
// Thread-safety: pure functions.
#pragma once

#include <string>
#include <string_view>

namespace feedline::pickle {

// `bytes` as the UTF-8 of a text that Python can hold. Injective; UTF-8 stays as it is.
std::string escape_surrogates(std::string_view bytes);

// The bytes that `text` stands for, as os.fsencode() gives them.
std::string unescape_surrogates(std::string_view text);

}  // namespace feedline::pickle
