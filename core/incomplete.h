// How a directory says that what is being written into it is not whole yet.
#pragma once

namespace feedline {

// A file of this name in it: made first, and removed last.
inline constexpr const char* kIncompleteMarker = ".feedline-incomplete";

}  // namespace feedline
