// Which kernels the program holds: nvcc's code registers each from a static constructor.
#pragma once

#include <string>

namespace feedline::test::fake_cudart {

// The mangled name of the kernel whose host stub is `function`; empty when there is none.
std::string kernel_name(const void* function);

}  // namespace feedline::test::fake_cudart
