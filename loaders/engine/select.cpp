#include "loaders/engine/select.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <system_error>

#include "core/error.h"
#include "core/fd.h"
#include "loaders/engine/engines.h"
#include "loaders/engine/uring_support.h"

namespace feedline {

namespace {

constexpr std::uint32_t kSmallestBlockBytes = 512;
constexpr std::uint32_t kLargestBlockBytes = 4096;

// A descriptor of our own for `source`, with `extra` open flags; -1 and errno when it cannot be had.
Fd open_source(const Source& source, int extra) {
    const int flags = open_flags(false, false) | O_CLOEXEC | extra;
    if (source.fd < 0) return Fd(openat(source.dir_fd, source.name, flags));
    return Fd(open(fmt::format("/proc/self/fd/{}", source.fd).c_str(), flags));
}

struct FreeDeleter {
    void operator()(void* memory) const { std::free(memory); }
};

AccessAnswer refused(std::string reason) {
    return {.verdict = AccessAnswer::Verdict::refused, .alignment = {}, .reason = std::move(reason)};
}

AccessAnswer direct_with(std::uint32_t memory_bytes, std::uint32_t offset_bytes) {
    // Records follow each other in memory as their blocks do on disk, so the coarser of the two holds for offsets.
    return {.verdict = AccessAnswer::Verdict::works,
            .alignment = {.memory_bytes = std::max(memory_bytes, kSmallestBlockBytes),
                          .offset_bytes = std::max({offset_bytes, memory_bytes, kSmallestBlockBytes})},
            .reason = ""};
}

// For kernels and filesystems that do not tell: memory, offset and length that are a multiple of `block` and of
// nothing coarser.
AccessAnswer try_direct(int fd, std::uint64_t size_bytes) {
    const std::unique_ptr<void, FreeDeleter> memory(
        std::aligned_alloc(kLargestBlockBytes, std::size_t{2} * kLargestBlockBytes));
    if (memory == nullptr) return {};
    for (std::uint32_t block = kSmallestBlockBytes; block <= kLargestBlockBytes; block *= 2) {
        void* destination = static_cast<std::byte*>(memory.get()) + block;
        const off_t offset = size_bytes > 2UL * block ? block : 0;
        if (pread(fd, destination, block, offset) >= 0) return direct_with(block, block);
        if (errno != EINVAL) return {};
    }
    return refused("refuses direct reads at every alignment");
}

// Asks a few of the dataset's files, for it may span filesystems. The first refusal counts; alignments add up to the
// coarsest.
AccessAnswer ask_dataset(const Dataset& dataset, SystemProbe& probe,
                         AccessAnswer (SystemProbe::*question)(const Source&)) {
    AccessAnswer all;
    const std::uint64_t shards = dataset.info().shards;
    if (shards == 0) return all;
    for (const std::uint64_t shard : std::array{std::uint64_t{0}, shards / 2, shards - 1}) {
        std::string scratch;
        const auto id = static_cast<ShardId>(shard);
        const AccessAnswer answer = (probe.*question)(dataset.source(id, scratch));
        if (answer.verdict == AccessAnswer::Verdict::unknown) continue;
        if (answer.verdict == AccessAnswer::Verdict::refused) {
            return refused(fmt::format("the filesystem of {} {}", printable(dataset.path(id)), answer.reason));
        }
        all.verdict = AccessAnswer::Verdict::works;
        all.alignment.memory_bytes = std::max(all.alignment.memory_bytes, answer.alignment.memory_bytes);
        all.alignment.offset_bytes = std::max(all.alignment.offset_bytes, answer.alignment.offset_bytes);
    }
    return all;
}

// Files in memory never wait for a device. An overlay passes on to the file below what it was asked for.
bool harmless_all_the_same(int fd) {
    struct statfs filesystem {};
    if (fstatfs(fd, &filesystem) != 0) return false;
    return filesystem.f_type == TMPFS_MAGIC || filesystem.f_type == RAMFS_MAGIC ||
           filesystem.f_type == OVERLAYFS_SUPER_MAGIC;
}

EngineSelection choose(EngineKind wanted, const Dataset& dataset, SystemProbe& probe) {
    EngineSelection chosen;
    chosen.kind = wanted;
    const auto fall_back = [&](EngineKind kind, std::string_view reason) {
        chosen.kind = kind;
        chosen.fallback = fmt::format("{} -> {}: {}", to_string(wanted), to_string(kind), reason);
        chosen.one_by_one = kind == EngineKind::native;
        return chosen;
    };
    if (!dataset.has_extents() && wanted != EngineKind::native && wanted != EngineKind::null) {
        return fall_back(EngineKind::native,
                         "the samples do not lie in their files as they are (compressed, for one), so only the "
                         "format's own reader has them");
    }
    switch (wanted) {
        case EngineKind::pread: break;
        case EngineKind::null: chosen.one_by_one = !dataset.has_extents(); break;
        case EngineKind::native:
            if (dataset.native_reader() == nullptr)
                return fall_back(EngineKind::pread, "this format has no reader of its own");
            chosen.one_by_one = true;
            break;
        case EngineKind::mmap: {
            const AccessAnswer answer = ask_dataset(dataset, probe, &SystemProbe::mapping);
            if (answer.verdict == AccessAnswer::Verdict::refused) return fall_back(EngineKind::pread, answer.reason);
            break;
        }
        case EngineKind::uring:
        case EngineKind::uring_direct: {
            const std::string refusal = probe.uring_refusal();
            if (!refusal.empty()) return fall_back(EngineKind::pread, refusal);
            if (wanted == EngineKind::uring) break;
            const AccessAnswer answer = ask_dataset(dataset, probe, &SystemProbe::direct_access);
            if (answer.verdict == AccessAnswer::Verdict::refused) return fall_back(EngineKind::uring, answer.reason);
            if (answer.verdict == AccessAnswer::Verdict::unknown) {
                return fall_back(EngineKind::uring, "none of the files asked for their alignment could be opened");
            }
            chosen.alignment = answer.alignment;
            break;
        }
    }
    return chosen;
}

}  // namespace

std::string KernelProbe::uring_refusal() {
    return feedline::uring_refusal();
}

AccessAnswer KernelProbe::direct_access(const Source& source) {
    const Fd fd = open_source(source, O_DIRECT);
    if (!fd) {
        if (errno == EINVAL) return refused("refuses O_DIRECT");
        return {};
    }
    struct statx status {};
    if (statx(fd.get(), "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_DIOALIGN, &status) != 0) return {};
    if ((status.stx_mask & STATX_DIOALIGN) == 0) return try_direct(fd.get(), status.stx_size);
    if (status.stx_dio_offset_align == 0) return refused("has no direct reads for it");
    return direct_with(status.stx_dio_mem_align, status.stx_dio_offset_align);
}

AccessAnswer KernelProbe::mapping(const Source& source) {
    const Fd fd = open_source(source, 0);
    if (!fd) return {};
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void* address = mmap(nullptr, page, PROT_READ, MAP_SHARED, fd.get(), 0);
    if (address == MAP_FAILED) {
        const int error = errno;
        return refused(fmt::format("refuses mappings ({})", std::generic_category().message(error)));
    }
    munmap(address, page);
    return {.verdict = AccessAnswer::Verdict::works, .alignment = {}, .reason = ""};
}

AccessAnswer KernelProbe::reads_at_once(const Source& source) {
    const Fd fd = open_source(source, 0);
    if (!fd) return {};
    std::byte byte{};
    const iovec one{&byte, 1};
    // Behind the end of any file: nothing is read.
    constexpr off_t kNowhere = off_t{1} << 62;
    if (preadv2(fd.get(), &one, 1, kNowhere, RWF_NOWAIT) < 0 && errno == EOPNOTSUPP && !harmless_all_the_same(fd.get()))
        return refused("answers no read at once");
    return {.verdict = AccessAnswer::Verdict::works, .alignment = {}, .reason = ""};
}

EngineSelection select_engine(EngineKind wanted, const Dataset& dataset, SystemProbe& probe) {
    EngineSelection chosen = choose(wanted, dataset, probe);
    if (chosen.kind == EngineKind::uring || chosen.kind == EngineKind::uring_direct) {
        const AccessAnswer answer = ask_dataset(dataset, probe, &SystemProbe::reads_at_once);
        chosen.may_block = answer.verdict == AccessAnswer::Verdict::refused;
    }
    return chosen;
}

EngineSelection select_engine(EngineKind wanted, const Dataset& dataset) {
    KernelProbe probe;
    return select_engine(wanted, dataset, probe);
}

}  // namespace feedline
