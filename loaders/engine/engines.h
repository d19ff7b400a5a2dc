// The engines themselves, for engine.cpp and nobody else: callers use make_engine().
#pragma once

#include <memory>

#include "loaders/engine/engine.h"

namespace feedline {

// IORING_MAX_ENTRIES in the kernel's io_uring/io_uring.h; the synchronous engines keep to the same, so that one option
// fits all.
inline constexpr unsigned kMaxQueueDepth = 32768;

std::unique_ptr<Engine> make_pread_engine(const EngineOptions& options);
std::unique_ptr<Engine> make_null_engine(const EngineOptions& options);
std::unique_ptr<Engine> make_mmap_engine(const EngineOptions& options);
std::unique_ptr<Engine> make_native_engine(const EngineOptions& options);
std::unique_ptr<Engine> make_uring_engine(const EngineOptions& options);  // only in builds with liburing

}  // namespace feedline
