// Builds without libhdf5 still know an HDF5 file when they see one.
#include "core/error.h"
#include "loaders/hdf5/hdf5_format.h"
#include "loaders/hdf5/signature.h"
#include "loaders/shards/shard_list.h"

namespace feedline {

Confidence Hdf5Format::probe(const std::string& path) const {
    return shards_look_like(path, hdf5::has_signature) ? Confidence::yes : Confidence::no;
}

std::unique_ptr<Dataset> Hdf5Format::open(const std::string& path, const OpenOptions& /*options*/) const {
    list_shards(path, name(), hdf5::has_signature);
    throw Error(ErrorKind::unsupported, "this build of Feedline reads no HDF5")
        .at(path)
        .advise("Install libhdf5-dev and build again");
}

}  // namespace feedline
