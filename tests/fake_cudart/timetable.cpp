#include "tests/fake_cudart/timetable.h"

#include <algorithm>
#include <utility>

namespace feedline::test::fake_cudart {
namespace {

Nanoseconds& at(std::vector<Nanoseconds>& times, std::size_t number) {
    if (times.size() <= number) times.resize(number + 1);
    return times[number];
}

bool is_set(const unsigned* flag) {
    return __atomic_load_n(flag, __ATOMIC_ACQUIRE) != 0;
}

}  // namespace

void Timetable::submit(std::size_t stream, int gpu, const Work& work) {
    Entry entry{.kind = Entry::Kind::work, .stream = stream, .gpu = gpu, .submitted_ns = now_ns(), .work = work};
    if (work.stop != nullptr && is_set(work.stop)) entry.stopped_ns = entry.submitted_ns;
    add(std::move(entry));
}

Moment Timetable::record(std::size_t stream) {
    auto moment = std::make_shared<Nanoseconds>();
    add({.kind = Entry::Kind::record, .stream = stream, .submitted_ns = now_ns(), .moment = moment});
    return moment;
}

void Timetable::wait(std::size_t stream, const Moment& moment) {
    add({.kind = Entry::Kind::wait, .stream = stream, .submitted_ns = now_ns(), .moment = moment});
}

void Timetable::add(Entry entry) {
    place(entry, after_);
    entries_.push_back(std::move(entry));
}

void Timetable::place(Entry& entry, Free& free) {
    Nanoseconds& stream_ns = at(free.stream_ns, entry.stream);
    switch (entry.kind) {
        case Entry::Kind::work: {
            Nanoseconds& engine_ns = at(free.engine_ns, static_cast<std::size_t>(entry.gpu));
            Nanoseconds start_ns = std::max(entry.submitted_ns, stream_ns);
            if (entry.work.copies) start_ns = std::max(start_ns, engine_ns);
            stream_ns = start_ns + entry.work.length_ns;
            if (entry.stopped_ns != kNotStopped)
                stream_ns = std::min(stream_ns, std::max(entry.stopped_ns, start_ns + entry.work.stopped_length_ns));
            if (entry.work.copies) engine_ns = stream_ns;
            break;
        }
        case Entry::Kind::record:
            stream_ns = std::max(entry.submitted_ns, stream_ns);
            *entry.moment = stream_ns;
            break;
        case Entry::Kind::wait: stream_ns = std::max(stream_ns, *entry.moment); break;
    }
    entry.end_ns = stream_ns;
}

void Timetable::look_at_flags() {
    const Nanoseconds now = now_ns();
    bool stopped = false;
    for (Entry& entry : entries_) {
        if (entry.work.stop == nullptr || entry.stopped_ns != kNotStopped || entry.end_ns <= now) continue;
        if (!is_set(entry.work.stop)) continue;
        entry.stopped_ns = now;
        stopped = true;
    }
    if (stopped) {
        after_ = before_;
        for (Entry& entry : entries_) place(entry, after_);
    }
    while (!entries_.empty() && entries_.front().end_ns <= now) {
        place(entries_.front(), before_);
        entries_.pop_front();
    }
}

void Timetable::forget(const unsigned* stop) {
    for (Entry& entry : entries_)
        if (entry.work.stop == stop) entry.work.stop = nullptr;
}

}  // namespace feedline::test::fake_cudart
