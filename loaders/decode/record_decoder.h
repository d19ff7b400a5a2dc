// From a record as it was read to the payload that a decoder works on, with the format's own checksums on the way.
#pragma once

#include <memory>

#include "loaders/dataset.h"
#include "loaders/decode/decoder.h"

namespace feedline {

enum class CheckMode {
    off,
    sampled,  // one record in 64, always the same ones
    all,
};

// Checks records as `mode` says and hands their payload to `decoder`, which may be null. Null when there is nothing to
// do; `decoder` itself where a record is nothing but its payload and has no checksum.
std::shared_ptr<Decoder> record_decoder(std::shared_ptr<const Dataset> dataset, CheckMode mode,
                                        std::shared_ptr<Decoder> decoder);

}  // namespace feedline
