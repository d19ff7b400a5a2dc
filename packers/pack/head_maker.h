// From a record of the source to what a packer is told of the sample.
//
// Thread-safety: const members may be called from any thread at once.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "loaders/dataset.h"
#include "loaders/left_behind.h"
#include "packers/pack/labels.h"
#include "packers/pack/source_memory.h"
#include "packers/pack/unique_stems.h"
#include "packers/packer.h"

namespace feedline {

struct Sample {
    SampleHead head;
    std::vector<std::span<const std::byte>> contents;  // of the parts, in the record
    std::string problem;                               // what is wrong with the record; empty: nothing
};

class HeadMaker {
public:
    // `classes`: names of labels for records that do not tell. `parts`: names of those to take; empty: all.
    // `several_parts`: whether the format holds more than one.
    HeadMaker(std::shared_ptr<const Dataset> source, const Packer& packer, std::vector<std::string> parts,
              LabelChoice labels, std::span<const ClassName> classes);

    // Of sample `id`, number `number` of the packed dataset. `record` may be the first piece of a file of
    // `record_bytes`. Throws Error{usage} for a sample that the options or the format do not allow.
    Sample sample(std::uint64_t number, SampleId id, std::span<const std::byte> record,
                  std::uint64_t record_bytes) const;

    // Of all that the heads are made from but the records: keys, labels, options.
    std::uint64_t digest() const { return digest_; }

    // What to say of lines of the file of labels that are of no sample; empty: of each there is one, or which samples
    // there are is known only once their records are read.
    std::string unused_labels() const;

    // What the records of the first samples hold that was not packed.
    std::vector<std::string> left_behind() const {
        const std::lock_guard lock(mutex_);
        return left_behind_.notes();
    }

private:
    bool paths_known() const;  // before records are read
    std::string path_of(SampleId id, const SampleViews& views) const;
    std::string class_name(const SampleViews& views) const;
    void choose_parts(SampleViews& views, const std::string& path) const;

    std::shared_ptr<const Dataset> source_;
    const Packer& packer_;
    std::vector<std::string> parts_;
    LabelChoice labels_;
    std::optional<SourceMemory> memory_;  // of a packed source of ours
    std::unordered_map<std::int64_t, std::string> class_names_;
    bool unique_keys_;   // of a tar archive, which are paths without endings
    bool unique_paths_;  // in the source, so that they can stand for themselves
    UniqueStems stems_;
    std::uint64_t digest_ = 0;
    const LeavesBehind* leaves_;  // the source, or null
    mutable std::mutex mutex_;
    mutable LeftBehindNotes left_behind_;
};

}  // namespace feedline
