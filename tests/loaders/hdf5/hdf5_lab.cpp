#include "tests/loaders/hdf5/hdf5_lab.h"

#include <algorithm>
#include <stdexcept>

#include "tests/testutil/temp_dir.h"

namespace feedline::test {
namespace {

template <typename Result>
Result must(Result result, const char* what) {
    if (result < 0) throw std::runtime_error(std::string("HDF5: ") + what);
    return result;
}

// Closes anything of the library's.
class Closing {
public:
    explicit Closing(hid_t id) : id_(must(id, "no identifier")) {}
    ~Closing() { H5Idec_ref(id_); }
    Closing(const Closing&) = delete;
    Closing& operator=(const Closing&) = delete;
    hid_t get() const { return id_; }

private:
    hid_t id_;
};

hid_t text_type(std::size_t bytes) {
    const hid_t type = H5Tcopy(H5T_C_S1);
    must(H5Tset_size(type, bytes), "H5Tset_size");
    H5Tset_strpad(type, H5T_STR_NULLPAD);
    return type;
}

std::string padded(const std::vector<std::string>& texts, std::size_t bytes) {
    std::string all;
    for (const std::string& text : texts) {
        all += text;
        all.append(bytes - text.size(), '\0');
    }
    return all;
}

std::size_t longest(const std::vector<std::string>& texts) {
    std::size_t bytes = 1;
    for (const std::string& text : texts) bytes = std::max(bytes, text.size());
    return bytes;
}

}  // namespace

Hdf5Writer::Hdf5Writer(const std::string& path, std::uint64_t userblock_bytes, H5F_libver_t version) {
    write_file(path, "");  // makes the directories
    const Closing creation(H5Pcreate(H5P_FILE_CREATE));
    const Closing access(H5Pcreate(H5P_FILE_ACCESS));
    H5Pset_userblock(creation.get(), userblock_bytes);
    H5Pset_libver_bounds(access.get(), version, H5F_LIBVER_LATEST);
    file_ = must(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation.get(), access.get()), "H5Fcreate");
}

Hdf5Writer::~Hdf5Writer() {
    H5Fclose(file_);
}

void Hdf5Writer::write(const std::string& name, hid_t type, const std::vector<hsize_t>& dims, const std::string& data,
                       const Hdf5Storage& storage) {
    const Closing space(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr));
    const Closing properties(H5Pcreate(H5P_DATASET_CREATE));
    const Closing links(H5Pcreate(H5P_LINK_CREATE));
    H5Pset_create_intermediate_group(links.get(), 1);
    if (storage.compact) H5Pset_layout(properties.get(), H5D_COMPACT);
    if (!storage.chunk.empty()) {
        must(H5Pset_chunk(properties.get(), static_cast<int>(storage.chunk.size()), storage.chunk.data()),
             "H5Pset_chunk");
    }
    if (storage.gzip) H5Pset_deflate(properties.get(), 6);
    if (storage.fletcher32) H5Pset_fletcher32(properties.get());
    if (storage.optional_filter != 0) {
        H5Pset_filter(properties.get(), storage.optional_filter, H5Z_FLAG_OPTIONAL, 0, nullptr);
    }
    const Closing dataset(
        H5Dcreate2(file_, name.c_str(), type, space.get(), links.get(), properties.get(), H5P_DEFAULT));
    if (data.empty()) return;
    must(H5Dwrite(dataset.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data.data()), "H5Dwrite");
}

void Hdf5Writer::write_integers(const std::string& name, const std::vector<std::int64_t>& numbers, hid_t type) {
    const hsize_t count = numbers.size();
    const Closing space(H5Screate_simple(1, &count, nullptr));
    const Closing dataset(H5Dcreate2(file_, name.c_str(), type, space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    if (count == 0) return;
    must(H5Dwrite(dataset.get(), H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers.data()), "H5Dwrite");
}

void Hdf5Writer::write_variable(const std::string& name, const std::vector<std::string>& rows, bool text,
                                const Hdf5Storage& storage) {
    const Closing type(text ? H5Tcopy(H5T_C_S1) : H5Tvlen_create(H5T_NATIVE_UINT8));
    if (text) H5Tset_size(type.get(), H5T_VARIABLE);
    std::vector<hvl_t> sequences;
    std::vector<const char*> texts;
    for (const std::string& row : rows) {
        sequences.push_back({row.size(), const_cast<char*>(row.data())});
        texts.push_back(row.c_str());
    }
    std::string elements;
    if (text) {
        elements.assign(reinterpret_cast<const char*>(texts.data()), texts.size() * sizeof(char*));
    } else {
        elements.assign(reinterpret_cast<const char*>(sequences.data()), sequences.size() * sizeof(hvl_t));
    }
    write(name, type.get(), {rows.size()}, elements, storage);
}

void Hdf5Writer::write_texts(const std::string& name, const std::vector<std::string>& texts) {
    const std::size_t bytes = longest(texts);
    const Closing type(text_type(bytes));
    write(name, type.get(), {texts.size()}, padded(texts, bytes));
}

void Hdf5Writer::write_chunk(const std::string& name, const std::vector<hsize_t>& place, std::uint32_t skipped,
                             const std::string& bytes) {
    const Closing dataset(H5Dopen2(file_, name.c_str(), H5P_DEFAULT));
    must(H5Dwrite_chunk(dataset.get(), H5P_DEFAULT, skipped, place.data(), bytes.size(), bytes.data()),
         "H5Dwrite_chunk");
}

void Hdf5Writer::attribute(const std::string& name, const std::string& attribute,
                           const std::vector<std::string>& texts) {
    const std::size_t bytes = longest(texts);
    const hsize_t count = texts.size();
    const Closing type(text_type(bytes));
    const Closing space(H5Screate_simple(1, &count, nullptr));
    const Closing made(H5Acreate_by_name(file_, name.c_str(), attribute.c_str(), type.get(), space.get(), H5P_DEFAULT,
                                         H5P_DEFAULT, H5P_DEFAULT));
    must(H5Awrite(made.get(), type.get(), padded(texts, bytes).data()), "H5Awrite");
}

void Hdf5Writer::attribute(const std::string& name, const std::string& attribute,
                           const std::vector<std::int64_t>& numbers) {
    const hsize_t count = numbers.size();
    const Closing space(H5Screate_simple(1, &count, nullptr));
    const Closing made(H5Acreate_by_name(file_, name.c_str(), attribute.c_str(), H5T_NATIVE_INT64, space.get(),
                                         H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    must(H5Awrite(made.get(), H5T_NATIVE_INT64, numbers.data()), "H5Awrite");
}

void write_packed_hdf5(const std::string& path, const std::vector<std::string>& payloads, const Hdf5Storage& storage) {
    Hdf5Writer file(path);
    std::string data;
    std::vector<std::int64_t> offsets = {0};
    std::vector<std::int64_t> labels;
    std::vector<std::string> keys;
    for (const std::string& payload : payloads) {
        data += payload;
        offsets.push_back(static_cast<std::int64_t>(data.size()));
        labels.push_back(static_cast<std::int64_t>(labels.size() % 10));
        keys.push_back("c" + std::to_string(labels.back()) + "/" + std::to_string(keys.size()) + ".bin");
    }
    Hdf5Storage of_data = storage;
    if (data.empty()) of_data = {};
    for (hsize_t& bytes : of_data.chunk) bytes = std::min<hsize_t>(bytes, data.size());
    file.write("data", {data.size()}, data, of_data);
    file.write_integers("offsets", offsets, H5T_STD_U64LE);
    file.write_integers("labels", labels);
    file.write_texts("keys", keys);
}

}  // namespace feedline::test
