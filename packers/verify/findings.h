// What was found so far, from any thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "packers/verify/verify.h"

namespace feedline {

class Findings {
public:
    void add(Finding finding);
    std::uint64_t count() const;
    // The first ones by file and offset.
    std::vector<Finding> list() const;

private:
    mutable std::mutex mutex_;
    std::vector<Finding> findings_;
    std::uint64_t count_ = 0;
};

}  // namespace feedline
