// LMDB's own way of reading: liblmdb maps the file, and values are copied out of the map. For builds with liblmdb.
//
// Opened read-only and without read-ahead, as training jobs do. Where a lock file is there, somebody may be writing,
// and its locks are taken; where there is none, none is made.
//
// The library trusts the file. A size that has become smaller is noticed before a read, other damage since the index
// was made is not.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "loaders/dataset.h"
#include "loaders/shards/key_list.h"
#include "loaders/shards/shard_list.h"

struct MDB_env;
struct MDB_txn;

namespace feedline::lmdb {

// A shard as the library has it open. Thread-safe.
class Environment {
public:
    // Returns 0, an errno or one of the library's codes.
    int open(const std::string& data_file);
    Environment() = default;
    ~Environment();
    Environment(const Environment&) = delete;
    Environment& operator=(const Environment&) = delete;

    MDB_env* get() const { return environment_; }
    unsigned database() const { return database_; }
    int fd() const { return fd_; }

private:
    MDB_env* environment_ = nullptr;
    unsigned database_ = 0;
    int fd_ = -1;  // the library's
};

// The shards that readers have open, each once however many read it, and no longer than one does: pages that are mapped
// cannot be evicted. Thread-safe.
class OpenEnvironments {
public:
    // Null, with `error` as Environment::open() gives it.
    std::shared_ptr<Environment> get(ShardId shard, const std::string& data_file, int& error);

private:
    std::mutex mutex_;
    std::unordered_map<ShardId, std::weak_ptr<Environment>> open_;
};

// Belongs to one thread; what it is made of must outlive it.
class LibraryReader final : public NativeReader {
public:
    LibraryReader(const std::vector<ShardFile>& shards, const KeyList& keys, OpenEnvironments& environments)
        : shards_(shards), keys_(keys), environments_(environments) {}

    std::int64_t read(SampleId id, const Extent& extent, std::span<std::byte> destination) override;
    std::string problem() const override { return problem_; }

private:
    struct Abort {
        void operator()(MDB_txn* transaction) const;
    };
    // A state of a shard, as it was when this reader came to it.
    struct Snapshot {
        std::shared_ptr<Environment> environment;
        std::unique_ptr<MDB_txn, Abort> transaction;
    };

    Snapshot* snapshot(ShardId shard, int& error);
    // -errno for what the library answered.
    std::int64_t failed(int error);

    const std::vector<ShardFile>& shards_;
    const KeyList& keys_;
    OpenEnvironments& environments_;
    std::unordered_map<ShardId, Snapshot> snapshots_;
    std::string problem_;
};

}  // namespace feedline::lmdb
