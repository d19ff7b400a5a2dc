#include "tests/testutil/temp_dir.h"

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace feedline::test {

TempDir::TempDir(std::string_view base) {
    std::string templ =
        (base.empty() ? std::filesystem::temp_directory_path().string() : std::string(base)) + "/feedline-test-XXXXXX";
    if (mkdtemp(templ.data()) == nullptr) throw std::runtime_error("mkdtemp failed: " + templ);
    path_ = templ;
}

TempDir::~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

void write_file(const std::string& path, std::string_view content) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream file(path, std::ios::binary);
    file.write(content.data(), static_cast<std::streamsize>(content.size()));
    if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error("cannot read " + path);
    std::ostringstream content;
    content << file.rdbuf();
    return content.str();
}

std::string pattern(std::size_t bytes, unsigned seed) {
    std::string text(bytes, '\0');
    std::uint64_t state = seed * 0x9E3779B97F4A7C15ULL + 1;
    for (char& c : text) {
        state ^= state << 13U;
        state ^= state >> 7U;
        state ^= state << 17U;
        c = static_cast<char>(state >> 56U);
    }
    return text;
}

}  // namespace feedline::test
