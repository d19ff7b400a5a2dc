// Packs one shard: from the samples' ids to files under their final names.
//
// run() belongs to one thread; stop() may be called from any.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "core/slab.h"
#include "loaders/packed/manifest.h"
#include "packers/output/rate_limit.h"
#include "packers/pack/head_maker.h"
#include "packers/pack/label_count.h"
#include "packers/pack/partition.h"
#include "packers/pack/sample_reader.h"
#include "packers/pack/source_watch.h"
#include "packers/packer.h"

namespace feedline {

// What all shards of a run have in common. Not owned.
struct ShardContext {
    const std::shared_ptr<const Dataset>& source;
    const SourceWatch& watch;
    const Packer& packer;
    const HeadMaker& heads;
    const SampleAt& sample_at;
    std::string directory;  // where shards go
    std::string name;
    std::span<const ClassName> classes;
    std::uint64_t shards = 1;
    ReadOptions reading;
    RateLimit* rate = nullptr;
    std::atomic<std::uint64_t>& samples_done;
    std::atomic<std::uint64_t>& bytes_done;
    LabelCounts& labels;
};

class ShardJob {
public:
    explicit ShardJob(const ShardContext& context) : context_(context) {}

    // Throws what pack() throws, and Error{interrupted} after stop().
    PackedShard run(std::uint64_t number, const ShardRange& range);
    void stop();

private:
    // What a sample that could not be read is left out for; its position in the shard.
    struct Failed {
        std::uint64_t position;
        LeftOut left_out;
    };
    struct Attempt {
        PackedShard shard;
        LabelCount labels;
        std::vector<Failed> failed;
    };
    Attempt attempt(std::uint64_t number, const ShardRange& range, const std::vector<std::uint64_t>& positions);
    void start_reading(std::vector<SampleId> ids);
    // Which of `ids` lie in a file that is not as it was; with OnError::stop it is thrown.
    std::vector<std::size_t> changed(std::span<const SampleId> ids, const SourceWatch::Look& before) const;
    std::string temporary(const std::string& name) const { return context_.directory + "/." + name + ".partial"; }
    std::string final_path(const std::string& name) const { return context_.directory + "/" + name; }

    const ShardContext& context_;
    std::shared_ptr<Slab> slab_;
    std::mutex mutex_;
    std::unique_ptr<SampleReader> reader_;
    bool stopped_ = false;
};

}  // namespace feedline
