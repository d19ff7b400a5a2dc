#include "cuda/pinned_slab.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/units.h"
#include "cuda/runtime.h"

namespace feedline {
namespace {

// cudaHostAlloc would pin too, but on 4 KiB pages, and those split large direct reads (see core/slab.h).
class PinnedSlab final : public Slab {
public:
    explicit PinnedSlab(std::unique_ptr<Slab> host) : host_(std::move(host)) {
        const cudaError_t status = cudaHostRegister(host_->data(), host_->bytes(), cudaHostRegisterPortable);
        if (status == cudaSuccess) return;
        static_cast<void>(cudaGetLastError());
        throw Error(ErrorKind::usage,
                    fmt::format("the driver does not pin {} of staging memory: {}",
                                format_size(static_cast<double>(host_->bytes())), cudaGetErrorString(status)))
            .advise("use fewer --slots or a smaller --batch-size");
    }
    ~PinnedSlab() override { static_cast<void>(cudaHostUnregister(host_->data())); }
    PinnedSlab(const PinnedSlab&) = delete;
    PinnedSlab& operator=(const PinnedSlab&) = delete;

    std::byte* data() const override { return host_->data(); }
    std::uint64_t bytes() const override { return host_->bytes(); }

private:
    std::unique_ptr<Slab> host_;
};

}  // namespace

std::shared_ptr<Slab> make_pinned_slab(std::uint64_t bytes) {
    return std::make_shared<PinnedSlab>(make_host_slab(bytes));
}

}  // namespace feedline
