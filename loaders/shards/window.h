// Looking into a file while it is being indexed: a few bytes here, a few further on, with as few reads as serve that.
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/fd.h"

namespace feedline {

class Window {
public:
    virtual ~Window() = default;

    // Of what is looked into; of a stream whose end is not known yet: more than any has.
    virtual std::uint64_t size_bytes() const = 0;
    virtual const std::string& path() const = 0;

    // The bytes from `offset` on, `want` of them or as many as there are; valid until the next call. May read ahead at
    // most `ahead` bytes beyond. Throws Error{io, changed, corrupt}.
    virtual std::span<const std::byte> at(std::uint64_t offset, std::size_t want, std::size_t ahead = 0) = 0;
};

class FileWindow final : public Window {
public:
    // Opens the file, and asks the kernel for no read-ahead of its own. Throws Error{io}.
    FileWindow(std::string path, std::uint64_t size_bytes);

    std::uint64_t size_bytes() const override { return size_bytes_; }
    const std::string& path() const override { return path_; }

    // Throws Error{io}, and Error{changed} for a file that has become shorter.
    std::span<const std::byte> at(std::uint64_t offset, std::size_t want, std::size_t ahead = 0) override;

    std::uint64_t reads() const { return reads_; }

private:
    std::string path_;
    Fd fd_;
    std::uint64_t size_bytes_;
    std::vector<std::byte> buffer_;
    std::uint64_t begin_bytes_ = 0;  // of what buffer_ holds
    std::size_t held_bytes_ = 0;
    std::uint64_t reads_ = 0;
};

}  // namespace feedline
