// Texts by number, one after the other in memory: 8 bytes each and their own length. Keys of samples, texts of labels.
//
// Thread-safety: built by one thread, then const members may be called from any thread at once.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace feedline {

class KeyList {
public:
    void add(std::string_view key) {
        bytes_ += key;
        ends_.push_back(bytes_.size());
    }
    std::size_t size() const { return ends_.size(); }
    std::string_view operator[](std::size_t i) const {
        const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
        return std::string_view(bytes_).substr(begin, ends_[i] - begin);
    }

private:
    std::string bytes_;
    std::vector<std::size_t> ends_;
};

}  // namespace feedline
