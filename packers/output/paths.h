// Paths as users give them.
#pragma once

#include <filesystem>
#include <string>

namespace feedline {

inline std::string without_trailing_slashes(std::string path) {
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    return path;
}

// The directory in which `path` is or will be.
inline std::string parent_directory(const std::string& path) {
    const std::filesystem::path parent = std::filesystem::path(without_trailing_slashes(path)).parent_path();
    return parent.empty() ? "." : parent.native();
}

}  // namespace feedline
