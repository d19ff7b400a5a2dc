#include "cli/stacks.h"

#include <pthread.h>
#include <sys/resource.h>

#include <cstddef>
#include <thread>

namespace feedline {
namespace {

constexpr std::size_t kEnoughBytes = 1U << 20U;

bool limited(__rlimit_resource_t resource, rlim_t below) {
    rlimit limit{};
    return ::getrlimit(resource, &limit) == 0 && limit.rlim_cur < below;
}

void set_thread_stacks() {
    pthread_attr_t attributes;
    if (::pthread_getattr_default_np(&attributes) != 0) return;
    std::size_t bytes = 0;
    ::pthread_attr_getstacksize(&attributes, &bytes);
    if (bytes < kEnoughBytes || limited(RLIMIT_AS, RLIM_INFINITY)) {
        ::pthread_attr_setstacksize(&attributes, kEnoughBytes);
        ::pthread_setattr_default_np(&attributes);
    }
    ::pthread_attr_destroy(&attributes);
}

}  // namespace

int with_enough_stack(const std::function<int()>& body) {
    set_thread_stacks();
    if (!limited(RLIMIT_STACK, kEnoughBytes)) return body();
    int result = 0;
    std::thread([&] { result = body(); }).join();
    return result;
}

}  // namespace feedline
