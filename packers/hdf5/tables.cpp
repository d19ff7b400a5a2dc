#include "packers/hdf5/tables.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <string_view>

#include "core/error.h"
#include "core/fd.h"
#include "core/utf8.h"
#include "loaders/hdf5/library.h"
#include "packers/output/free_space.h"
#include "packers/output/new_file.h"

namespace feedline::hdf5 {
namespace {

// Longer keys would make every other as long.
constexpr std::size_t kLongestText = 255;
constexpr hsize_t kPageBytes = 4096;

std::uint64_t size_of(const std::string& path) {
    struct stat status {};
    return stat(path.c_str(), &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

[[noreturn]] void refuse(const std::string& path, const std::string& what) {
    const Problem problem = last_problem();
    // The library has words for the system's error, with its number among them.
    constexpr std::string_view kNumber = "errno = ";
    const std::size_t at = problem.text.find(kNumber);
    int error_number = 0;
    if (at != std::string::npos) {
        const char* end = problem.text.data() + problem.text.size();
        std::from_chars(problem.text.data() + at + kNumber.size(), end, error_number);
    }
    if (error_number > 0) throw cannot_write(error_number, path, size_of(path));
    throw Error(problem.device ? ErrorKind::io : ErrorKind::internal, fmt::format("{} ({})", what, problem.text))
        .at(path);
}

Id must(const std::string& path, hid_t id, const char* what) {
    if (id < 0) refuse(path, what);
    return Id(id);
}

// Fixed versions, so that what is written does not depend on the library's; with checksums of all that is no payload.
Id file_access() {
    Id access(H5Pcreate(H5P_FILE_ACCESS));
    H5Pset_libver_bounds(access.get(), H5F_LIBVER_V18, H5F_LIBVER_V18);
    // Everything begins on a page of its own, and so payloads do where they are.
    H5Pset_alignment(access.get(), 1, kPageBytes);
    H5Pset_small_data_block_size(access.get(), 0);
    return access;
}

// No times. The space is there from the beginning, and is left as it is.
Id dataset_creation() {
    Id creation(H5Pcreate(H5P_DATASET_CREATE));
    H5Pset_obj_track_times(creation.get(), 0);
    H5Pset_alloc_time(creation.get(), H5D_ALLOC_TIME_EARLY);
    H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER);
    return creation;
}

class Shard {
public:
    explicit Shard(const std::string& path) : path_(path) {
        const Id access = file_access();  // lives on: closing it would take back what is said of a failure
        id_ = must(path, H5Fopen(path.c_str(), H5F_ACC_RDWR, access.get()), "libhdf5 cannot open the shard");
    }

    Id make(const char* name, hid_t type, std::uint64_t count) const {
        const hsize_t rows = count;
        const Id space(H5Screate_simple(1, &rows, nullptr));
        return must(path_,
                    H5Dcreate2(id_.get(), name, type, space.get(), H5P_DEFAULT, dataset_creation().get(), H5P_DEFAULT),
                    "libhdf5 cannot make a dataset");
    }

    // `type` in the file and `in_memory` here.
    Id write(const char* name, hid_t type, hid_t in_memory, std::uint64_t count, const void* data) const {
        Id dataset = make(name, type, count);
        if (count > 0 && H5Dwrite(dataset.get(), in_memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0) {
            refuse(path_, "libhdf5 cannot write a dataset");
        }
        return dataset;
    }

    void attribute(hid_t object, const char* name, hid_t type, hid_t in_memory, std::uint64_t count,
                   const void* data) const {
        const hsize_t entries = count;
        const Id space(H5Screate_simple(1, &entries, nullptr));
        const Id made = must(path_, H5Acreate2(object, name, type, space.get(), H5P_DEFAULT, H5P_DEFAULT),
                             "libhdf5 cannot make an attribute");
        if (H5Awrite(made.get(), in_memory, data) < 0) refuse(path_, "libhdf5 cannot write an attribute");
    }

    void finish() {
        if (H5Fflush(id_.get(), H5F_SCOPE_GLOBAL) < 0) refuse(path_, "libhdf5 cannot write the shard");
        if (H5Fclose(id_.release()) < 0) refuse(path_, "libhdf5 cannot close the shard");
    }

private:
    const std::string& path_;
    Id id_;
};

// Of a fixed length, filled up with zeros.
Id text_type(std::size_t bytes, bool utf8) {
    Id type(H5Tcopy(H5T_C_S1));
    H5Tset_size(type.get(), std::max<std::size_t>(bytes, 1));
    H5Tset_strpad(type.get(), H5T_STR_NULLPAD);
    H5Tset_cset(type.get(), utf8 ? H5T_CSET_UTF8 : H5T_CSET_ASCII);
    return type;
}

class Texts {
public:
    void add(std::string_view text) {
        longest_ = std::max(longest_, text.size());
        utf8_ = utf8_ && is_utf8(text);
        all_.push_back(text);
    }
    std::size_t longest() const { return longest_; }
    bool utf8() const { return utf8_; }
    std::uint64_t count() const { return all_.size(); }
    Id type() const { return text_type(longest_, utf8_); }
    std::string padded() const {
        const std::size_t width = std::max<std::size_t>(longest_, 1);
        std::string bytes;
        bytes.reserve(width * all_.size());
        for (const std::string_view text : all_) {
            bytes += text;
            bytes.append(width - text.size(), '\0');
        }
        return bytes;
    }

private:
    std::vector<std::string_view> all_;
    std::size_t longest_ = 0;
    bool utf8_ = true;
};

void write_keys(const Shard& file, const Tables& tables) {
    Texts keys;
    std::uint64_t begin = 0;
    for (const std::uint64_t end : tables.key_ends) {
        keys.add(tables.keys.substr(begin, end - begin));
        begin = end;
    }
    if (keys.utf8() && keys.longest() <= kLongestText) {
        const Id type = keys.type();
        file.write("keys", type.get(), type.get(), keys.count(), keys.padded().data());
        return;
    }
    std::vector<std::uint64_t> offsets = {0};
    offsets.insert(offsets.end(), tables.key_ends.begin(), tables.key_ends.end());
    file.write("keys", H5T_STD_U8LE, H5T_NATIVE_UINT8, tables.keys.size(), tables.keys.data());
    file.write("key_offsets", H5T_STD_U64LE, H5T_NATIVE_UINT64, offsets.size(), offsets.data());
}

void write_labels(const Shard& file, const Tables& tables) {
    if (tables.labels.empty()) return;
    const Id labels = file.write("labels", H5T_STD_I64LE, H5T_NATIVE_INT64, tables.labels.size(), tables.labels.data());
    if (tables.classes.empty()) return;
    Texts names;
    std::vector<std::int64_t> numbers;
    for (const ClassName& one : tables.classes) {
        names.add(one.name);
        numbers.push_back(one.label);
    }
    const Id type = names.type();
    file.attribute(labels.get(), "class_names", type.get(), type.get(), names.count(), names.padded().data());
    file.attribute(labels.get(), "class_labels", H5T_STD_I64LE, H5T_NATIVE_INT64, numbers.size(), numbers.data());
}

// What the library will write. A full disk is met here, where it has a number; the library only has words for it.
void reserve(const std::string& path, const Tables& tables) {
    constexpr std::uint64_t kRoom = 128U << 10U;
    std::uint64_t bytes = kRoom + 8 * (tables.offsets.size() + tables.labels.size() + tables.key_ends.size());
    std::uint64_t longest = 0;
    std::uint64_t begin = 0;
    for (const std::uint64_t end : tables.key_ends) {
        longest = std::max(longest, end - begin);
        begin = end;
    }
    bytes += longest <= kLongestText ? longest * tables.key_ends.size() : tables.keys.size();
    for (const ClassName& one : tables.classes) bytes += 2 * one.name.size() + 8;
    const Fd fd(open(path.c_str(), O_WRONLY | O_CLOEXEC));
    struct stat status {};
    if (!fd || fstat(fd.get(), &status) != 0) throw system_error(errno, "cannot open the shard", path);
    if (fallocate(fd.get(), 0, status.st_size, static_cast<off_t>(bytes)) != 0 && errno != EOPNOTSUPP) {
        throw cannot_write(errno, path, static_cast<std::uint64_t>(status.st_size));
    }
}

void flush(const std::string& path) {
    const Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd || fsync(fd.get()) != 0) throw system_error(errno, "cannot flush the shard", path);
    sync_directory_of(path);
}

}  // namespace

std::string empty_file(const std::string& path) {
    {
        const LibraryLock lock;
        const Id access = file_access();
        const Id creation(H5Pcreate(H5P_FILE_CREATE));
        H5Pset_obj_track_times(creation.get(), 0);
        const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_EXCL, creation.get(), access.get());
        if (file < 0 || H5Fclose(file) < 0) refuse(path, "libhdf5 cannot make a file");
    }
    const Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    std::string bytes(kPayloadsAt, '\0');
    const ssize_t got = fd ? pread(fd.get(), bytes.data(), bytes.size(), 0) : -1;
    if (got < 0 || unlink(path.c_str()) != 0) throw system_error(errno, "cannot begin the shard", path);
    bytes.resize(static_cast<std::size_t>(got));
    return bytes;
}

void add_tables(const std::string& path, const Tables& tables) {
    reserve(path, tables);
    {
        const LibraryLock lock;
        Shard file(path);
        {
            const Id data = file.make("data", H5T_STD_U8LE, tables.payload_bytes);
            if (tables.payload_bytes > 0 && H5Dget_offset(data.get()) != kPayloadsAt) {
                throw Error(ErrorKind::internal, fmt::format("libhdf5 would put the payloads at offset {}, not {}",
                                                             H5Dget_offset(data.get()), kPayloadsAt))
                    .at(path);
            }
        }
        file.write("offsets", H5T_STD_U64LE, H5T_NATIVE_UINT64, tables.offsets.size(), tables.offsets.data());
        write_labels(file, tables);
        write_keys(file, tables);
        file.finish();
    }
    flush(path);
}

}  // namespace feedline::hdf5
