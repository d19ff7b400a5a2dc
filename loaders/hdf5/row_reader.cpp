#include "loaders/hdf5/row_reader.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <list>
#include <optional>

#include "core/error.h"
#include "loaders/hdf5/columns.h"
#include "loaders/hdf5/heap_check.h"
#include "loaders/hdf5/plain_rows.h"
#include "loaders/hdf5/variable.h"

namespace feedline::hdf5 {
namespace {

// As many shards stay open as fit into both.
constexpr std::size_t kMostOpen = 64;
constexpr std::uint64_t kMostCacheBytes = 512U << 20U;

// What the library shall keep of a dataset's chunks in memory: those of one row, and of its neighbours in them.
std::uint64_t cache_bytes(const DatasetDescription& column) {
    constexpr std::uint64_t kLeast = 1U << 20U;
    constexpr std::uint64_t kMost = 256U << 20U;
    constexpr std::uint64_t kMostForOne = 1U << 30U;
    if (column.storage != Storage::chunked) return kLeast;
    double chunk = static_cast<double>(column.element_bytes);
    double chunks_a_row = 1;
    for (std::size_t axis = 0; axis < column.chunk.size(); ++axis) {
        chunk *= static_cast<double>(column.chunk[axis]);
        const std::uint64_t across = axis == 0 ? 1 : (column.dims[axis] + column.chunk[axis] - 1) / column.chunk[axis];
        chunks_a_row *= static_cast<double>(across);
    }
    const double wanted = std::min(chunk * chunks_a_row, std::max(chunk, static_cast<double>(kMost)));
    return static_cast<std::uint64_t>(std::clamp(wanted, double{kLeast}, double{kMostForOne}));
}

struct Column {
    DatasetDescription description;
    Id dataset;
    Id type;
    Id file_space;
    Id memory_space;  // of `selected_rows`
    std::uint64_t selected_rows = 0;
};

Column open_column(const File& file, const std::string& name, std::uint64_t& cache) {
    constexpr std::size_t kSlots = 12'421;  // a prime: the library spreads chunks over them by a modulus
    Column column;
    column.description = describe(file, name);
    check_size(file, column.description);
    const Id access(H5Pcreate(H5P_DATASET_ACCESS));
    const std::uint64_t bytes = cache_bytes(column.description);
    cache += bytes;
    H5Pset_chunk_cache(access.get(), kSlots, bytes, H5D_CHUNK_CACHE_W0_DEFAULT);
    column.dataset = Id(H5Dopen2(file.id.get(), name.c_str(), access.get()));
    if (!column.dataset) fail(file, "cannot open dataset " + printable(name));
    column.type = memory_type(file, column.dataset.get(), column.description);
    column.file_space = Id(H5Dget_space(column.dataset.get()));
    return column;
}

// A shard that is open.
struct OpenShard {
    ShardId shard = 0;
    File file;
    int fd = -1;  // the library's own
    std::uint64_t cache_bytes = 0;
    std::vector<Column> columns;
    std::optional<HeapCheck> heap;  // where elements are of variable length
};

class RowReader final : public NativeReader {
public:
    explicit RowReader(std::shared_ptr<const Source> source) : source_(std::move(source)) {}

    ~RowReader() override {
        const LibraryLock lock;
        open_.clear();
        memory_.reset();
    }

    std::int64_t read(SampleId id, const Extent& extent, std::span<std::byte> destination) override {
        problem_.clear();
        try {
            const LibraryLock lock;
            if (has_shrunk(extent.shard)) return 0;
            OpenShard& shard = open_shard(extent.shard);
            if (source_->kind == Selection::Kind::packed) {
                const std::uint64_t begin = extent.offset_bytes - source_->shards[extent.shard].begin_bytes;
                return read_rows(shard.columns.front(), begin, extent.length_bytes, destination);
            }
            const std::uint64_t row = id - source_->shards[extent.shard].first_sample;
            std::int64_t total = 0;
            for (Column& column : shard.columns) {
                problem_ = find_problem(shard, column, row);
                if (!problem_.empty()) return -EBADMSG;
                const auto rest = destination.subspan(static_cast<std::size_t>(total));
                const std::int64_t got =
                    column.description.variable() ? read_variable(column, row, rest) : read_rows(column, row, 1, rest);
                if (got < 0) return got;
                total += got;
            }
            return total;
        } catch (const Error& error) {
            problem_ = error.message();
            if (error.error_number() != 0) return -error.error_number();
            return error.kind() == ErrorKind::corrupt ? -EBADMSG : -EIO;
        } catch (const std::bad_alloc&) {
            return -ENOMEM;
        }
    }

    std::string problem() const override { return problem_; }

private:
    OpenShard& open_shard(ShardId number) {
        const auto held = std::find_if(open_.begin(), open_.end(), [&](const auto& s) { return s.shard == number; });
        if (held != open_.end()) {
            open_.splice(open_.begin(), open_, held);
            return open_.front();
        }
        OpenShard shard;
        shard.shard = number;
        shard.file = open_file(source_->shards[number].path);
        void* handle = nullptr;
        if (H5Fget_vfd_handle(shard.file.id.get(), H5P_DEFAULT, &handle) >= 0 && handle != nullptr) {
            shard.fd = *static_cast<const int*>(handle);
        }
        for (const std::string& name : source_->columns) {
            shard.columns.push_back(open_column(shard.file, name, shard.cache_bytes));
        }
        cache_bytes_ += shard.cache_bytes;
        open_.push_front(std::move(shard));
        while (open_.size() > 1 && (open_.size() > kMostOpen || cache_bytes_ > kMostCacheBytes)) {
            cache_bytes_ -= open_.back().cache_bytes;
            open_.pop_back();
        }
        return open_.front();
    }

    // What the library would not survive.
    static std::string find_problem(OpenShard& shard, const Column& column, std::uint64_t row) {
        if (!column.description.variable()) return chunk_problem(column.dataset.get(), column.description, row);
        const auto place = plain_reference(shard.file, column.dataset.get(), column.description, row);
        if (!place) return {};
        if (!shard.heap) shard.heap.emplace(shard.file);
        return shard.heap->problem(*place, column.description.element_bytes);
    }

    // The library makes zeros of what lies behind the end of a file that is open, and fails to open another.
    bool has_shrunk(ShardId number) const {
        const ShardRows& shard = source_->shards[number];
        const auto held = std::find_if(open_.begin(), open_.end(), [&](const auto& s) { return s.shard == number; });
        struct stat status {};
        const bool known = held != open_.end() && held->fd >= 0 ? fstat(held->fd, &status) == 0
                                                                : stat(shard.path.c_str(), &status) == 0;
        return known && static_cast<std::uint64_t>(status.st_size) < shard.size_bytes;
    }

    // Selects rows [first, first + count); false where the dataset has none such.
    static bool select(Column& column, std::uint64_t first, std::uint64_t count) {
        const std::vector<std::uint64_t>& dims = column.description.dims;
        if (count > column.description.rows() || first > column.description.rows() - count) return false;
        std::array<hsize_t, H5S_MAX_RANK> start{first};
        std::array<hsize_t, H5S_MAX_RANK> extent{};
        std::copy(dims.begin(), dims.end(), extent.begin());
        if (dims.empty()) {
            column.memory_space = Id(H5Screate(H5S_SCALAR));
            return true;
        }
        extent[0] = count;
        if (!column.memory_space || column.selected_rows != count) {
            column.memory_space = Id(H5Screate_simple(static_cast<int>(dims.size()), extent.data(), nullptr));
            column.selected_rows = count;
        }
        return H5Sselect_hyperslab(column.file_space.get(), H5S_SELECT_SET, start.data(), nullptr, extent.data(),
                                   nullptr) >= 0;
    }

    std::int64_t read_rows(Column& column, std::uint64_t first, std::uint64_t count, std::span<std::byte> destination) {
        std::uint64_t bytes = 0;
        const std::optional<std::uint64_t> row_bytes = column.description.row_bytes();
        if (!row_bytes || __builtin_mul_overflow(*row_bytes, count, &bytes) || bytes > destination.size()) {
            return another_file();
        }
        if (bytes == 0) return 0;
        if (!select(column, first, count)) return another_file();
        if (H5Dread(column.dataset.get(), column.type.get(), column.memory_space.get(), column.file_space.get(),
                    H5P_DEFAULT, destination.data()) < 0) {
            return failed();
        }
        return static_cast<std::int64_t>(bytes);
    }

    std::int64_t read_variable(Column& column, std::uint64_t row, std::span<std::byte> destination) {
        if (!select(column, row, 1)) return another_file();
        if (!memory_) memory_.emplace();
        memory_->begin(destination.size() + 1);  // a text ends with a NUL
        hvl_t element{};                         // or the pointer to a text, which is smaller
        if (H5Dread(column.dataset.get(), column.type.get(), column.memory_space.get(), column.file_space.get(),
                    memory_->transfer(), &element) < 0) {
            return memory_->refused() ? another_file() : failed();
        }
        const void* piece = element.p;
        std::uint64_t bytes = element.len * column.description.element_bytes;
        if (column.description.element == Element::text) {
            std::memcpy(&piece, &element, sizeof piece);
            bytes = std::max<std::uint64_t>(memory_->size_of(piece), 1) - 1;
        }
        if (bytes > destination.size() || bytes > memory_->size_of(piece)) return bytes == 0 ? 0 : another_file();
        if (bytes > 0) std::memcpy(destination.data(), piece, static_cast<std::size_t>(bytes));
        return static_cast<std::int64_t>(bytes);
    }

    std::int64_t failed() {
        const Problem problem = last_problem();
        problem_ = fmt::format("libhdf5 cannot read the sample ({})", problem.text);
        return problem.device ? -EIO : -EBADMSG;
    }

    std::int64_t another_file() {
        problem_ = "the file is not what it was when it was indexed";
        return -EBADMSG;
    }

    std::shared_ptr<const Source> source_;
    std::list<OpenShard> open_;  // last used first
    std::uint64_t cache_bytes_ = 0;
    std::optional<VariableMemory> memory_;
    std::string problem_;
};

}  // namespace

std::unique_ptr<NativeReader> make_row_reader(std::shared_ptr<const Source> source) {
    return std::make_unique<RowReader>(std::move(source));
}

}  // namespace feedline::hdf5
