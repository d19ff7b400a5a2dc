// Staging memory that every GPU of this process copies from without a bounce: huge pages, registered with CUDA.
#pragma once

#include <cstdint>
#include <memory>

#include "core/slab.h"

namespace feedline {

// Throws as make_host_slab does, and Error{usage} when the driver does not pin that much.
std::shared_ptr<Slab> make_pinned_slab(std::uint64_t bytes);

}  // namespace feedline
