// A directory that is gone, with all in it, when the test ends.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace feedline::test {

class TempDir {
public:
    // Below $TMPDIR or /tmp; `base` puts it elsewhere, on /dev/shm for a tmpfs.
    explicit TempDir(std::string_view base = {});
    ~TempDir();
    TempDir(const TempDir&) = delete;
    TempDir& operator=(const TempDir&) = delete;

    const std::string& path() const { return path_; }
    std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }

private:
    std::string path_;
};

// Writes `content` to `path`, making the directories above it. Throws std::runtime_error.
void write_file(const std::string& path, std::string_view content);
std::string read_file(const std::string& path);

// `bytes` bytes that depend on `seed` and position alone.
std::string pattern(std::size_t bytes, unsigned seed);

}  // namespace feedline::test
