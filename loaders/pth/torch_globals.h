// The names of PyTorch that a pickle may import, and those that are known and not read.
#pragma once

#include <span>

#include "loaders/pickle/value.h"

namespace feedline::pth {

std::span<const pickle::Global> torch_globals();

}  // namespace feedline::pth
