// Counts what a scan found that is no sample, by kind. Not thread-safe: one a thread, merged at the end.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "loaders/dataset.h"

namespace feedline {

class OddityCounter {
public:
    // Of several examples the smallest in byte order stays, so that the answer does not depend on the thread count.
    void add(std::string_view kind, std::string example, std::uint64_t count = 1);
    void merge(const OddityCounter& other);
    std::vector<Oddity> list() const;  // sorted by kind

private:
    std::map<std::string, Oddity, std::less<>> by_kind_;
};

}  // namespace feedline
