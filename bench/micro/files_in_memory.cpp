#include "bench/micro/files_in_memory.h"

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <string>
#include <system_error>

#include "core/error.h"

namespace feedline {

FilesInMemory::FilesInMemory(std::uint64_t files, std::uint64_t bytes_a_file) {
    const bool have_tmpfs = std::filesystem::exists("/dev/shm");
    const std::filesystem::path parent = have_tmpfs ? "/dev/shm" : std::filesystem::temp_directory_path();
    std::string name = (parent / "feedline-micro-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw system_error(errno, "cannot make a folder", name);
    root_ = name;
    const std::string content(bytes_a_file, 'x');
    std::filesystem::create_directory(root_ / "class");
    for (std::uint64_t i = 0; i < files; ++i) {
        const std::filesystem::path path = root_ / "class" / std::to_string(i);
        std::ofstream file(path);
        file << content;
        file.close();
        if (!file) throw system_error(errno, "cannot write", path.string());
    }
    dataset_ = open_dataset(root_.string(), "files", {});
}

FilesInMemory::~FilesInMemory() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
}

}  // namespace feedline
