// Opcodes of a pickle of protocol 2, each leaving one value on the stack: what torch.load(weights_only=True) admits,
// without a memo. Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace feedline::pickle {

// A name of a file or a class; bytes that are not UTF-8 as os.fsdecode() gives them.
void put_text(std::string& out, std::string_view bytes);
void put_number(std::string& out, std::int64_t number);

// A one-dimensional tensor that is all of its storage. `storage_type` as in torch.LongStorage, `key` that of data/KEY.
void put_tensor(std::string& out, std::string_view storage_type, std::string_view key, std::uint64_t elements);

}  // namespace feedline::pickle
