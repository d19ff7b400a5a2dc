// Names that may be any bytes as text that JSON can hold: what is not UTF-8 stands as %XX, and '%' as %25.
//
// Thread-safety: pure functions.
#pragma once

#include <string>
#include <string_view>

namespace feedline {

std::string escaped(std::string_view bytes);
// Throws Error{corrupt} for what escaped() does not write.
std::string unescaped(std::string_view text);

}  // namespace feedline
