// Looking into what a compressed file inflates to, forwards only.
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "loaders/shards/inflate.h"
#include "loaders/shards/window.h"

namespace feedline {

class InflateWindow final : public Window {
public:
    // Throws Error{io, unsupported}. `access` takes places to begin at as they are passed, and must outlive it.
    InflateWindow(std::string path, AccessPoints& access);

    std::uint64_t size_bytes() const override { return size_bytes_; }
    const std::string& path() const override { return path_; }
    // `offset` may not be before that of the last call. What is jumped over is inflated all the same. Throws
    // Error{corrupt} where the stream is damaged or not whole, Error{io}.
    std::span<const std::byte> at(std::uint64_t offset, std::size_t want, std::size_t ahead = 0) override;

    // Inflates what is left. Throws as at() does.
    void finish();

    std::uint64_t inflated_bytes() const { return inflater_.position_bytes(); }  // so far
    std::uint64_t file_position_bytes() const { return inflater_.file_position_bytes(); }

private:
    std::size_t inflate(std::span<std::byte> out);
    void refuse_what_is_broken() const;
    void jump_to(std::uint64_t offset);

    static constexpr std::uint64_t kUnknown = std::numeric_limits<std::int64_t>::max();

    std::string path_;
    Inflater inflater_;
    AccessPoints& access_;
    std::uint64_t size_bytes_ = kUnknown;
    std::vector<std::byte> buffer_;
    std::uint64_t begin_bytes_ = 0;  // of what buffer_ holds
    std::size_t held_bytes_ = 0;
};

}  // namespace feedline
