#include "tests/loaders/pth/read_all.h"

#include <stdexcept>

#include "tests/testutil/temp_dir.h"

namespace feedline::test {
namespace {

Extent extent_of(const Dataset& dataset, SampleId id) {
    Extent extent;
    dataset.locate(std::span(&id, 1), std::span(&extent, 1));
    return extent;
}

}  // namespace

std::string by_reader(const Dataset& dataset, SampleId id) {
    const Extent extent = extent_of(dataset, id);
    std::string bytes(extent.length_bytes, '\0');
    const std::int64_t got = dataset.native_reader()->read(id, extent, std::as_writable_bytes(std::span(bytes)));
    if (got != static_cast<std::int64_t>(extent.length_bytes)) throw std::runtime_error("the reader gave too little");
    return bytes;
}

std::string by_extent(const Dataset& dataset, SampleId id) {
    const Extent extent = extent_of(dataset, id);
    const std::string file = read_file(dataset.path(extent.shard));
    if (extent.offset_bytes + extent.length_bytes > file.size()) throw std::runtime_error("beyond the file");
    return file.substr(extent.offset_bytes, extent.length_bytes);
}

}  // namespace feedline::test
