#include "loaders/decode/record_decoder.h"

#include <utility>

namespace feedline {
namespace {

// One in 64, spread over the dataset (Fibonacci hashing): neighbours are not chosen together.
bool is_sampled(SampleId id) {
    constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;
    return (id * kGolden) >> 58U == 0;
}

class RecordDecoder final : public Decoder {
public:
    RecordDecoder(std::shared_ptr<const Dataset> dataset, CheckMode mode, std::shared_ptr<Decoder> decoder)
        : dataset_(std::move(dataset)), mode_(mode), decoder_(std::move(decoder)) {}

    std::string decode(SampleId id, std::span<const std::byte> record) override {
        if (mode_ == CheckMode::all || (mode_ == CheckMode::sampled && is_sampled(id))) {
            if (std::string problem = dataset_->check(id, record); !problem.empty()) return problem;
        }
        return decoder_ == nullptr ? std::string() : decoder_->decode(id, dataset_->payload(id, record));
    }

private:
    std::shared_ptr<const Dataset> dataset_;
    CheckMode mode_;
    std::shared_ptr<Decoder> decoder_;
};

}  // namespace

std::shared_ptr<Decoder> record_decoder(std::shared_ptr<const Dataset> dataset, CheckMode mode,
                                        std::shared_ptr<Decoder> decoder) {
    if (!dataset->info().packed || (mode == CheckMode::off && decoder == nullptr)) return decoder;
    return std::make_shared<RecordDecoder>(std::move(dataset), mode, std::move(decoder));
}

}  // namespace feedline
