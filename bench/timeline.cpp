#include "bench/timeline.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace feedline {
namespace {

// What a sample is in while it is outstanding; `done` counts nowhere.
enum State : std::uint8_t { kOpening, kReading, kDecoding, kDone };
constexpr std::size_t kStates = 4;
constexpr std::array<Cause, 3> kCauseOf{Cause::open, Cause::read, Cause::decode};

double length(Nanoseconds from_ns, Nanoseconds to_ns) {
    return static_cast<double>(to_ns - from_ns);
}

// Mean of what is there; absent when nothing is.
std::optional<double> mean(std::span<const IdleFigures> figures, std::optional<double> IdleFigures::*member) {
    double sum = 0;
    unsigned count = 0;
    for (const IdleFigures& one : figures) {
        if (!(one.*member)) continue;
        sum += *(one.*member);
        ++count;
    }
    if (count == 0) return std::nullopt;
    return sum / count;
}

}  // namespace

std::string_view to_string(Cause cause) {
    static constexpr std::array<std::string_view, kCauses> kNames{"open", "read", "decode", "staging",
                                                                  "h2d",  "sync", "other"};
    return kNames[static_cast<std::size_t>(cause)];
}

double Causes::total() const {
    return std::accumulate(ns.begin(), ns.end(), 0.0);
}

Causes& Causes::operator+=(const Causes& other) {
    for (std::size_t i = 0; i < kCauses; ++i) ns[i] += other.ns[i];
    return *this;
}

Causes GapAttribution::operator()(Nanoseconds gap_start, const StepTimes& step, Nanoseconds slot_ns,
                                  std::span<const RequestTrace> trace) {
    Causes causes;
    const Nanoseconds gap_end = step.start_ns;
    if (gap_end <= gap_start) return causes;

    const Nanoseconds ready = std::clamp(step.ready_ns, gap_start, gap_end);
    const Nanoseconds copied = std::clamp(step.copy_end_ns, ready, gap_end);
    causes[Cause::h2d] = length(ready, copied);
    causes[Cause::sync] = length(copied, gap_end);
    if (ready > gap_start) {
        const Nanoseconds slot = std::clamp(slot_ns, gap_start, ready);
        causes[Cause::staging] = length(gap_start, slot);
        share(slot, ready, trace, causes);
    }
    return causes;
}

// [from_ns, to_ns) among the samples that are outstanding at each instant, in proportion to the state they are in.
void GapAttribution::share(Nanoseconds from_ns, Nanoseconds to_ns, std::span<const RequestTrace> trace,
                           Causes& causes) {
    std::array<std::uint64_t, kStates> samples_in{};  // by state, at `from_ns`
    transitions_.clear();
    for (const RequestTrace& request : trace) {
        // Times that decrease would be a fault of an engine; they must not turn into negative parts.
        std::array<Nanoseconds, 5> at{};
        at[0] = request.issued_ns;
        at[1] = std::max(request.opened_ns, at[0]);
        at[2] = std::max(request.read_ns, at[1]);
        at[3] = std::max(request.decoded_ns, at[2]);
        at[4] = std::numeric_limits<Nanoseconds>::max();
        static constexpr std::array<State, 4> kNext{kOpening, kReading, kDecoding, kDone};

        State state = kReading;  // until it is issued a request waits for queue depth, which counts as reading
        std::size_t next = 0;
        for (; next < kNext.size() && at[next] <= from_ns; ++next) state = kNext[next];
        samples_in[state] += request.samples;
        for (; next < kNext.size() && at[next] < to_ns; ++next) {
            const bool lasts = at[next] < at[next + 1];
            if (!lasts || kNext[next] == state) continue;
            transitions_.push_back({at[next], request.samples, state, kNext[next]});
            state = kNext[next];
        }
    }
    std::sort(transitions_.begin(), transitions_.end(),
              [](const Transition& a, const Transition& b) { return a.time_ns < b.time_ns; });

    Nanoseconds now = from_ns;
    const auto advance_to = [&](Nanoseconds time_ns) {
        if (time_ns == now) return;
        const double span_ns = length(now, time_ns);
        now = time_ns;
        const std::uint64_t outstanding = samples_in[kOpening] + samples_in[kReading] + samples_in[kDecoding];
        if (outstanding == 0) {
            causes[Cause::other] += span_ns;
            return;
        }
        const double per_sample_ns = span_ns / static_cast<double>(outstanding);
        for (std::size_t state = 0; state < kCauseOf.size(); ++state)
            causes[kCauseOf[state]] += per_sample_ns * static_cast<double>(samples_in[state]);
    };
    for (const Transition& transition : transitions_) {
        advance_to(transition.time_ns);
        samples_in[transition.from] -= transition.samples;
        samples_in[transition.to] += transition.samples;
    }
    advance_to(to_ns);
}

void Timeline::begin(Nanoseconds t0_ns) {
    *this = Timeline(first_steady_);
    t0_ns_ = t0_ns;
    last_end_ns_ = t0_ns;
}

void Timeline::add(const StepTimes& step, Nanoseconds slot_ns, std::span<const RequestTrace> trace) {
    account(step, slot_ns, trace, true);
}

void Timeline::add_without_samples(const StepTimes& step, Nanoseconds slot_ns, std::span<const RequestTrace> trace) {
    account(step, slot_ns, trace, false);
}

void Timeline::account(const StepTimes& step, Nanoseconds slot_ns, std::span<const RequestTrace> trace,
                       bool has_samples) {
    StepTimes cut = step;
    cut.start_ns = std::max(step.start_ns, last_end_ns_);
    cut.end_ns = std::max(step.end_ns, cut.start_ns);
    const double step_ns = length(cut.start_ns, cut.end_ns);
    const double busy_ns = has_samples ? step_ns : 0;
    Causes gap = attribute_(last_end_ns_, cut, slot_ns, trace);
    gap[Cause::other] += step_ns - busy_ns;
    causes_ += gap;
    if (ends_.empty()) first_fill_ns_ = length(t0_ns_, cut.start_ns);

    busy_ns_ += busy_ns;
    if (!ends_.empty()) busy_after_first_ns_ += busy_ns;
    if (ends_.size() >= first_steady_) {
        busy_steady_ns_ += busy_ns;
        steady_causes_ += gap;
    }
    ends_.push_back(cut.end_ns);
    last_end_ns_ = cut.end_ns;
}

void Timeline::cut(Nanoseconds cut_ns, const StepTimes& next, Nanoseconds slot_ns,
                   std::span<const RequestTrace> trace) {
    StepTimes part = next;
    part.end_ns = std::max(cut_ns, last_end_ns_);
    part.start_ns = std::clamp(next.start_ns, last_end_ns_, part.end_ns);
    causes_ += attribute_(last_end_ns_, part, slot_ns, trace);
    if (ends_.empty()) first_fill_ns_ = length(t0_ns_, part.start_ns);
    unfinished_ns_ = part.end_ns - part.start_ns;
    last_end_ns_ = part.start_ns;
}

IdleFigures Timeline::figures(Nanoseconds t1_ns) const {
    IdleFigures out;
    out.t0_ns = t0_ns_;
    out.t1_ns = std::max(t1_ns - unfinished_ns_, last_end_ns_);
    out.unfinished_ns = static_cast<double>(unfinished_ns_);
    out.last_end_ns = ends_.empty() ? t0_ns_ : ends_.back();
    out.steps = ends_.size();
    out.busy_ns = busy_ns_;
    out.by_cause = causes_;
    out.end_wait_ns = length(last_end_ns_, out.t1_ns);
    out.by_cause[Cause::sync] += out.end_wait_ns;
    out.first_fill_ns = first_fill_ns_;
    out.steady_by_cause = steady_causes_;
    out.steady_steps = ends_.size() > first_steady_ ? ends_.size() - first_steady_ : 0;
    const double whole_ns = length(out.t0_ns, out.t1_ns);
    out.idle_ns = whole_ns - busy_ns_;
    if (whole_ns > 0) out.fraction = out.idle_ns / whole_ns;

    // Over whole steps: a part of one would bend them.
    if (ends_.size() > 1 && out.last_end_ns > ends_.front())
        out.mlperf_utilization = busy_after_first_ns_ / length(ends_.front(), out.last_end_ns);
    if (ends_.size() > first_steady_) {
        const Nanoseconds steady_start = ends_[first_steady_ - 1];
        if (out.last_end_ns > steady_start)
            out.steady_fraction = 1 - busy_steady_ns_ / length(steady_start, out.last_end_ns);

        const std::size_t steady_steps = ends_.size() - first_steady_;
        const std::size_t first_half = steady_steps / 2;
        const Nanoseconds middle = ends_[first_steady_ - 1 + first_half];
        if (first_half > 0 && middle > steady_start && out.last_end_ns > middle) {
            const double rate_before = static_cast<double>(first_half) / length(steady_start, middle);
            const double rate_after = static_cast<double>(steady_steps - first_half) / length(middle, out.last_end_ns);
            out.drift = rate_after / rate_before - 1;
        }
    }
    return out;
}

IdleFigures combine(std::span<const Timeline* const> devices, Nanoseconds cut_ns) {
    Nanoseconds t1_ns = cut_ns;
    for (const Timeline* device : devices) t1_ns = std::max(t1_ns, device->last_end_ns());

    std::vector<IdleFigures> each;
    each.reserve(devices.size());
    for (const Timeline* device : devices) each.push_back(device->figures(t1_ns));

    IdleFigures out;
    const auto count = static_cast<double>(each.size());
    out.t0_ns = each.front().t0_ns;
    double span_ns = 0;
    for (const IdleFigures& one : each) {
        span_ns += length(one.t0_ns, one.t1_ns) / count;
        out.unfinished_ns += one.unfinished_ns / count;
        out.last_end_ns = std::max(out.last_end_ns, one.last_end_ns);
        out.steps += one.steps;
        out.busy_ns += one.busy_ns / count;
        out.idle_ns += one.idle_ns / count;
        out.steady_steps += one.steady_steps;
        out.first_fill_ns += one.first_fill_ns / count;
        out.end_wait_ns += one.end_wait_ns / count;
        for (std::size_t i = 0; i < kCauses; ++i) {
            out.by_cause.ns[i] += one.by_cause.ns[i] / count;
            out.steady_by_cause.ns[i] += one.steady_by_cause.ns[i] / count;
        }
    }
    if (out.steps == 0) {
        span_ns += out.unfinished_ns;
        out.busy_ns += out.unfinished_ns;
    }
    out.t1_ns = out.t0_ns + std::llround(span_ns);
    if (span_ns > 0) out.fraction = out.idle_ns / span_ns;
    out.steady_fraction = mean(each, &IdleFigures::steady_fraction);
    out.mlperf_utilization = mean(each, &IdleFigures::mlperf_utilization);
    out.drift = mean(each, &IdleFigures::drift);
    return out;
}

}  // namespace feedline
