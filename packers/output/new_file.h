// A new file that is written from its beginning to its end.
//
// Small pieces are gathered, large ones go to the kernel from where they are. The disk is set to work while writing
// goes on, so that little is left for the end. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/fd.h"
#include "packers/output/rate_limit.h"

namespace feedline {

class NewFile {
public:
    // Makes the file, which must not exist. `rate` is not owned and may be null. Throws Error{io, out_of_space}, as do
    // all below, with path and offset.
    NewFile(std::string path, RateLimit* rate);

    void append(std::span<const std::byte> bytes);
    void append(std::string_view text) { append(std::as_bytes(std::span(text))); }
    void append_zeros(std::uint64_t count);

    std::uint64_t bytes() const { return written_bytes_ + gathered_.size(); }
    std::uint32_t crc32c() const { return crc32c_; }  // of all that was appended
    const std::string& path() const { return path_; }

    // Everything is on disk when it returns, and the file is closed.
    void finish();

private:
    void gather(std::span<const std::byte> bytes);
    void write_out(std::span<const std::byte> more);
    void set_disk_to_work(bool all);

    std::string path_;
    Fd fd_;
    RateLimit* rate_;
    std::vector<std::byte> gathered_;
    std::uint64_t written_bytes_ = 0;
    std::uint64_t flushing_bytes_ = 0;  // up to here the disk was asked to write
    std::uint32_t crc32c_ = 0;
};

// Makes what was renamed, made or removed in the directory of `path` last. Throws Error{io}.
void sync_directory_of(const std::string& path);

}  // namespace feedline
