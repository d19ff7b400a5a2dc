#include "loaders/engine/engine.h"

#include <fmt/format.h>

#include <sys/resource.h>

#include <algorithm>
#include <array>

#include "core/error.h"
#include "loaders/engine/engines.h"
#include "loaders/engine/uring_support.h"

namespace feedline {

namespace {

constexpr std::array kEngineKinds = {EngineKind::pread,        EngineKind::mmap,   EngineKind::uring,
                                     EngineKind::uring_direct, EngineKind::native, EngineKind::null};

std::uint64_t align_down(std::uint64_t value, std::uint64_t alignment) {
    return value / alignment * alignment;
}

std::uint64_t align_up(std::uint64_t value, std::uint64_t alignment) {
    return align_down(value + alignment - 1, alignment);
}

}  // namespace

std::string_view to_string(EngineKind kind) {
    switch (kind) {
        case EngineKind::pread: return "pread";
        case EngineKind::mmap: return "mmap";
        case EngineKind::uring: return "uring";
        case EngineKind::uring_direct: return "uring-direct";
        case EngineKind::native: return "native";
        case EngineKind::null: return "null";
    }
    return "unknown";
}

EngineKind parse_engine_kind(std::string_view name) {
    for (const EngineKind kind : kEngineKinds) {
        if (name == to_string(kind)) return kind;
    }
    std::string names;
    for (const EngineKind kind : kEngineKinds) names += fmt::format("{}{}", names.empty() ? "" : ", ", to_string(kind));
    throw Error(ErrorKind::usage, fmt::format("no engine is called '{}'", printable(name))).advise("Engines: " + names);
}

Footprint footprint(const Alignment& alignment, const Extent& extent) {
    if (!alignment.direct()) return {extent.length_bytes + 1, 0};
    // One byte more than the extent also here: a whole file whose length is a multiple of the alignment needs a block
    // behind its end for growth to show. Nothing is there to be read, so it costs memory and no I/O.
    const std::uint64_t start = align_down(extent.offset_bytes, alignment.offset_bytes);
    const std::uint64_t end = align_up(extent.offset_bytes + extent.length_bytes + 1, alignment.offset_bytes);
    return {align_up(end - start, alignment.memory_bytes), static_cast<std::uint32_t>(extent.offset_bytes - start)};
}

std::unique_ptr<Engine> make_engine(const EngineOptions& options) {
    const unsigned limit = max_engine_queue_depth(options.kind);
    if (options.queue_depth == 0 || options.queue_depth > limit) {
        throw Error(ErrorKind::usage, fmt::format("queue depth {} is out of range for engine {}", options.queue_depth,
                                                  to_string(options.kind)))
            .advise(fmt::format("One engine takes 1 to {} requests here", limit));
    }
    switch (options.kind) {
        case EngineKind::pread: return make_pread_engine(options);
        case EngineKind::mmap: return make_mmap_engine(options);
        case EngineKind::native: return make_native_engine(options);
        case EngineKind::null: return make_null_engine(options);
        case EngineKind::uring:
        case EngineKind::uring_direct:
#ifdef FEEDLINE_HAVE_URING
            return make_uring_engine(options);
#else
            break;
#endif
    }
    throw Error(ErrorKind::unsupported,
                fmt::format("engine {} cannot run: {}", to_string(options.kind), uring_refusal()))
        .advise("Use engine pread or mmap");
}

unsigned max_engine_queue_depth(EngineKind kind) {
    if (kind != EngineKind::uring && kind != EngineKind::uring_direct) return kMaxQueueDepth;
    // The kernel registers no more direct descriptors than the process may open, though they are none of its own.
    rlimit files{};
    if (getrlimit(RLIMIT_NOFILE, &files) != 0) return kMaxQueueDepth;
    return static_cast<unsigned>(std::clamp<rlim_t>(files.rlim_cur, 1, kMaxQueueDepth));
}

std::span<const EngineKind> available_engines() {
    static constexpr std::array all = {EngineKind::uring_direct, EngineKind::uring, EngineKind::pread,
                                       EngineKind::mmap};
    static const bool uring = uring_refusal().empty();
    return uring ? std::span<const EngineKind>(all) : std::span<const EngineKind>(all).subspan(2);
}

}  // namespace feedline
