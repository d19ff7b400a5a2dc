// Who is told how a run gets on. All calls come from the thread that runs the measurement.
#pragma once

#include <cstdint>
#include <string>

#include "bench/pipeline.h"
#include "bench/result.h"
#include "core/clock.h"

namespace feedline {

// When a measured epoch will be over; 0 where that does not end it or is not known.
struct Goal {
    std::uint64_t steps = 0;
    Nanoseconds duration_ns = 0;
};

class BenchObserver {
public:
    virtual ~BenchObserver() = default;

    // Work beside the measurement: "indexing /data/train", "evicting", "control: warm". `total` 0: not known.
    virtual void working(const std::string& what, std::uint64_t done, std::uint64_t total) = 0;
    // A measured epoch, now and then.
    virtual void measuring(const std::string& what, const Progress& progress, const Goal& goal) = 0;
    // A line for a person who waits, whether at a terminal or behind a pipe.
    virtual void announce(const std::string& line) = 0;
    // A combination is over, well or not.
    virtual void finished(const Result& result) = 0;
};

}  // namespace feedline
