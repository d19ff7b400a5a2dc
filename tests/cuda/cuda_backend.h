// What the real and the stood-in CUDA device have in common.
#pragma once

#include "tests/cuda/backend.h"

namespace feedline::test {

Backend cuda_backend(std::string name);

}  // namespace feedline::test
