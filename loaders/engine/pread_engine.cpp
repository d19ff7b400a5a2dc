// openat, pread, close: three calls a small file, and the yardstick for all other engines.
#include <unistd.h>

#include <cerrno>

#include "loaders/engine/engines.h"
#include "loaders/engine/file_opener.h"
#include "loaders/engine/synchronous_engine.h"
#include "loaders/engine/transfer.h"

namespace feedline {

namespace {

class PreadEngine final : public SynchronousEngine {
public:
    explicit PreadEngine(const EngineOptions& options) : SynchronousEngine(options), opener_(options.faults) {}

    EngineKind kind() const override { return EngineKind::pread; }

protected:
    Completion serve(const ReadRequest& request) override {
        Completion completion;
        completion.tag = request.tag;
        completion.issued_ns = now_ns();
        completion.opened_ns = completion.issued_ns;

        int fd = request.source.fd;
        const bool opened = fd < 0;
        if (opened) {
            fd = opener_.open(request.source, request.tag, counts());
            completion.opened_ns = now_ns();
            if (fd < 0) {
                completion.result = fd;
                completion.completed_ns = completion.opened_ns;
                return completion;
            }
        }
        Transfer transfer(request, Alignment{});
        if (!transfer.empty()) read_all(fd, request.tag, transfer);
        completion.result = transfer.result();
        completion.grew = transfer.grew();
        completion.completed_ns = now_ns();
        if (opened) {
            ++counts().syscalls;
            close(fd);
        }
        return completion;
    }

private:
    void read_all(int fd, std::uint64_t tag, Transfer& transfer) {
        Transfer::Next next = Transfer::Next::read;
        do {
            const std::uint64_t length = transfer.length_bytes();
            const std::uint64_t asked =
                faults() == nullptr ? length : transfer.severed(faults()->on_read_length(tag, length));
            ++counts().reads;
            ++counts().syscalls;
            std::int64_t result = pread(fd, transfer.destination(), asked, static_cast<off_t>(transfer.offset_bytes()));
            if (result < 0) result = -errno;
            if (faults() != nullptr) result = faults()->on_read(tag, result);
            next = transfer.account(result, asked);
            if (next == Transfer::Next::retry) ++counts().retries;
            if (next == Transfer::Next::read && static_cast<std::uint64_t>(result) < length) ++counts().short_reads;
        } while (next != Transfer::Next::done);
    }

    FileOpener opener_;
};

}  // namespace

std::unique_ptr<Engine> make_pread_engine(const EngineOptions& options) {
    return std::make_unique<PreadEngine>(options);
}

}  // namespace feedline
