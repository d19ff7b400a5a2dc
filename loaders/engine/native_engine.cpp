// The format's own way of reading: a sample is asked for by its number, and the dataset's reader puts it where it
// belongs. What the library does to get it (opening, mapping, inflating) is part of the read.
#include <fmt/format.h>

#include <cerrno>
#include <utility>

#include "core/error.h"
#include "loaders/engine/engines.h"
#include "loaders/engine/synchronous_engine.h"

namespace feedline {

namespace {

class NativeEngine final : public SynchronousEngine {
public:
    NativeEngine(const EngineOptions& options, std::unique_ptr<NativeReader> reader)
        : SynchronousEngine(options), dataset_(*options.dataset), reader_(std::move(reader)) {}

    EngineKind kind() const override { return EngineKind::native; }
    std::string problem() const override { return problem_; }

protected:
    void serve(const ReadRequest& request, Completion& completion) override {
        Extent extent;
        dataset_.locate(std::span(&request.sample, 1), std::span(&extent, 1));
        if (extent.length_bytes > request.length_bytes) {  // of another sample: the destination has no room
            completion.result = -EINVAL;
            return;
        }
        ++counts().reads;
        completion.result = reader_->read(request.sample, extent, {request.destination, extent.length_bytes});
        if (faults() != nullptr) completion.result = faults()->on_read(request.tag, completion.result);
        if (completion.result < 0) problem_ = reader_->problem();
    }

private:
    const Dataset& dataset_;
    std::unique_ptr<NativeReader> reader_;
    std::string problem_;
};

}  // namespace

std::unique_ptr<Engine> make_native_engine(const EngineOptions& options) {
    if (options.dataset == nullptr) throw Error(ErrorKind::usage, "engine native reads the samples of a dataset");
    std::unique_ptr<NativeReader> reader = options.dataset->native_reader();
    if (reader == nullptr) {
        throw Error(ErrorKind::usage, fmt::format("the format {} has no reader of its own for engine native",
                                                  options.dataset->info().format))
            .at(options.dataset->info().path)
            .advise("Use --engine auto, pread, mmap, uring or uring-direct");
    }
    return std::make_unique<NativeEngine>(options, std::move(reader));
}

}  // namespace feedline
