// From the bytes of a pickle to its values, by a closed list of opcodes and names. Nothing is executed or imported.
//
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "loaders/pickle/value.h"

namespace feedline::pickle {

// A pickle of more bytes than this is refused: what it holds takes up to some 50 times as much memory. Data lie outside
// of it, so that this is enough for the names of ten million samples.
constexpr std::size_t kMaxPickleBytes = std::size_t{1} << 30U;

struct ParseOptions {
    // What may be imported beside OrderedDict and the builtins set, frozenset, bytes, bytearray and complex. Must live
    // as long as the tree.
    std::span<const Global> globals = {};
    bool persistent_ids = false;          // references to something outside
    std::string_view path = {};           // of the file, for errors
    std::uint64_t file_offset_bytes = 0;  // where the pickle begins in it, for errors
};

// Protocols 1 to 5, by their binary opcodes (https://docs.python.org/3/library/pickletools.html). Takes time and memory
// in proportion to the bytes. Bytes behind the pickle's end are left alone. Throws Error{corrupt} for what is cut or
// makes no sense, Error{usage} for an opcode or a name that is not on the list, both with the offset.
Tree parse(std::span<const std::byte> bytes, const ParseOptions& options);

}  // namespace feedline::pickle
