#include "packers/lmdb/lmdb_packer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <lmdb.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/fd.h"
#include "core/units.h"
#include "packers/lmdb/data_sum.h"
#include "packers/lmdb/datum_writer.h"
#include "packers/output/digest.h"
#include "packers/output/free_space.h"
#include "packers/output/glued_parts.h"
#include "packers/output/new_file.h"
#include "packers/output/rate_limit.h"

namespace feedline {
namespace {

constexpr std::size_t kLongestKey = 511;  // MDB_MAXKEYSIZE of every usual build
constexpr std::uint64_t kLongestValue = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t kPageBytes = 4096;
// Written at once. The library keeps a transaction's pages in memory of its own: few enough to be in the processor's
// cache still when they are written.
constexpr std::uint64_t kTransactionBytes = 2U << 20U;

// A key cannot be longer; what is cut off is told from others of the same beginning by a digest.
std::string key_of(const SampleHead& head) {
    std::string key = fmt::format("{:08}_{}", head.number, head.path);
    if (key.size() <= kLongestKey) return key;
    const std::string tail = fmt::format("~{:016x}", digest(key));
    key.resize(kLongestKey - tail.size());
    return key + tail;
}

// The library says EIO also where a write came short: what the next one says is why.
int reason_of(int error_number, const std::string& file, std::uint64_t size_bytes) {
    if (error_number != EIO) return error_number;
    const Fd fd(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
    const std::vector<char> page(kPageBytes);
    if (!fd) return error_number;
    const ssize_t written = ::pwrite(fd.get(), page.data(), page.size(), static_cast<off_t>(size_bytes));
    return written < 0 ? errno : error_number;
}

struct CloseEnvironment {
    void operator()(MDB_env* environment) const { mdb_env_close(environment); }
};

class Environment final : public ShardWriter {
public:
    explicit Environment(const ShardPlan& plan) : path_(plan.path), rate_(plan.rate) {
        if (::mkdir(path_.c_str(), 0777) != 0) throw system_error(errno, "cannot make directory", path_);
        MDB_env* environment = nullptr;
        check(mdb_env_create(&environment), "cannot make an LMDB environment");
        environment_.reset(environment);
        // Never more than is used ends up in the file; the map is address space.
        const std::uint64_t a_sample = 3 * kPageBytes;
        const std::uint64_t map = plan.content_bytes + plan.samples * a_sample + (64U << 20U);
        check(mdb_env_set_mapsize(environment, (map + kPageBytes - 1) / kPageBytes * kPageBytes),
              "cannot set the size of the map");
        // Nobody else can have it open: it is not there yet. What is on disk when is finish()'s to say.
        check(mdb_env_open(environment, path_.c_str(), MDB_NOLOCK | MDB_NOSYNC | MDB_NORDAHEAD, 0666),
              "cannot make an LMDB file");
        begin_transaction();
    }
    Environment(const Environment&) = delete;
    Environment& operator=(const Environment&) = delete;
    ~Environment() override {
        if (transaction_ != nullptr) mdb_txn_abort(transaction_);
    }

    std::string begin(const SampleHead& head) override {
        std::string key = key_of(head);
        std::vector<std::string> glue = lmdb::datum_around(head);
        std::uint64_t bytes = head.bytes();
        for (const std::string& piece : glue) bytes += piece.size();
        if (bytes > kLongestValue) {
            throw Error(ErrorKind::usage, fmt::format("a sample of {} is more than an LMDB value holds (4 GiB)",
                                                      format_size(static_cast<double>(head.bytes()))))
                .at(head.path)
                .advise("Pack it as webdataset or hdf5");
        }
        if (in_transaction_bytes_ > 0 && in_transaction_bytes_ + bytes > kTransactionBytes) {
            commit();
            begin_transaction();
        }
        in_transaction_bytes_ += bytes;
        if (rate_ != nullptr) rate_->take(bytes);
        MDB_val name{key.size(), key.data()};
        MDB_val value{bytes, nullptr};
        // Numbers go up, and so do keys: pages are filled one after the other.
        check(mdb_put(transaction_, database_, &name, &value, MDB_RESERVE | MDB_APPEND | MDB_NOOVERWRITE),
              "cannot add a value");
        to_ = static_cast<std::byte*>(value.mv_data);
        value_ = {bytes, 0};
        parts_.begin(head.parts, std::move(glue));
        return key;
    }

    void append(std::span<const std::byte> bytes) override {
        parts_.append(bytes, [this](std::span<const std::byte> piece) { put(piece); });
    }

    void end() override {
        parts_.end([this](std::span<const std::byte> piece) { put(piece); });
        if (value_.bytes >= lmdb::kLargeBytes) large_.push_back(value_);
    }

    ShardSum finish() override {
        commit();
        check(mdb_env_sync(environment_.get(), 1), "cannot flush");
        sync_directory_of(data_file());
        const FileSum sum = lmdb::sum_of_data(environment_.get(), data_file(), large_);
        environment_.reset();
        return {.bytes = sum.bytes, .crc32c = sum.crc32c, .index_crc32c = {}};
    }

private:
    std::string data_file() const { return fmt::format("{}/{}", path_, kDataInDirectory); }
    void put(std::span<const std::byte> piece) {
        if (!piece.empty()) std::memcpy(to_, piece.data(), piece.size());
        to_ += piece.size();
        if (value_.bytes >= lmdb::kLargeBytes) value_.crc32c = crc32c(piece, value_.crc32c);
    }

    void begin_transaction() {
        check(mdb_txn_begin(environment_.get(), nullptr, 0, &transaction_), "cannot begin a transaction");
        check(mdb_dbi_open(transaction_, nullptr, 0, &database_), "cannot open the main database");
        in_transaction_bytes_ = 0;
    }
    void commit() { check(mdb_txn_commit(std::exchange(transaction_, nullptr)), "cannot write"); }

    void check(int result, const char* what) const {
        if (result == MDB_SUCCESS) return;
        if (result > 0) {
            const std::string file = data_file();
            struct stat status {};
            const bool there = ::stat(file.c_str(), &status) == 0;
            const std::uint64_t size_bytes = there ? static_cast<std::uint64_t>(status.st_size) : 0;
            throw cannot_write(reason_of(result, file, size_bytes), file, size_bytes);
        }
        throw Error(ErrorKind::internal, fmt::format("{} ({})", what, mdb_strerror(result))).at(path_);
    }

    std::string path_;
    RateLimit* rate_;
    std::unique_ptr<MDB_env, CloseEnvironment> environment_;
    MDB_txn* transaction_ = nullptr;
    MDB_dbi database_ = 0;
    std::uint64_t in_transaction_bytes_ = 0;
    std::byte* to_ = nullptr;  // where the next bytes of the value go
    lmdb::LargeValue value_;   // the one that is being written
    std::vector<lmdb::LargeValue> large_;
    GluedParts parts_;
};

}  // namespace

std::string LmdbPacker::shard_name(std::string_view dataset, std::uint64_t number, std::uint64_t /*shards*/) const {
    return fmt::format("{}-{:05}.lmdb", dataset, number);
}

std::uint64_t LmdbPacker::estimate_bytes(std::uint64_t samples, std::uint64_t content_bytes) const {
    // Values begin on a page of their own, where they are larger than half of one; nodes take a key of usual length.
    constexpr std::uint64_t kOverheadBytes = kPageBytes / 2 + 80;
    return content_bytes + samples * kOverheadBytes + 4 * kPageBytes;
}

std::unique_ptr<ShardWriter> LmdbPacker::open(const ShardPlan& plan) const {
    return std::make_unique<Environment>(plan);
}

}  // namespace feedline
