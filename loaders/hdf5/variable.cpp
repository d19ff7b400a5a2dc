#include "loaders/hdf5/variable.h"

#include <new>

namespace feedline::hdf5 {

VariableMemory::VariableMemory() : transfer_(H5Pcreate(H5P_DATASET_XFER)) {
    H5Pset_vlen_mem_manager(transfer_.get(), allocate, this, release, this);
}

void VariableMemory::begin(std::uint64_t limit_bytes) {
    pieces_.clear();
    sizes_.clear();
    left_bytes_ = limit_bytes;
    refused_ = false;
}

std::size_t VariableMemory::size_of(const void* piece) const {
    const auto found = sizes_.find(piece);
    return found == sizes_.end() ? 0 : found->second;
}

void* VariableMemory::allocate(std::size_t bytes, void* self) {
    VariableMemory& memory = *static_cast<VariableMemory*>(self);
    memory.refused_ = memory.refused_ || bytes > memory.left_bytes_;
    if (memory.refused_) return nullptr;
    try {
        // One more, so that every piece has an address of its own.
        std::unique_ptr<std::byte[]> piece(new std::byte[bytes + 1]);
        memory.sizes_.emplace(piece.get(), bytes);
        memory.pieces_.push_back(std::move(piece));
    } catch (const std::bad_alloc&) {
        memory.refused_ = true;
        return nullptr;
    }
    memory.left_bytes_ -= bytes;
    return memory.pieces_.back().get();
}

// All of it goes at once, in begin().
void VariableMemory::release(void* /*piece*/, void* /*self*/) {}

}  // namespace feedline::hdf5
