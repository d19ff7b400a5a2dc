// What holds the accelerator up, from the measured epoch and the controls. Pure functions.
#pragma once

#include <string>

#include "bench/result.h"

namespace feedline {

// From the last epoch and the controls:
// accelerator if idle is below 2 %; else harness if the null-storage idle is over half of the measured; else h2d if
// that cause is the largest; else storage if the warm idle is below half of the measured; else cpu. At step time 0
// rates take the place of idle, and a factor of 1.1 counts as a difference. Unknown when the control that decides is
// missing.
Bottleneck find_bottleneck(const Result& result);

// One sentence for a person on what holds the accelerators up, by which figure, and one on the next thing to try.
std::string explain(const Result& result);

}  // namespace feedline
