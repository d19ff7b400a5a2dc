// A dataset of equal small files in memory (tmpfs where there is one), removed again at the end.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "loaders/dataset.h"

namespace feedline {

class FilesInMemory {
public:
    // Throws Error{io, out_of_space}.
    FilesInMemory(std::uint64_t files, std::uint64_t bytes_a_file);
    ~FilesInMemory();
    FilesInMemory(const FilesInMemory&) = delete;
    FilesInMemory& operator=(const FilesInMemory&) = delete;

    const Dataset& dataset() const { return *dataset_; }
    std::shared_ptr<const Dataset> shared_dataset() const { return dataset_; }

private:
    std::filesystem::path root_;
    std::shared_ptr<const Dataset> dataset_;
};

}  // namespace feedline
