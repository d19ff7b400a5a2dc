// When what was submitted is over. Streams run in order, copies of one GPU one after another, and a kernel that polls a
// flag ends early once somebody looks and finds it set; then everything behind it moves forward.
//
// Not thread-safe; the model's.
#pragma once

#include <deque>
#include <limits>
#include <memory>
#include <vector>

#include "core/clock.h"

namespace feedline::test::fake_cudart {

// The time of an event, told anew when a kernel before it ends early.
using Moment = std::shared_ptr<Nanoseconds>;

struct Work {
    Nanoseconds length_ns = 0;
    bool copies = false;
    const unsigned* stop = nullptr;     // polled flag, in memory that lives until forget(); null: none
    Nanoseconds stopped_length_ns = 0;  // what a launch takes that finds it set
};

class Timetable {
public:
    void submit(std::size_t stream, int gpu, const Work& work);
    Moment record(std::size_t stream);
    void wait(std::size_t stream, const Moment& moment);

    // Looks at every flag that is polled by what is not over yet.
    void look_at_flags();
    // Nobody looks at this flag any more.
    void forget(const unsigned* stop);

private:
    static constexpr Nanoseconds kNotStopped = std::numeric_limits<Nanoseconds>::max();

    struct Entry {
        enum class Kind { work, record, wait };
        Kind kind = Kind::work;
        std::size_t stream = 0;
        int gpu = 0;
        Nanoseconds submitted_ns = 0;
        Work work{};
        Moment moment{};  // written by a record, read by a wait
        Nanoseconds stopped_ns = kNotStopped;
        Nanoseconds end_ns = 0;
    };

    // When streams and copy engines have nothing left to do.
    struct Free {
        std::vector<Nanoseconds> stream_ns;
        std::vector<Nanoseconds> engine_ns;
    };

    static void place(Entry& entry, Free& free);
    void add(Entry entry);

    std::deque<Entry> entries_;  // in the order of submission, from the first that was not over when it was looked at
    Free before_;                // them
    Free after_;                 // them
};

}  // namespace feedline::test::fake_cudart
