// A latency histogram of fixed size with bounded relative error: log-linear buckets, as HdrHistogram lays them out.
//
// Values are nanoseconds (or any non-negative integer); negative values count as 0. Values below 2^kSubBucketBits are
// exact; above, the relative error is at most 2^-(kSubBucketBits-1), here 1.6 %. Memory: about 30 KiB, on the heap, for
// stacks may be small. Not thread-safe: one a thread, merged at the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace feedline {

class Histogram {
public:
    void record(std::int64_t value) { record(value, 1); }
    void record(std::int64_t value, std::uint64_t count);
    void merge(const Histogram& other);

    std::uint64_t count() const { return count_; }
    std::int64_t max() const { return max_; }  // exact; 0 when empty
    std::int64_t min() const { return min_; }  // exact; 0 when empty
    double mean() const;
    // Smallest recorded bucket's upper bound below which at least `fraction` (0 to 1) of the values lie, never above
    // max().
    std::int64_t quantile(double fraction) const;

private:
    static constexpr unsigned kSubBucketBits = 7;
    static constexpr unsigned kSubBuckets = 1U << kSubBucketBits;
    static constexpr unsigned kHalf = kSubBuckets / 2;
    static constexpr std::size_t kBuckets = kSubBuckets + (63 - kSubBucketBits) * kHalf;

    static std::size_t bucket_of(std::uint64_t value);
    static std::int64_t upper_bound_of(std::size_t bucket);

    std::vector<std::uint64_t> counts_;  // by bucket; empty as long as there is none
    std::uint64_t count_ = 0;
    double sum_ = 0;
    std::int64_t max_ = 0;
    std::int64_t min_ = 0;
};

}  // namespace feedline
