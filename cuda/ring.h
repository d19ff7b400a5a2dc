// A queue on a circular array that doubles when full and never shrinks: once it has seen its longest, pushing and
// popping allocate nothing (std::deque allocates a block every few elements). Not thread-safe.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace feedline {

template <typename T>
class Ring {
public:
    bool empty() const { return size_ == 0; }
    std::size_t size() const { return size_; }
    T& front() { return items_[first_]; }
    T& operator[](std::size_t position) { return items_[wrapped(position)]; }  // 0: the front

    void push(T item) {
        if (size_ == items_.size()) grow();
        items_[wrapped(size_)] = std::move(item);
        ++size_;
    }

    void pop() {
        first_ = wrapped(1);
        --size_;
    }

    void clear() {
        first_ = 0;
        size_ = 0;
    }

private:
    std::size_t wrapped(std::size_t position) const {
        const std::size_t at = first_ + position;
        return at < items_.size() ? at : at - items_.size();
    }

    void grow() {
        std::vector<T> larger(items_.empty() ? 16 : items_.size() * 2);
        for (std::size_t k = 0; k < size_; ++k) larger[k] = std::move(items_[wrapped(k)]);
        items_.swap(larger);
        first_ = 0;
    }

    std::vector<T> items_;
    std::size_t first_ = 0;
    std::size_t size_ = 0;
};

}  // namespace feedline
