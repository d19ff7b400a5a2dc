// A .pth file opened: the object that was saved, and where the storages lie that it refers to. Two forms: the ZIP that
// torch.save writes since 1.6, and the stream of pickles before. See README.md for both layouts.
//
// Thread-safety: immutable once opened.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "loaders/pickle/value.h"
#include "loaders/pth/tensor.h"
#include "loaders/shards/window.h"

namespace feedline::pth {

enum class Form {
    none,
    zip,
    legacy,  // 0.1.10 to 1.5
    tar,     // before 0.1.10
};

// By the first bytes of a file; a ZIP, or a tar, may be of anything.
Form form_of(std::span<const std::byte> start);
// How many bytes form_of() looks at.
constexpr std::size_t kStartBytes = 512;

struct Container {
    std::vector<std::byte> pickle_bytes;
    pickle::Tree tree;
    Storages storages;
    Place place;  // path lives as long as what the container was opened from
};

// Throws Error{usage} for what is no .pth file or a form that is not read, Error{io, changed, corrupt}.
Container open_container(FileWindow& file);

// Whether a ZIP is one of PyTorch's: it holds NAME/data.pkl. False where it cannot be read.
bool is_torch_zip(const std::string& path);

}  // namespace feedline::pth
