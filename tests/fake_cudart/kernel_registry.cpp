#include "tests/fake_cudart/kernel_registry.h"

#include <cuda_runtime_api.h>

#include <map>

namespace feedline::test::fake_cudart {
namespace {

// In a function: registration runs before main, in no known order with other static constructors.
std::map<const void*, std::string>& registry() {
    static std::map<const void*, std::string> kernels;
    return kernels;
}

}  // namespace

std::string kernel_name(const void* function) {
    const auto found = registry().find(function);
    return found == registry().end() ? std::string() : found->second;
}

}  // namespace feedline::test::fake_cudart

// The names are the runtime's.
// NOLINTBEGIN(readability-identifier-naming)
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wreserved-identifier"
#endif
extern "C" {

void** __cudaRegisterFatBinary(void* /*binary*/) {
    static void* handle = nullptr;
    return &handle;
}

void __cudaRegisterFatBinaryEnd(void** /*handle*/) {}

void __cudaUnregisterFatBinary(void** /*handle*/) {}

// For managed variables, of which there are none; unoptimised code refers to it all the same.
char __cudaInitModule(void** /*handle*/) {
    return 1;
}

void __cudaRegisterFunction(void** /*handle*/, const char* host_function, char* /*device_function*/,
                            const char* device_name, int /*thread_limit*/, uint3* /*thread*/, uint3* /*block*/,
                            dim3* /*block_size*/, dim3* /*grid_size*/, int* /*warp_size*/) {
    feedline::test::fake_cudart::registry()[host_function] = device_name;
}

void __cudaRegisterVar(void** /*handle*/, char* /*host_variable*/, char* /*device_address*/,
                       const char* /*device_name*/, int /*external*/, std::size_t /*bytes*/, int /*constant*/,
                       int /*global*/) {}
}
// NOLINTEND(readability-identifier-naming)
