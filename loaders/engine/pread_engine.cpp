// openat, pread, close: three calls a small file, and the yardstick for all other engines.
#include <unistd.h>

#include <cerrno>

#include "loaders/engine/engines.h"
#include "loaders/engine/synchronous_engine.h"
#include "loaders/engine/transfer.h"

namespace feedline {

namespace {

class PreadEngine final : public OpeningEngine {
public:
    using OpeningEngine::OpeningEngine;

    EngineKind kind() const override { return EngineKind::pread; }

protected:
    void read(int fd, const ReadRequest& request, Completion& completion) override {
        Transfer transfer(request, Alignment{});
        if (!transfer.empty()) read_all(fd, request.tag, transfer);
        completion.result = transfer.result();
        completion.grew = transfer.grew();
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
};

}  // namespace

std::unique_ptr<Engine> make_pread_engine(const EngineOptions& options) {
    return std::make_unique<PreadEngine>(options);
}

}  // namespace feedline
