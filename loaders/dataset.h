// What every format reduces to: an index of extents. Sample i lies in one shard at (offset, length).
//
// Formats know nothing of I/O engines; engines know nothing of formats. A Dataset is immutable once opened: every const
// member may be called from any thread at once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace feedline {

using SampleId = std::uint64_t;  // 0 .. size()-1, in the dataset's own order
using ShardId = std::uint32_t;

// Where a sample's record lies. In the files format every file is a shard of its own and offset_bytes is 0.
struct Extent {
    std::uint64_t offset_bytes = 0;
    std::uint64_t length_bytes = 0;
    ShardId shard = 0;
};

// What an engine opens or reads from: an open descriptor, or a name to open relative to a directory descriptor.
struct Source {
    int fd = -1;      // >= 0: already open, stays open; the rest is unused
    int dir_fd = -1;  // directory for openat
    const char* name =
        nullptr;  // NUL-terminated, relative to dir_fd; lives as long as the dataset or the caller's scratch
    // The extent is the whole file: the engine asks for one byte more than expected and reports growth.
    bool whole_file = false;
};

// A thing found while indexing that is no sample, counted by kind and named by its first occurrence.
struct Oddity {
    std::string kind;  // "dangling link", "unreadable directory", "socket", "hidden directory", "empty file", ...
    std::uint64_t count = 0;
    std::string example;  // path of the first one, raw bytes
    // Of shards: bytes whose samples are in no index because of it, as far as that is known; 0: none are missing.
    std::uint64_t lost_bytes = 0;
};

struct ClassName {
    std::string name;        // raw bytes of the directory name
    std::int64_t label = 0;  // sorted names -> 0, 1, 2, ...
    std::uint64_t samples = 0;
};

struct DatasetInfo {
    std::string path;    // as the user gave it
    std::string format;  // "files", ...
    std::uint64_t samples = 0;
    std::uint64_t shards = 0;
    std::uint64_t bytes = 0;             // sum of record lengths
    std::uint64_t max_length_bytes = 0;  // longest record
    bool packed = false;                 // shards hold many samples, and stay open
    bool checksums = false;              // a record holds one of its payload, which Dataset::check() compares
    std::vector<ClassName> classes;      // empty: the dataset has no labels
    std::vector<Oddity> oddities;
    // Samples that OpenOptions::skip_corrupt left out of the index: one for each fault, or as many as its bytes would
    // hold by the mean of the others.
    std::uint64_t lost_samples = 0;
    std::string layout = {};  // which of the format's ways to hold samples it is; empty: it has one
};

// What a training job is told of a sample beside its bytes: nothing, a number, several, or text (raw bytes).
using Label = std::variant<std::monostate, std::int64_t, std::vector<std::int64_t>, std::string>;

// One of the things that a sample consists of: an image, its mask, its caption.
struct Part {
    std::string name;  // as a file's name would end: "jpg", "seg.png", "json"; empty: not known
    std::span<const std::byte> bytes;
};

// A sample's record, taken apart in place: views are valid as long as the record is.
struct SampleViews {
    std::vector<Part> parts;  // the first is what is trained on; none: the record is broken
    Label label;
    std::string class_name;     // of the label, where the record tells; raw bytes
    std::string original_path;  // of the file that it was made from, where the record tells; raw bytes
    std::string problem;        // what is wrong with the record; empty: nothing
};

// Reads samples by the format's own library, for what lies nowhere in plain (compressed, of variable length) and as the
// yardstick for what does. Belongs to one thread.
class NativeReader {
public:
    virtual ~NativeReader() = default;
    // Writes the record of `id`, whose extent is `extent`, to `destination`, which holds at least that many bytes.
    // Returns how many it wrote, or -errno; -EBADMSG: the data are corrupt. Does not throw.
    virtual std::int64_t read(SampleId id, const Extent& extent, std::span<std::byte> destination) = 0;
    // What went wrong in the last read, in the library's words; empty: nothing to add to the error number.
    virtual std::string problem() const { return {}; }
};

class Dataset {
public:
    virtual ~Dataset() = default;

    virtual const DatasetInfo& info() const = 0;
    std::uint64_t size() const { return info().samples; }

    // extents[k] = where sample ids[k] lies. The spans have equal length; ids need no order and may repeat.
    // In bulk because a virtual call and a cache miss a sample would cost more than the work.
    virtual void locate(std::span<const SampleId> ids, std::span<Extent> extents) const = 0;

    // How to open or read `shard`. `scratch` holds a composed name where one is needed and must live until the
    // engine has accepted and opened the request.
    virtual Source source(ShardId shard, std::string& scratch) const = 0;
    // Brings near what source() looks at, for a call some hundred cycles later.
    virtual void prefetch_source(ShardId /*shard*/) const {}

    virtual std::string path(ShardId shard) const = 0;  // full path, raw bytes, for messages
    virtual std::string key(SampleId id) const = 0;     // unique; files: path relative to the root
    virtual std::optional<std::int64_t> label(SampleId id) const = 0;

    // Whether records lie in plain in their shards. Where not, `offset_bytes` of an extent is of no file: of the stream
    // behind the compression, say; neighbours there are neighbours in the dataset, and only a native reader has them.
    virtual bool has_extents() const { return true; }
    // A reader of one's own for a thread; null: the format has no other way than extents.
    virtual std::unique_ptr<NativeReader> native_reader() const { return nullptr; }

    // What a sample's record, as it was read, consists of. By default one part, the whole record.
    virtual SampleViews views(SampleId id, std::span<const std::byte> record) const {
        SampleViews views{.parts = {{"", record}}, .label = {}, .class_name = {}, .original_path = {}, .problem = {}};
        if (const std::optional<std::int64_t> number = label(id)) views.label = *number;
        return views;
    }

    // The part of a sample's record, as it was read, that a decoder works on: a view into `record`, empty where the
    // record is not what the format says. The whole of it where a record is nothing but the payload.
    virtual std::span<const std::byte> payload(SampleId /*id*/, std::span<const std::byte> record) const {
        return record;
    }
    // What is wrong with a record, by the checksums that the format stores; empty: nothing, or it stores none.
    virtual std::string check(SampleId /*id*/, std::span<const std::byte> /*record*/) const { return {}; }
};

// How sure a format is that a path is its own, by content, never by suffix alone.
enum class Confidence { no, maybe, yes };

struct OpenOptions {
    unsigned threads = 0;           // for indexing; 0: as many as cores
    bool include_hidden = false;    // files: descend into directories whose name starts with a dot
    bool skip_corrupt = false;      // packed: count what is broken and go on behind it, instead of throwing
    std::string hdf5_dataset = {};  // hdf5: the dataset that holds the samples; empty: to be found
    // packed: a directory where indexes are kept and looked for; empty: none. Kept are those that took at least
    // `index_cache_from_ns` to make, all shards together. What cannot be kept is no error.
    std::string index_cache = {};
    std::int64_t index_cache_from_ns = 0;
    // Called now and then from an indexing thread with the number of samples found so far; may be empty.
    void (*progress)(std::uint64_t samples, void* context) = nullptr;
    void* progress_context = nullptr;
};

class Format {
public:
    virtual ~Format() = default;
    virtual std::string_view name() const = 0;
    virtual Confidence probe(const std::string& path) const = 0;
    // Throws Error{usage} for what is not a dataset of this format (missing, empty, a file instead of a directory),
    // Error{io, corrupt} for what cannot be read.
    virtual std::unique_ptr<Dataset> open(const std::string& path, const OpenOptions& options) const = 0;
};

// Every format of this build, in a fixed order.
std::span<const Format* const> all_formats();

// `name` is "auto" or a format's name. Throws Error{usage} naming what was looked for and what would be needed.
std::unique_ptr<Dataset> open_dataset(const std::string& path, std::string_view name, const OpenOptions& options);

}  // namespace feedline
