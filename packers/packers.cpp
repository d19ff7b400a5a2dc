#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "core/error.h"
#include "packers/packer.h"
#ifdef FEEDLINE_HAVE_HDF5
#include "packers/hdf5/hdf5_packer.h"
#endif
#ifdef FEEDLINE_HAVE_LMDB
#include "packers/lmdb/lmdb_packer.h"
#endif
#include "packers/pth/pth_packer.h"
#include "packers/tfrecord/tfrecord_packer.h"
#include "packers/webdataset/webdataset_packer.h"

namespace feedline {
namespace {

// Adding a packer: its header above, one line here, its sources in CMakeLists.txt.
#ifdef FEEDLINE_HAVE_HDF5
const Hdf5Packer kHdf5;
#endif
#ifdef FEEDLINE_HAVE_LMDB
const LmdbPacker kLmdb;
#endif
const PthPacker kPth;
const TfrecordPacker kTfrecord;
const WebdatasetPacker kWebdataset;
constexpr std::array kPackers = std::to_array<const Packer*>({
#ifdef FEEDLINE_HAVE_HDF5
    &kHdf5,
#endif
#ifdef FEEDLINE_HAVE_LMDB
    &kLmdb,
#endif
    &kPth,
    &kTfrecord,
    &kWebdataset,
});
// What a build with everything can write.
constexpr std::array kAll = std::to_array<std::string_view>({"hdf5", "lmdb", "pth", "tfrecord", "webdataset"});

}  // namespace

std::uint64_t SampleHead::bytes() const {
    std::uint64_t sum = 0;
    for (const PartHead& part : parts) sum += part.bytes;
    return sum;
}

std::span<const Packer* const> all_packers() {
    return kPackers;
}

const Packer& find_packer(std::string_view format) {
    std::string known;
    for (const Packer* packer : kPackers) {
        if (packer->format() == format) return *packer;
        known += fmt::format("{}{}", known.empty() ? "" : ", ", packer->format());
    }
    if (std::find(kAll.begin(), kAll.end(), format) != kAll.end()) {
        throw Error(ErrorKind::unsupported, fmt::format("this build cannot write {}", format))
            .advise("Build it where its library is found; this one writes " + known);
    }
    throw Error(ErrorKind::usage, fmt::format("nothing here packs into '{}'", printable(format)))
        .advise("Formats: " + known);
}

}  // namespace feedline
