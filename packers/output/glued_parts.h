// The bytes of a sample's parts as they come, with what a format puts before, between and behind them.
//
// Not thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "packers/packer.h"

namespace feedline {

class GluedParts {
public:
    // glue[i] stands before part i, the last one behind all: one more than there are parts.
    void begin(std::span<const PartHead> parts, std::vector<std::string> glue) {
        left_bytes_.clear();
        for (const PartHead& part : parts) left_bytes_.push_back(part.bytes);
        glue_ = std::move(glue);
        part_ = 0;
        glued_ = false;
    }

    // Calls sink(span) with everything, in order. No more bytes may come than the parts have together.
    template <typename Sink>
    void append(std::span<const std::byte> bytes, const Sink& sink) {
        while (!bytes.empty()) {
            reach_part(sink);
            const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), left_bytes_[part_]));
            sink(bytes.first(n));
            bytes = bytes.subspan(n);
            left_bytes_[part_] -= n;
        }
    }

    template <typename Sink>
    void end(const Sink& sink) {
        reach_part(sink);
        sink(std::as_bytes(std::span(glue_.back())));
    }

private:
    // To the next part that is not complete, over empty ones.
    template <typename Sink>
    void reach_part(const Sink& sink) {
        for (; part_ < left_bytes_.size(); ++part_, glued_ = false) {
            if (!glued_) sink(std::as_bytes(std::span(glue_[part_])));
            glued_ = true;
            if (left_bytes_[part_] > 0) return;
        }
    }

    std::vector<std::uint64_t> left_bytes_;  // of each part
    std::vector<std::string> glue_;
    std::size_t part_ = 0;
    bool glued_ = false;  // what stands before part_ was given out
};

}  // namespace feedline
