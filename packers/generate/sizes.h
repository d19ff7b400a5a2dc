// How large sample i is.
//
// The sizes are the same on every machine: they come from additions, multiplications, divisions and square roots of
// IEEE doubles, which are exact by the standard, and not from the C library's exp and log or the standard library's
// distributions, which are not.
#pragma once

#include <cstdint>

#include "packers/generate/generate.h"

namespace feedline {

struct SizeRange {
    std::uint64_t smallest_bytes = 1;
    std::uint64_t largest_bytes = std::uint64_t{1} << 42U;
};

class SizeModel {
public:
    // Throws Error{usage} for a mean of 0, above 1 TiB or outside `range`, a standard deviation above the mean (normal)
    // or ten times the mean (lognormal).
    //
    // lognormal: parameters from the moments, mu = ln(m^2 / sqrt(s^2 + m^2)), sigma^2 = ln(1 + s^2 / m^2).
    // normal: values below 1 byte are drawn again, which raises the mean a little when the standard deviation is large
    //   (by 2 % at a deviation of 47 % of the mean).
    // A standard deviation of 0 gives every sample the mean. A value is rounded to whole bytes; what then lies outside
    // `range` becomes its nearest end.
    SizeModel(SizeDistribution distribution, std::uint64_t mean_bytes, std::uint64_t stddev_bytes, std::uint64_t seed,
              const SizeRange& range);

    // Thread-safe. About 50 ns.
    std::uint64_t size_bytes(std::uint64_t sample) const;

private:
    std::uint64_t in_range(double value) const;

    SizeDistribution distribution_;
    std::uint64_t mean_bytes_;
    double mean_;
    double stddev_;
    double mu_ = 0;
    double sigma_ = 0;
    std::uint64_t seed_;
    SizeRange range_;
};

// exp and natural logarithm from basic arithmetic: the same bits on every machine, within a few units in the last place
// of the exact value. |x| <= 700; 0 < x < infinity, normal.
double reproducible_exp(double x);
double reproducible_log(double x);

}  // namespace feedline
