// A shard's bytes, read mostly forwards: as they lie in the file, or as a compressed file inflates to.
//
// Belongs to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "core/fd.h"
#include "loaders/shards/inflate.h"

namespace feedline {

class ByteStream {
public:
    virtual ~ByteStream() = default;
    // Fills `destination` with what stands from `offset` on. Returns how many bytes there were, or -errno; -EBADMSG:
    // what is compressed is damaged. Going on where the last read ended costs least.
    virtual std::int64_t read(std::uint64_t offset, std::span<std::byte> destination) = 0;
    // What was wrong with the last read, where that has words of its own.
    virtual std::string problem() const { return {}; }
};

// With a buffer that is filled as long as reads follow each other, and left out where they jump.
std::unique_ptr<ByteStream> make_file_stream(Fd fd);

// From the nearest place before that one can begin at; `access` may be null. Throws Error{io, unsupported}.
std::unique_ptr<ByteStream> make_inflate_stream(Fd fd, std::shared_ptr<const AccessPoints> access);

}  // namespace feedline
