// Stacks that suffice, whatever the limits on them are (ulimit -s, ulimit -v).
#pragma once

#include <functional>

namespace feedline {

// Runs `body` and returns what it returns: on a thread of its own where the main thread may not have the stack that it
// takes. All threads that are started from then on get stacks of at least 1 MiB, and no more than that where address
// space is limited: the usual 8 MiB for each of a few dozen readers would be most of it. To be called once, before any
// thread is started. `body` must not throw. Throws std::system_error where no thread can be started.
int with_enough_stack(const std::function<int()>& body);

}  // namespace feedline
