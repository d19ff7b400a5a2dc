#include "core/slab.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <thread>
#include <vector>

#include "core/error.h"
#include "core/units.h"

namespace feedline {
namespace {

constexpr std::uint64_t kHugePageBytes = 2U << 20U;
constexpr std::uint64_t kPageBytes = 4096;              // the smallest of any supported machine
constexpr std::uint64_t kFaultPieceBytes = 32U << 20U;  // faulted in by one call
// The share of what is available that staging memory leaves alone: the program and the page cache live too.
constexpr std::uint64_t kKeptShare = 16;

std::uint64_t round_up(std::uint64_t value, std::uint64_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

// Makes every page present and writable, so that no read pays for a page fault. Returns 0 or an errno.
int fault_in(std::byte* begin, std::uint64_t bytes) {
#ifdef MADV_POPULATE_WRITE
    if (madvise(begin, bytes, MADV_POPULATE_WRITE) == 0) return 0;
    if (errno != EINVAL) return errno;  // EINVAL: before Linux 5.14
#endif
    for (std::uint64_t at = 0; at < bytes; at += kPageBytes) {
        *reinterpret_cast<volatile std::byte*>(begin + at) = std::byte{0};
    }
    return 0;
}

int fault_in_parallel(std::byte* begin, std::uint64_t bytes) {
    const std::uint64_t pieces = (bytes + kFaultPieceBytes - 1) / kFaultPieceBytes;
    std::atomic<std::uint64_t> next{0};
    std::atomic<int> failure{0};
    const auto work = [&] {
        for (std::uint64_t i = next++; i < pieces && failure == 0; i = next++) {
            const std::uint64_t at = i * kFaultPieceBytes;
            const int error = fault_in(begin + at, std::min(kFaultPieceBytes, bytes - at));
            if (error != 0) failure = error;
        }
    };
    std::vector<std::thread> helpers;
    const std::uint64_t cores = std::max(1U, std::thread::hardware_concurrency());
    for (std::uint64_t i = 1; i < std::min(cores, pieces); ++i) helpers.emplace_back(work);
    work();
    for (std::thread& helper : helpers) helper.join();
    return failure;
}

class HostSlab final : public Slab {
public:
    explicit HostSlab(std::uint64_t bytes)
        : bytes_(bytes), mapped_bytes_(round_up(bytes + kTailBytes, kHugePageBytes)) {
        // One huge page more than needed, so that an aligned start lies inside; the rest goes back.
        const std::uint64_t wide_bytes = mapped_bytes_ + kHugePageBytes;
        void* wide = mmap(nullptr, wide_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (wide == MAP_FAILED) throw refusal(errno);
        const auto address = reinterpret_cast<std::uintptr_t>(wide);
        const std::uint64_t head_bytes = round_up(address, kHugePageBytes) - address;
        data_ = static_cast<std::byte*>(wide) + head_bytes;
        if (head_bytes > 0) munmap(wide, head_bytes);
        if (head_bytes < kHugePageBytes) munmap(data_ + mapped_bytes_, kHugePageBytes - head_bytes);
        madvise(data_, mapped_bytes_, MADV_HUGEPAGE);  // a kernel without huge pages serves small ones
        if (const int error = fault_in_parallel(data_, mapped_bytes_); error != 0) {
            munmap(data_, mapped_bytes_);
            throw refusal(error);
        }
    }
    ~HostSlab() override { munmap(data_, mapped_bytes_); }
    HostSlab(const HostSlab&) = delete;
    HostSlab& operator=(const HostSlab&) = delete;

    std::byte* data() const override { return data_; }
    std::uint64_t bytes() const override { return bytes_; }

private:
    Error refusal(int error) const {
        return Error(ErrorKind::io, fmt::format("the kernel refuses {} of staging memory",
                                                format_size(static_cast<double>(mapped_bytes_))))
            .because(error)
            .advise("use fewer --slots or a smaller --batch-size");
    }

    std::uint64_t bytes_;
    std::uint64_t mapped_bytes_;
    std::byte* data_ = nullptr;
};

}  // namespace

std::unique_ptr<Slab> make_host_slab(std::uint64_t bytes) {
    const std::uint64_t available = available_memory_bytes();
    const std::uint64_t usable = available - available / kKeptShare;
    if (bytes > usable || usable - bytes < Slab::kTailBytes + 2 * kHugePageBytes) {
        throw Error(ErrorKind::usage,
                    fmt::format("staging memory of {} is needed and at most {} can be used ({} are available)",
                                format_size(static_cast<double>(bytes)), format_size(static_cast<double>(usable)),
                                format_size(static_cast<double>(available))))
            .advise("use fewer --slots or a smaller --batch-size");
    }
    return std::make_unique<HostSlab>(bytes);
}

}  // namespace feedline
