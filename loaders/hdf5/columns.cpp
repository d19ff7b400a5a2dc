#include "loaders/hdf5/columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <span>

#include "core/error.h"
#include "loaders/hdf5/heap_check.h"
#include "loaders/hdf5/plain_rows.h"
#include "loaders/hdf5/variable.h"
#include "loaders/shards/window.h"

namespace feedline::hdf5 {
namespace {

constexpr std::uint64_t kBlockBytes = 4U << 20U;

// Rows that are stored nowhere (a fill value) or together in next to nothing, before a number is no longer believed.
constexpr std::uint64_t kRowsForNothing = 16U << 20U;
// What the best compression makes of a byte (https://www.zlib.net/zlib_tech.html), and bytes that cost nothing.
constexpr std::uint64_t kMostInflation = 1032;
constexpr std::uint64_t kBytesForNothing = 1U << 30U;

Error damaged(const File& file, const std::string& what) {
    return Error(ErrorKind::corrupt, what).at(file.path);
}

// All of it, as its shape says; the most there is where that is more.
std::uint64_t bytes_in_file(const File& file, const DatasetDescription& description) {
    std::uint64_t bytes = description.variable() ? reference_bytes(file) : description.row_bytes().value_or(UINT64_MAX);
    if (__builtin_mul_overflow(bytes, description.rows(), &bytes)) return UINT64_MAX;
    return bytes;
}

// Rows [first, first + count) of a dataset, as the library selects them.
struct Window {
    Id file_space;
    Id memory_space;
};

Window window(const File& file, hid_t dataset, const DatasetDescription& description, std::uint64_t first,
              std::uint64_t count) {
    Window made;
    made.file_space = Id(H5Dget_space(dataset));
    std::array<hsize_t, H5S_MAX_RANK> start{};
    std::array<hsize_t, H5S_MAX_RANK> extent{};
    const auto rank = static_cast<int>(description.dims.size());
    if (rank > 0) {
        std::copy(description.dims.begin(), description.dims.end(), extent.begin());
        start[0] = first;
        extent[0] = count;
        made.memory_space = Id(H5Screate_simple(rank, extent.data(), nullptr));
        if (H5Sselect_hyperslab(made.file_space.get(), H5S_SELECT_SET, start.data(), nullptr, extent.data(), nullptr) <
            0) {
            made.file_space.reset();
        }
    } else {
        made.memory_space = Id(H5Screate(H5S_SCALAR));
    }
    if (!made.file_space || !made.memory_space) fail(file, "cannot select rows of " + printable(description.name));
    return made;
}

// Reads rows in blocks: on_block(first, count) after each, with them in `buffer` as `type` has them.
template <typename OnBlock>
void read_blocks(const File& file, const DatasetDescription& description, hid_t type, std::uint64_t bytes_a_row,
                 std::vector<std::byte>& buffer, hid_t transfer, const OnBlock& on_block) {
    const Id dataset = open_dataset(file, description.name);
    const std::uint64_t rows = description.rows();
    const std::uint64_t block = std::max<std::uint64_t>(1, kBlockBytes / std::max<std::uint64_t>(1, bytes_a_row));
    buffer.resize(static_cast<std::size_t>(std::min(block, std::max<std::uint64_t>(rows, 1)) * bytes_a_row));
    for (std::uint64_t first = 0; first < rows; first += block) {
        const std::uint64_t count = std::min(block, rows - first);
        const Window part = window(file, dataset.get(), description, first, count);
        if (H5Dread(dataset.get(), type, part.memory_space.get(), part.file_space.get(), transfer, buffer.data()) < 0) {
            fail(file, "cannot read dataset " + printable(description.name));
        }
        on_block(first, count);
    }
}

void require_filters(const File& file, const DatasetDescription& description) {
    const std::string missing = description.missing_filter();
    if (missing.empty()) return;
    throw Error(ErrorKind::usage, fmt::format("dataset {} needs {}", printable(description.name), missing))
        .at(file.path)
        .advise("Install the plugin and name its directory in HDF5_PLUGIN_PATH");
}

std::string_view trimmed(std::string_view text) {
    return text.substr(0, text.find('\0'));
}

// An array of texts in memory, of fixed or variable length.
class Texts {
public:
    // `type` is what the file has; false where that is no text.
    bool open(hid_t type) {
        if (H5Tget_class(type) != H5T_STRING) return false;
        variable_ = H5Tis_variable_str(type) > 0;
        bytes_ = variable_ ? sizeof(char*) : H5Tget_size(type);
        return bytes_ > 0;
    }
    std::uint64_t bytes() const { return bytes_; }
    std::string_view at(const std::byte* buffer, std::uint64_t i) const {
        const std::byte* place = buffer + i * bytes_;
        if (!variable_) return trimmed({reinterpret_cast<const char*>(place), static_cast<std::size_t>(bytes_)});
        const char* text = nullptr;
        std::memcpy(&text, place, sizeof text);
        return text == nullptr ? std::string_view() : std::string_view(text);
    }

private:
    bool variable_ = false;
    std::uint64_t bytes_ = 0;
};

// Throws Error{corrupt} where one of the references that lie in plain leads astray.
void check_references(const File& file, const DatasetDescription& description) {
    if (!description.variable()) return;
    PlainRows references;
    {
        const Id dataset = open_dataset(file, description.name);
        references = plain_references(file, dataset.get(), description);
    }
    HeapCheck heap(file);
    for (const std::uint64_t offset : references.offsets) {
        const std::string problem = heap.problem(offset, description.element_bytes);
        if (!problem.empty()) throw damaged(file, problem);
    }
}

constexpr double kTwoTo63 = 9223372036854775808.0;

std::optional<std::vector<std::int64_t>> whole_numbers(std::span<const double> values) {
    std::vector<std::int64_t> numbers;
    for (const double value : values) {
        if (!(value >= -kTwoTo63 && value < kTwoTo63) || value != std::floor(value)) return std::nullopt;
        numbers.push_back(static_cast<std::int64_t>(value));
    }
    return numbers;
}

}  // namespace

void check_size(const File& file, const DatasetDescription& description) {
    if (description.rows() > file.size_bytes + kRowsForNothing) {
        throw damaged(file, fmt::format("dataset {} claims {} rows, more than its file of {} bytes can hold",
                                        printable(description.name), description.rows(), file.size_bytes));
    }
    // What no writer makes, and what the library would read past its own buffers for.
    if (description.oversized_chunks) {
        throw damaged(file,
                      fmt::format("dataset {} has chunks that are larger than itself", printable(description.name)));
    }
    const bool one_piece = description.storage == Storage::contiguous || description.storage == Storage::compact;
    if (one_piece && (description.stored_bytes > 0 || description.storage == Storage::compact) &&
        description.stored_bytes != bytes_in_file(file, description)) {
        throw damaged(file, fmt::format("dataset {} has {} bytes in its file, which its shape does not explain",
                                        printable(description.name), description.stored_bytes));
    }
    const std::optional<std::uint64_t> row_bytes = description.row_bytes();
    if (!row_bytes || *row_bytes / kMostInflation > file.size_bytes + kBytesForNothing / kMostInflation) {
        throw damaged(file, fmt::format("a row of dataset {} claims more bytes than its file of {} bytes can hold",
                                        printable(description.name), file.size_bytes));
    }
}

std::optional<std::vector<std::int64_t>> read_integers(const File& file, const DatasetDescription& description) {
    check_size(file, description);
    require_filters(file, description);
    const bool fractions = description.type_class == H5T_FLOAT;
    const bool integers = description.type_class == H5T_INTEGER;
    if (!fractions && !integers) return std::nullopt;
    const std::uint64_t a_row = description.row_elements().value_or(0);
    if (a_row == 0) return std::nullopt;
    const Id type(H5Tcopy(fractions ? H5T_NATIVE_DOUBLE : H5T_NATIVE_INT64));
    std::vector<std::int64_t> numbers;
    std::vector<std::byte> buffer;
    bool whole = true;
    read_blocks(file, description, type.get(), 8 * a_row, buffer, H5P_DEFAULT,
                [&](std::uint64_t /*first*/, std::uint64_t count) {
                    const auto values = static_cast<std::size_t>(count * a_row);
                    if (integers) {
                        const auto* begin = reinterpret_cast<const std::int64_t*>(buffer.data());
                        numbers.insert(numbers.end(), begin, begin + values);
                        return;
                    }
                    const auto more = whole_numbers({reinterpret_cast<const double*>(buffer.data()), values});
                    whole = whole && more.has_value();
                    if (whole) numbers.insert(numbers.end(), more->begin(), more->end());
                });
    if (!whole) return std::nullopt;
    return numbers;
}

bool for_each_text(const File& file, const DatasetDescription& description,
                   const std::function<void(std::string_view)>& on_text) {
    check_size(file, description);
    const bool flat = description.dims.size() == 1 && description.type_class == H5T_STRING;
    if (!flat || !description.refusal().empty()) return false;
    require_filters(file, description);
    check_references(file, description);
    const Id dataset = open_dataset(file, description.name);
    const Id type = memory_type(file, dataset.get(), description);
    Texts texts;
    if (!texts.open(type.get())) return false;
    VariableMemory memory;
    memory.begin(file.size_bytes);
    std::vector<std::byte> buffer;
    read_blocks(file, description, type.get(), texts.bytes(), buffer, memory.transfer(),
                [&](std::uint64_t /*first*/, std::uint64_t count) {
                    for (std::uint64_t i = 0; i < count; ++i) on_text(texts.at(buffer.data(), i));
                    memory.begin(file.size_bytes);
                });
    return true;
}

namespace {

// By the references, where those lie in plain: what they lead to need not be read.
std::vector<std::uint64_t> lengths_by_references(const File& file, const DatasetDescription& description,
                                                 const PlainRows& references) {
    FileWindow bytes(file.path, file.size_bytes);
    std::vector<std::uint64_t> lengths;
    lengths.reserve(references.offsets.size());
    for (const std::uint64_t offset : references.offsets) {
        constexpr std::size_t kReadAhead = 64U << 10U;
        std::uint32_t count = 0;
        const std::span<const std::byte> seen = bytes.at(offset, sizeof count, kReadAhead);
        if (seen.size() < sizeof count) throw damaged(file, "the file ends within its references");
        std::memcpy(&count, seen.data(), sizeof count);
        lengths.push_back(count * description.element_bytes);
    }
    return lengths;
}

std::vector<std::uint64_t> lengths_by_reading(const File& file, const DatasetDescription& description) {
    const Id dataset = open_dataset(file, description.name);
    const Id type = memory_type(file, dataset.get(), description);
    const bool text = description.element == Element::text;
    const std::uint64_t a_row = text ? sizeof(char*) : sizeof(hvl_t);
    VariableMemory memory;
    memory.begin(file.size_bytes);
    std::vector<std::byte> buffer;
    std::vector<std::uint64_t> lengths;
    read_blocks(file, description, type.get(), a_row, buffer, memory.transfer(),
                [&](std::uint64_t /*first*/, std::uint64_t count) {
                    for (std::uint64_t i = 0; i < count; ++i) {
                        if (text) {
                            const char* piece = nullptr;
                            std::memcpy(&piece, buffer.data() + i * a_row, sizeof piece);
                            const std::size_t bytes = memory.size_of(piece);
                            lengths.push_back(bytes == 0 ? 0 : bytes - 1);
                        } else {
                            hvl_t sequence{};
                            std::memcpy(&sequence, buffer.data() + i * a_row, sizeof sequence);
                            lengths.push_back(sequence.len * description.element_bytes);
                        }
                    }
                    memory.begin(file.size_bytes);
                });
    return lengths;
}

}  // namespace

std::vector<std::uint64_t> read_lengths(const File& file, const DatasetDescription& description) {
    check_size(file, description);
    PlainRows references;
    {
        const Id dataset = open_dataset(file, description.name);
        references = plain_references(file, dataset.get(), description);
    }
    if (!references.obstacle.empty()) require_filters(file, description);
    std::vector<std::uint64_t> lengths = references.obstacle.empty()
                                             ? lengths_by_references(file, description, references)
                                             : lengths_by_reading(file, description);
    const auto longest = std::max_element(lengths.begin(), lengths.end());
    if (longest != lengths.end() && *longest > file.size_bytes) {
        throw damaged(file, fmt::format("row {} of dataset {} claims {} bytes, more than its file has",
                                        longest - lengths.begin(), printable(description.name), *longest));
    }
    return lengths;
}

std::string read_run(const File& file, const DatasetDescription& description, std::uint64_t begin, std::uint64_t end) {
    std::string bytes(static_cast<std::size_t>(end - begin), '\0');
    if (bytes.empty()) return bytes;
    require_filters(file, description);
    const Id dataset = open_dataset(file, description.name);
    const Window part = window(file, dataset.get(), description, begin, end - begin);
    const Id type(H5Dget_type(dataset.get()));
    if (!type || H5Dread(dataset.get(), type.get(), part.memory_space.get(), part.file_space.get(), H5P_DEFAULT,
                         bytes.data()) < 0) {
        fail(file, "cannot read dataset " + printable(description.name));
    }
    return bytes;
}

namespace {

// Opens an attribute, and says how many elements it has: 0 where there is none, or more than one could mean.
std::uint64_t open_attribute(const File& file, const std::string& name, const char* attribute, Id& opened) {
    constexpr std::uint64_t kMostEntries = 16U << 20U;
    if (H5Aexists_by_name(file.id.get(), name.c_str(), attribute, H5P_DEFAULT) <= 0) {
        last_problem();
        return 0;
    }
    opened = Id(H5Aopen_by_name(file.id.get(), name.c_str(), attribute, H5P_DEFAULT, H5P_DEFAULT));
    const Id space(opened ? H5Aget_space(opened.get()) : H5I_INVALID_HID);
    if (!space) fail(file, fmt::format("cannot open attribute {}", attribute));
    const hssize_t count = H5Sget_simple_extent_npoints(space.get());
    const auto entries = static_cast<std::uint64_t>(std::max<hssize_t>(count, 0));
    if (entries > kMostEntries || entries > file.size_bytes) {
        throw damaged(file, fmt::format("attribute {} claims {} entries", attribute, entries));
    }
    return entries;
}

}  // namespace

std::vector<std::string> read_text_attribute(const File& file, const std::string& name, const char* attribute) {
    Id opened;
    const std::uint64_t count = open_attribute(file, name, attribute, opened);
    std::vector<std::string> texts;
    if (count == 0) return texts;
    const Id type(H5Aget_type(opened.get()));
    Texts list;
    if (!type || !list.open(type.get())) return texts;
    if (list.bytes() > file.size_bytes / count)
        throw damaged(file, fmt::format("attribute {} is too large", attribute));
    std::vector<std::byte> buffer(static_cast<std::size_t>(count * list.bytes()));
    if (H5Aread(opened.get(), type.get(), buffer.data()) < 0)
        fail(file, fmt::format("cannot read attribute {}", attribute));
    for (std::uint64_t i = 0; i < count; ++i) texts.emplace_back(list.at(buffer.data(), i));
    if (H5Tis_variable_str(type.get()) > 0) {
        const Id space(H5Aget_space(opened.get()));
        H5Dvlen_reclaim(type.get(), space.get(), H5P_DEFAULT, buffer.data());
    }
    return texts;
}

std::vector<std::int64_t> read_integer_attribute(const File& file, const std::string& name, const char* attribute) {
    Id opened;
    const std::uint64_t count = open_attribute(file, name, attribute, opened);
    const Id type(count > 0 ? H5Aget_type(opened.get()) : H5I_INVALID_HID);
    if (!type || H5Tget_class(type.get()) != H5T_INTEGER) return {};
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
    if (H5Aread(opened.get(), H5T_NATIVE_INT64, numbers.data()) < 0) {
        fail(file, fmt::format("cannot read attribute {}", attribute));
    }
    return numbers;
}

}  // namespace feedline::hdf5
