#include "loaders/hdf5/plain_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "core/error.h"

namespace feedline::hdf5 {
namespace {

// Asked for one chunk, libhdf5 1.10 walks the index up to it, so asking for all takes time by the square of their
// number: about a second for this many.
constexpr std::uint64_t kMostChunksToAskFor = 16384;

// Along the first axis.
std::uint64_t chunk_count(const DatasetDescription& description) {
    const std::uint64_t rows = description.rows();
    return rows / description.chunk.front() + (rows % description.chunk.front() == 0 ? 0 : 1);
}

// Addresses of chunks leave the user block out before 1.14.4, those of contiguous data never did
// (https://github.com/HDFGroup/hdf5/pull/4236).
bool chunk_addresses_are_relative() {
    unsigned major = 0;
    unsigned minor = 0;
    unsigned release = 0;
    H5get_libversion(&major, &minor, &release);
    return std::tie(major, minor, release) < std::tuple(1U, 14U, 4U);
}

void check_inside(const File& file, const DatasetDescription& description, std::uint64_t offset_bytes,
                  std::uint64_t length_bytes) {
    if (offset_bytes <= file.size_bytes && length_bytes <= file.size_bytes - offset_bytes) return;
    throw Error(ErrorKind::corrupt,
                fmt::format("dataset {} reaches past the end of its file", printable(description.name)))
        .at(file.path, offset_bytes);
}

std::string filter_names(const DatasetDescription& description) {
    std::string names;
    for (const Filter& filter : description.filters) names += (names.empty() ? "" : ", ") + filter.name;
    return names;
}

// A set bit of a chunk's mask says that this filter was skipped for it: all of them.
std::uint64_t all_filters(const DatasetDescription& description) {
    return (std::uint64_t{1} << description.filters.size()) - 1;
}

PlainRows obstacle(std::string why) {
    return {{}, std::move(why)};
}

PlainRows of_contiguous(const File& file, hid_t dataset, const DatasetDescription& description, std::uint64_t row_bytes,
                        std::uint64_t count) {
    const haddr_t begin = H5Dget_offset(dataset);
    if (begin == HADDR_UNDEF) {
        last_problem();
        return obstacle("never written");
    }
    std::uint64_t bytes = 0;
    if (__builtin_mul_overflow(description.rows(), row_bytes, &bytes)) bytes = UINT64_MAX;
    check_inside(file, description, begin, bytes);
    PlainRows plain;
    for (std::uint64_t row = 0; row < count; ++row) plain.offsets.push_back(begin + row * row_bytes);
    return plain;
}

PlainRows of_chunks(const File& file, hid_t dataset, const DatasetDescription& description, std::uint64_t row_bytes) {
    for (std::size_t axis = 1; axis < description.dims.size(); ++axis) {
        if (description.chunk[axis] != description.dims[axis]) return obstacle("chunks cut samples");
    }
    if (chunk_count(description) > kMostChunksToAskFor) {
        return obstacle(fmt::format("in more than {} chunks", kMostChunksToAskFor));
    }
    const std::uint64_t rows_a_chunk = description.chunk.front();
    const std::uint64_t base = chunk_addresses_are_relative() ? file.userblock_bytes : 0;
    PlainRows plain;
    for (std::uint64_t first = 0; first < description.rows(); first += rows_a_chunk) {
        std::array<hsize_t, H5S_MAX_RANK> place{first};
        unsigned skipped = 0;
        haddr_t address = HADDR_UNDEF;
        hsize_t bytes = 0;
        if (H5Dget_chunk_info_by_coord(dataset, place.data(), &skipped, &address, &bytes) < 0) {
            fail(file, "cannot find the chunks of dataset " + printable(description.name));
        }
        if (address == HADDR_UNDEF) return obstacle("partly never written");
        if ((skipped & all_filters(description)) != all_filters(description))
            return obstacle("filtered by " + filter_names(description));
        const std::uint64_t rows = std::min(rows_a_chunk, description.rows() - first);
        if (bytes / rows_a_chunk != row_bytes || bytes % rows_a_chunk != 0) {
            throw Error(ErrorKind::corrupt, fmt::format("a chunk of {} bytes in dataset {} where {} rows of {} are due",
                                                        bytes, printable(description.name), rows_a_chunk, row_bytes))
                .at(file.path);
        }
        if (address > file.size_bytes) check_inside(file, description, address, 0);
        check_inside(file, description, address + base, rows * row_bytes);
        for (std::uint64_t row = 0; row < rows; ++row) plain.offsets.push_back(address + base + row * row_bytes);
    }
    return plain;
}

PlainRows rows_of(const File& file, hid_t dataset, const DatasetDescription& description, std::uint64_t row_bytes) {
    switch (description.storage) {
        case Storage::contiguous: return of_contiguous(file, dataset, description, row_bytes, description.rows());
        case Storage::chunked: return of_chunks(file, dataset, description, row_bytes);
        case Storage::compact: return obstacle("compact: within the header of its dataset");
        default: return obstacle("elsewhere");
    }
}

}  // namespace

PlainRows plain_rows(const File& file, hid_t dataset, const DatasetDescription& description) {
    if (description.variable()) return obstacle("of variable length");
    if (description.element == Element::big_endian) return obstacle("big-endian");
    const std::uint64_t row_bytes = description.row_bytes().value_or(UINT64_MAX);
    if (row_bytes == 0) return {std::vector<std::uint64_t>(description.rows(), 0), ""};
    return rows_of(file, dataset, description, row_bytes);
}

PlainRows plain_references(const File& file, hid_t dataset, const DatasetDescription& description) {
    return rows_of(file, dataset, description, reference_bytes(file));
}

std::optional<std::uint64_t> plain_reference(const File& file, hid_t dataset, const DatasetDescription& description,
                                             std::uint64_t row) {
    haddr_t begin = HADDR_UNDEF;
    std::uint64_t rows_in = row;
    if (description.storage == Storage::contiguous) {
        begin = H5Dget_offset(dataset);
    } else if (description.storage == Storage::chunked && chunk_count(description) <= kMostChunksToAskFor) {
        const std::uint64_t rows_a_chunk = description.chunk.front();
        std::array<hsize_t, H5S_MAX_RANK> place{row / rows_a_chunk * rows_a_chunk};
        unsigned skipped = 0;
        hsize_t bytes = 0;
        if (H5Dget_chunk_info_by_coord(dataset, place.data(), &skipped, &begin, &bytes) < 0) begin = HADDR_UNDEF;
        if ((skipped & all_filters(description)) != all_filters(description)) begin = HADDR_UNDEF;
        if (begin != HADDR_UNDEF && chunk_addresses_are_relative()) begin += file.userblock_bytes;
        rows_in = row % rows_a_chunk;
    }
    if (begin == HADDR_UNDEF) return std::nullopt;
    return begin + rows_in * reference_bytes(file);
}

std::string chunk_problem(hid_t dataset, const DatasetDescription& description, std::uint64_t row) {
    // Of chunks behind filters the size says nothing.
    if (description.storage != Storage::chunked || description.variable() || !description.filters.empty()) return {};
    std::uint64_t due = description.element_bytes;
    for (const std::uint64_t elements : description.chunk) due *= elements;
    // All places of chunks across the row, counted like the digits of a number.
    std::array<hsize_t, H5S_MAX_RANK> place{row / description.chunk.front() * description.chunk.front()};
    for (;;) {
        // One that was never written has no size, or none that can be told.
        hsize_t bytes = 0;
        const bool known = H5Dget_chunk_storage_size(dataset, place.data(), &bytes) >= 0 && bytes > 0;
        if (known && bytes != due) {
            return fmt::format("a chunk of {} bytes where {} are due", bytes, due);
        }
        std::size_t axis = description.dims.size();
        while (--axis > 0) {
            place.at(axis) += description.chunk[axis];
            if (place.at(axis) < description.dims[axis]) break;
            place.at(axis) = 0;
        }
        if (axis == 0) return {};
    }
}

PlainRows plain_run(const File& file, hid_t dataset, const DatasetDescription& description) {
    if (description.rows() == 0) return {{0}, ""};
    switch (description.storage) {
        case Storage::contiguous: return of_contiguous(file, dataset, description, description.element_bytes, 1);
        case Storage::compact: return obstacle("compact: within the header of its dataset");
        default: return obstacle("chunks cut samples");
    }
}

}  // namespace feedline::hdf5
