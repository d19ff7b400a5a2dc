// What can be refused before anything is read: contradictions, unknown names, what this build, kernel or user cannot
// do.
#pragma once

#include <string>
#include <vector>

#include "bench/options.h"

namespace feedline {

// What the machine offers, apart from what was asked for, so that refusals can be tested on any machine.
struct Capabilities {
    bool root = false;
    bool crc = false;   // --decode crc
    bool jpeg = false;  // --decode jpeg
    unsigned cuda_devices = 0;
    std::string no_cuda_reason;
    std::uint64_t max_threads = 0;  // that this user may run
};
Capabilities machine_capabilities();

// Throws Error{usage}: one line, the first thing that is wrong.
void check_options(const BenchOptions& options, const Capabilities& machine);

// auto is cuda where there is a usable GPU. `options` passed check_options().
DeviceKind chosen_device(const BenchOptions& options, const Capabilities& machine);

}  // namespace feedline
