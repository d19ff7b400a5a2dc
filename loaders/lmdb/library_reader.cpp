#include "loaders/lmdb/library_reader.h"

#include <fmt/format.h>
#include <lmdb.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

namespace feedline::lmdb {
namespace {

constexpr std::string_view kDataFile = "/data.mdb";
// Each holds descriptors and a mapping.
constexpr std::size_t kMostSnapshots = 128;

int open_at(MDB_env* environment, const std::string& data_file, bool locks) {
    const bool directory = data_file.ends_with(kDataFile);
    const std::string path = directory ? data_file.substr(0, data_file.size() - kDataFile.size()) : data_file;
    // MDB_NOTLS: transactions belong to readers, not to threads.
    const unsigned flags =
        MDB_RDONLY | MDB_NORDAHEAD | MDB_NOTLS | (locks ? 0U : MDB_NOLOCK) | (directory ? 0U : MDB_NOSUBDIR);
    return mdb_env_open(environment, path.empty() ? "/" : path.c_str(), flags, 0);
}

bool may_lock(const std::string& data_file) {
    const bool directory = data_file.ends_with(kDataFile);
    const std::string lock =
        directory ? data_file.substr(0, data_file.size() - kDataFile.size()) + "/lock.mdb" : data_file + "-lock";
    return access(lock.c_str(), R_OK | W_OK) == 0;
}

}  // namespace

Environment::~Environment() {
    if (environment_ != nullptr) mdb_env_close(environment_);
}

int Environment::open(const std::string& data_file) {
    if (const int error = mdb_env_create(&environment_); error != 0) return error;
    // As much as the data need, which the library sees to; a recorded size may be terabytes.
    mdb_env_set_mapsize(environment_, 1);
    if (const int error = open_at(environment_, data_file, may_lock(data_file)); error != 0) return error;
    MDB_txn* transaction = nullptr;
    if (const int error = mdb_txn_begin(environment_, nullptr, MDB_RDONLY, &transaction); error != 0) return error;
    if (const int error = mdb_dbi_open(transaction, nullptr, 0, &database_); error != 0) {
        mdb_txn_abort(transaction);
        return error;
    }
    if (const int error = mdb_txn_commit(transaction); error != 0) return error;
    return mdb_env_get_fd(environment_, &fd_);
}

std::shared_ptr<Environment> OpenEnvironments::get(ShardId shard, const std::string& data_file, int& error) {
    const std::lock_guard lock(mutex_);
    std::weak_ptr<Environment>& known = open_[shard];
    if (std::shared_ptr<Environment> held = known.lock()) return held;
    auto made = std::make_shared<Environment>();
    error = made->open(data_file);
    if (error != 0) return nullptr;
    known = made;
    return made;
}

void LibraryReader::Abort::operator()(MDB_txn* transaction) const {
    mdb_txn_abort(transaction);
}

LibraryReader::Snapshot* LibraryReader::snapshot(ShardId shard, int& error) {
    if (const auto known = snapshots_.find(shard); known != snapshots_.end()) return &known->second;
    if (snapshots_.size() >= kMostSnapshots) snapshots_.clear();
    Snapshot made;
    made.environment = environments_.get(shard, shards_[shard].path, error);
    if (made.environment == nullptr) return nullptr;
    MDB_txn* transaction = nullptr;
    error = mdb_txn_begin(made.environment->get(), nullptr, MDB_RDONLY, &transaction);
    if (error != 0) return nullptr;
    made.transaction.reset(transaction);
    return &snapshots_.emplace(shard, std::move(made)).first->second;
}

std::int64_t LibraryReader::failed(int error) {
    if (error > 0) return -error;
    problem_ = fmt::format("LMDB says: {}", mdb_strerror(error));
    const bool damaged = error == MDB_NOTFOUND || error == MDB_CORRUPTED || error == MDB_INVALID ||
                         error == MDB_PAGE_NOTFOUND || error == MDB_VERSION_MISMATCH || error == MDB_BAD_VALSIZE;
    return damaged ? -EBADMSG : -EIO;
}

std::int64_t LibraryReader::read(SampleId id, const Extent& extent, std::span<std::byte> destination) {
    problem_.clear();
    const ShardFile& file = shards_[extent.shard];
    const auto known = snapshots_.find(extent.shard);
    // What is mapped and not there any more ends the process when it is touched.
    struct stat status {};
    const bool there = known == snapshots_.end() ? ::stat(file.path.c_str(), &status) == 0
                                                 : ::fstat(known->second.environment->fd(), &status) == 0;
    if (!there) return -errno;
    if (static_cast<std::uint64_t>(status.st_size) < file.size_bytes) return 0;
    int error = 0;
    const Snapshot* state = known == snapshots_.end() ? snapshot(extent.shard, error) : &known->second;
    if (state == nullptr) return failed(error);
    const std::string_view name = keys_[id];
    MDB_val key{name.size(), const_cast<char*>(name.data())};
    MDB_val value{};
    error = mdb_get(state->transaction.get(), state->environment->database(), &key, &value);
    if (error != 0) return failed(error);
    if (value.mv_size != extent.length_bytes) {
        problem_ =
            fmt::format("the value has {} bytes and had {} when it was indexed", value.mv_size, extent.length_bytes);
        return -EBADMSG;
    }
    if (value.mv_size > 0) std::memcpy(destination.data(), value.mv_data, value.mv_size);
    return static_cast<std::int64_t>(value.mv_size);
}

}  // namespace feedline::lmdb
