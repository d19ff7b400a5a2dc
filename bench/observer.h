// Who is told how a run gets on. All calls come from the thread that runs the measurement.
#pragma once

#include <cstdint>
#include <string>

#include "bench/pipeline.h"
#include "bench/result.h"

namespace feedline {

class BenchObserver {
public:
    virtual ~BenchObserver() = default;

    // Work beside the measurement: "indexing /data/train", "evicting", "control: warm". `total` 0: not known.
    virtual void working(const std::string& what, std::uint64_t done, std::uint64_t total) = 0;
    // A measured epoch, now and then; `steps` 0: not known.
    virtual void measuring(const std::string& what, const Progress& progress, std::uint64_t steps) = 0;
    // A combination is over, well or not.
    virtual void finished(const Result& result) = 0;
};

}  // namespace feedline
