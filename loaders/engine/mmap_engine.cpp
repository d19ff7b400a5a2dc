// A mapping of each extent, read by copying it out: openat, mmap, madvise, the copy, fstat, munmap, close.
//
// MADV_RANDOM keeps the fault handler from reading ahead of what was asked for, MADV_WILLNEED then asks for exactly the
// extent, in one go. A mapping does not say where its file ends, so the size is asked for after the copy: whatever
// happened to the file before then shows.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "loaders/engine/engines.h"
#include "loaders/engine/sigbus_guard.h"
#include "loaders/engine/synchronous_engine.h"
#include "loaders/engine/transfer.h"

namespace feedline {

namespace {

class MmapEngine final : public OpeningEngine {
public:
    explicit MmapEngine(const EngineOptions& options)
        : OpeningEngine(options), page_bytes_(static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE))) {
        install_sigbus_guard();
    }

    EngineKind kind() const override { return EngineKind::mmap; }

protected:
    void read(int fd, const ReadRequest& request, Completion& completion) override {
        for (unsigned tries = 0; tries <= Transfer::kMaxRetries; ++tries) {
            completion.result = copy(fd, request, completion.grew);
            if (faults() != nullptr) completion.result = faults()->on_read(request.tag, completion.result);
            if (completion.result != -EINTR && completion.result != -EAGAIN) break;
            ++counts().retries;
        }
    }

private:
    std::int64_t copy(int fd, const ReadRequest& request, bool& grew) {
        bool intact = true;
        if (request.length_bytes > 0) {
            const std::uint64_t start = request.offset_bytes / page_bytes_ * page_bytes_;
            const std::uint64_t skip = request.offset_bytes - start;
            const std::uint64_t bytes = skip + request.length_bytes;
            counts().syscalls += 4;
            void* address = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, static_cast<off_t>(start));
            if (address == MAP_FAILED) {
                const int error = errno;
                counts().syscalls -= 3;
                return -error;
            }
            // Advice: where it is refused, the copy still works.
            madvise(address, bytes, MADV_RANDOM);
            madvise(address, bytes, MADV_WILLNEED);
            intact = copy_pieces(request, static_cast<const std::byte*>(address) + skip);
            munmap(address, bytes);
        }
        struct stat status {};
        ++counts().syscalls;
        if (fstat(fd, &status) != 0) return -errno;
        if (S_ISREG(status.st_mode)) {
            const auto size = static_cast<std::uint64_t>(status.st_size);
            const std::uint64_t end = request.offset_bytes + request.length_bytes;
            if (size < end) {
                return size > request.offset_bytes ? static_cast<std::int64_t>(size - request.offset_bytes) : 0;
            }
            grew = request.source.whole_file && request.source.fd < 0 && size > end;
        } else if (S_ISDIR(status.st_mode)) {
            return -EISDIR;
        } else if (request.length_bytes == 0) {
            return -ESPIPE;
        }
        return intact ? static_cast<std::int64_t>(request.length_bytes) : -EIO;
    }

    // In one piece, unless a test wants to come in between.
    bool copy_pieces(const ReadRequest& request, const std::byte* source) {
        bool intact = true;
        for (std::uint64_t done = 0; done < request.length_bytes;) {
            const std::uint64_t left = request.length_bytes - done;
            std::uint64_t piece = left;
            if (faults() != nullptr) {
                piece = std::clamp<std::uint64_t>(faults()->on_read_length(request.tag, left), 1, left);
            }
            ++counts().reads;
            if (piece < left) ++counts().short_reads;
            intact = guarded_copy(request.destination + done, source + done, piece) && intact;
            done += piece;
        }
        return intact;
    }

    std::uint64_t page_bytes_;
};

}  // namespace

std::unique_ptr<Engine> make_mmap_engine(const EngineOptions& options) {
    return std::make_unique<MmapEngine>(options);
}

}  // namespace feedline
