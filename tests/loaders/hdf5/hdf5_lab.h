// HDF5 files written by libhdf5's own calls. For builds that have it.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <string>
#include <vector>

namespace feedline::test {

struct Hdf5Storage {
    std::vector<hsize_t> chunk;  // empty: contiguous
    bool compact = false;        // in the dataset's header
    bool gzip = false;
    bool fletcher32 = false;
    H5Z_filter_t optional_filter = 0;  // one that the library need not have
};

// Throws std::runtime_error where the library refuses. Closes with its scope.
class Hdf5Writer {
public:
    explicit Hdf5Writer(const std::string& path, std::uint64_t userblock_bytes = 0,
                        H5F_libver_t version = H5F_LIBVER_EARLIEST);
    ~Hdf5Writer();
    Hdf5Writer(const Hdf5Writer&) = delete;
    Hdf5Writer& operator=(const Hdf5Writer&) = delete;

    hid_t id() const { return file_; }

    // `data`: all elements, as `type` has them in memory and in the file; empty: none is written.
    void write(const std::string& name, hid_t type, const std::vector<hsize_t>& dims, const std::string& data,
               const Hdf5Storage& storage = {});
    // Bytes.
    void write(const std::string& name, const std::vector<hsize_t>& dims, const std::string& data,
               const Hdf5Storage& storage = {}) {
        write(name, H5T_NATIVE_UINT8, dims, data, storage);
    }
    void write_integers(const std::string& name, const std::vector<std::int64_t>& numbers,
                        hid_t type = H5T_NATIVE_INT64);
    // One element of variable length a row: bytes, or text.
    void write_variable(const std::string& name, const std::vector<std::string>& rows, bool text,
                        const Hdf5Storage& storage = {});
    // Of fixed length, filled up with zeros.
    void write_texts(const std::string& name, const std::vector<std::string>& texts);
    // A chunk as it shall lie in the file; a set bit of `skipped` says that this filter was not applied.
    void write_chunk(const std::string& name, const std::vector<hsize_t>& place, std::uint32_t skipped,
                     const std::string& bytes);
    // A list of texts, and one of numbers.
    void attribute(const std::string& name, const std::string& attribute, const std::vector<std::string>& texts);
    void attribute(const std::string& name, const std::string& attribute, const std::vector<std::int64_t>& numbers);

private:
    hid_t file_ = -1;
};

// The packed layout: data, offsets, labels (i % 10), keys.
void write_packed_hdf5(const std::string& path, const std::vector<std::string>& payloads,
                       const Hdf5Storage& storage = {});

}  // namespace feedline::test
