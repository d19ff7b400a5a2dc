// .pth files for tests, written piece by piece so that every oddity can be had: pickles, ZIP archives, the older form.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace feedline::test {

// Opcodes that leave one value on the stack; protocol 2, without a memo.
std::string pickled_text(std::string_view text);
std::string pickled_number(std::int64_t number);
std::string pickled_global(std::string_view module, std::string_view name);
std::string pickled_tuple(const std::vector<std::string>& items);
std::string pickled_list(const std::vector<std::string>& items);
std::string pickled_dict(const std::vector<std::pair<std::string, std::string>>& items);  // names are text
std::string pickled_call(std::string_view module, std::string_view name, const std::vector<std::string>& arguments);
// A whole pickle.
std::string pickle_of(const std::string& value);

struct TensorText {
    std::string storage = "0";  // key
    std::string type = "FloatStorage";
    std::int64_t elements = 0;  // of the storage
    std::int64_t offset = 0;
    std::vector<std::int64_t> sizes = {};
    std::vector<std::int64_t> strides = {};
    std::string device = "cpu";
};
std::string pickled_tensor(const TensorText& tensor);

struct ZipMember {
    std::string name;
    std::string content = {};
    bool descriptor = false;  // sizes behind the data, as torch.save writes them
    bool wide = false;        // sizes in a ZIP64 field
    std::uint16_t method = 0;
    std::uint16_t flags = 0;    // beside the descriptor's
    std::uint16_t padding = 0;  // of the local header
};
struct ZipOptions {
    bool wide_end = true;
    std::string comment = {};
};
std::string zip_of(const std::vector<ZipMember>& members, const ZipOptions& options = {});

using StorageTexts = std::vector<std::pair<std::string, std::string>>;  // key, bytes

// As torch.save writes it: `object` is a value, not a whole pickle.
std::string pth_of(const std::string& object, const StorageTexts& storages, const std::vector<ZipMember>& more = {});
// As torch.save wrote it before 1.6; storages have elements of `item_bytes` each.
std::string legacy_pth_of(const std::string& object, const StorageTexts& storages,
                          const std::vector<std::size_t>& item_bytes);

// Numbers as a tensor holds them.
std::string int64_bytes(const std::vector<std::int64_t>& numbers);

struct PackedText {
    std::vector<std::string> payloads;
    std::vector<std::int64_t> labels = {};
    std::vector<std::string> keys = {};
    std::vector<std::pair<std::string, std::int64_t>> classes = {};
};
// Our packed layout.
std::string packed_pth(const PackedText& packed);

}  // namespace feedline::test
