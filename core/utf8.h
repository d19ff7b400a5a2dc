// Where characters begin and end.
#pragma once

#include <cstddef>
#include <string_view>

namespace feedline {

// Length of the valid UTF-8 sequence at the start of `bytes` (1 to 4), which are not empty; 0: there is none (RFC 3629:
// no overlong forms, no surrogates).
std::size_t utf8_sequence_length(std::string_view bytes);

bool is_utf8(std::string_view bytes);

}  // namespace feedline
