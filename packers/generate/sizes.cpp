// Compiled with -ffp-contract=off: a fused multiply-add rounds once where two operations round twice, and whether there
// is one depends on the machine.
#include "packers/generate/sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/error.h"
#include "core/units.h"
#include "packers/generate/mix.h"

namespace feedline {
namespace {

constexpr std::uint64_t kLargestMeanBytes = std::uint64_t{1} << 40U;

// ln 2 in two parts; the first has 20 trailing zero bits, so that its product with a small whole number is exact.
constexpr double kLn2High = 0x1.62e42fee00000p-1;
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;

// Standard normal deviate by Marsaglia's polar method (Marsaglia and Bray, 1964).
double normal_deviate(SplitMix& random) {
    for (;;) {
        const double u = 2 * random.next_unit() - 1;
        const double v = 2 * random.next_unit() - 1;
        const double s = u * u + v * v;
        if (s > 0 && s < 1) return u * std::sqrt(-2 * reproducible_log(s) / s);
    }
}

}  // namespace

double reproducible_exp(double x) {
    // x = k ln 2 + r with |r| <= ln 2 / 2; the series of e^r to r^14 / 14! is below half a unit in the last place.
    const double k = std::floor(x / std::numbers::ln2 + 0.5);
    const double r = (x - k * kLn2High) - k * kLn2Low;
    double sum = 1;
    for (int n = 14; n >= 1; --n) sum = 1 + sum * r / n;
    return std::ldexp(sum, static_cast<int>(k));
}

double reproducible_log(double x) {
    // x = m 2^e with m in [sqrt(1/2), sqrt(2)); ln m = 2 atanh((m - 1) / (m + 1)), whose series in t^2 <= 0.0295 needs
    // 11 terms.
    int exponent = 0;
    double m = std::frexp(x, &exponent);
    if (m < std::numbers::sqrt2 / 2) {
        m *= 2;
        --exponent;
    }
    const double t = (m - 1) / (m + 1);
    const double square = t * t;
    double sum = 0;
    for (int n = 21; n >= 1; n -= 2) sum = sum * square + 1.0 / n;
    return exponent * kLn2High + (exponent * kLn2Low + 2 * t * sum);
}

SizeModel::SizeModel(SizeDistribution distribution, std::uint64_t mean_bytes, std::uint64_t stddev_bytes,
                     std::uint64_t seed, const SizeRange& range)
    : distribution_(distribution),
      mean_bytes_(mean_bytes),
      mean_(static_cast<double>(mean_bytes)),
      stddev_(static_cast<double>(stddev_bytes)),
      seed_(seed),
      range_(range) {
    if (mean_bytes == 0) {
        throw Error(ErrorKind::usage, "the sample size is 0").advise("Give --sample-size at least 1 byte");
    }
    if (mean_bytes > kLargestMeanBytes) {
        throw Error(ErrorKind::usage, fmt::format("a sample size of {} is above 1 TiB", format_size(mean_)));
    }
    if (mean_bytes < range.smallest_bytes || mean_bytes > range.largest_bytes) {
        throw Error(ErrorKind::usage,
                    fmt::format("a sample size of {} cannot be had with this content", format_size(mean_)))
            .advise(fmt::format("Give --sample-size {} to {} bytes", range.smallest_bytes, range.largest_bytes));
    }
    const double limit = distribution == SizeDistribution::normal ? 1 : 10;
    if (stddev_ > limit * mean_) {
        throw Error(ErrorKind::usage,
                    fmt::format("a standard deviation of {} is too large for {} sizes around {}", format_size(stddev_),
                                distribution == SizeDistribution::normal ? "normal" : "lognormal", format_size(mean_)))
            .advise(fmt::format("Give --sample-stddev at most {}", format_size(limit * mean_)));
    }
    const double ratio = stddev_ / mean_;
    const double variance = reproducible_log(1 + ratio * ratio);
    sigma_ = std::sqrt(variance);
    mu_ = reproducible_log(mean_) - variance / 2;  // = ln(m^2 / sqrt(s^2 + m^2))
}

std::uint64_t SizeModel::in_range(double value) const {
    // Clamped before the conversion, which is undefined for what no whole number can hold.
    const auto smallest = static_cast<double>(range_.smallest_bytes);
    const auto largest = static_cast<double>(range_.largest_bytes);
    return static_cast<std::uint64_t>(std::clamp(std::floor(value + 0.5), smallest, largest));
}

std::uint64_t SizeModel::size_bytes(std::uint64_t sample) const {
    if (stddev_ == 0) return mean_bytes_;
    SplitMix random(seed_, sample, Purpose::size);
    if (distribution_ == SizeDistribution::lognormal) {
        return in_range(reproducible_exp(mu_ + sigma_ * normal_deviate(random)));
    }
    for (;;) {
        const double value = mean_ + stddev_ * normal_deviate(random);
        if (value >= 1) return in_range(value);
    }
}

}  // namespace feedline
