#include "core/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace feedline {

std::size_t Histogram::bucket_of(std::uint64_t value) {
    if (value < kSubBuckets) return static_cast<std::size_t>(value);
    // The top kSubBucketBits bits of the value select the bucket: the leading one and kSubBucketBits-1 more.
    const unsigned shift = static_cast<unsigned>(std::bit_width(value)) - kSubBucketBits;
    return kSubBuckets + (shift - 1) * kHalf + static_cast<std::size_t>((value >> shift) - kHalf);
}

std::int64_t Histogram::upper_bound_of(std::size_t bucket) {
    if (bucket < kSubBuckets) return static_cast<std::int64_t>(bucket);
    const std::size_t above = bucket - kSubBuckets;
    const unsigned shift = static_cast<unsigned>(above / kHalf) + 1;
    const std::uint64_t top = kHalf + above % kHalf;
    return static_cast<std::int64_t>(((top + 1) << shift) - 1);
}

void Histogram::record(std::int64_t value, std::uint64_t count) {
    if (count == 0) return;
    value = std::max<std::int64_t>(value, 0);
    if (counts_.empty()) counts_.resize(kBuckets);
    counts_[bucket_of(static_cast<std::uint64_t>(value))] += count;
    max_ = std::max(max_, value);
    min_ = count_ == 0 ? value : std::min(min_, value);
    count_ += count;
    sum_ += static_cast<double>(value) * static_cast<double>(count);
}

void Histogram::merge(const Histogram& other) {
    if (other.count_ == 0) return;
    if (counts_.empty()) counts_.resize(kBuckets);
    for (std::size_t i = 0; i < kBuckets; ++i) counts_[i] += other.counts_[i];
    max_ = std::max(max_, other.max_);
    min_ = count_ == 0 ? other.min_ : std::min(min_, other.min_);
    count_ += other.count_;
    sum_ += other.sum_;
}

double Histogram::mean() const {
    return count_ == 0 ? 0 : sum_ / static_cast<double>(count_);
}

std::int64_t Histogram::quantile(double fraction) const {
    if (count_ == 0) return 0;
    const double wanted = std::ceil(std::clamp(fraction, 0.0, 1.0) * static_cast<double>(count_));
    const auto rank = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(wanted));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < kBuckets; ++i) {
        seen += counts_[i];
        if (seen >= rank) return std::clamp(upper_bound_of(i), min_, max_);
    }
    return max_;
}

}  // namespace feedline
