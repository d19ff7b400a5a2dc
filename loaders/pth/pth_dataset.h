// The samples of all .pth files of a dataset.
//
// Thread-safety: immutable; const members may be called from any thread at once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "loaders/pth/samples.h"
#include "loaders/shards/key_list.h"
#include "loaders/shards/shard_dataset.h"

namespace feedline::pth {

class PthDataset final : public ShardDataset {
public:
    struct Parts {
        ExtentIndex plain;             // where the bytes of every sample lie; of those in `strided` the length alone
        std::vector<Strided> strided;  // `first` counts through the whole dataset
        KeyList names;                 // one a sample, empty for one without; or none
        std::string layout;            // as in Samples; of shards that differ: "mixed"
        bool names_are_paths = false;  // of the files that samples were made from; unique in the dataset
        std::vector<std::int64_t> labels;      // one a sample, or none
        std::vector<std::uint32_t> checksums;  // one a sample, or none
        std::vector<ClassName> classes;
    };
    static std::unique_ptr<PthDataset> make(std::string path, ShardList list, Parts parts);

    const DatasetInfo& info() const override { return info_; }
    std::string key(SampleId id) const override;
    std::optional<std::int64_t> label(SampleId id) const override;
    bool has_extents() const override { return parts_.strided.empty(); }
    std::unique_ptr<NativeReader> native_reader() const override;
    SampleViews views(SampleId id, std::span<const std::byte> record) const override;
    std::string check(SampleId id, std::span<const std::byte> record) const override;

    // For the reader of what has no extents: where a sample lies, by itself or as part of a tensor.
    Extent plain_extent(SampleId id) const { return parts_.plain.extent(id); }
    const Strided* strided(SampleId id) const;

private:
    PthDataset(std::string path, ShardList list, ExtentIndex index, Parts parts);
    void find_namesakes();

    Parts parts_;  // plain, classes: moved from where they are elsewhere
    DatasetInfo info_;
    std::vector<SampleId> namesakes_;  // samples whose name an earlier one has; ascending
    std::unordered_map<std::int64_t, std::size_t> class_of_label_;
};

}  // namespace feedline::pth
