#include "loaders/hdf5/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <set>

#include "core/error.h"
#include "core/fd.h"

namespace feedline::hdf5 {
namespace {

// More names than that are no dataset of samples, and a damaged file may pretend to any number.
constexpr std::size_t kMostNames = 1U << 17U;

struct Names {
    std::vector<std::string> datasets;
    std::vector<std::string> external_links;
    std::vector<std::string> soft_links;
    bool too_many = false;
};

// Nothing may be thrown through the library.
template <typename Work>
herr_t without_throwing(const Work& work) {
    try {
        return work();
    } catch (...) {
        return -1;
    }
}

herr_t on_object(hid_t /*root*/, const char* name, const H5O_info_t* info, void* context) {
    return without_throwing([&] {
        Names& names = *static_cast<Names*>(context);
        if (info->type == H5O_TYPE_DATASET) names.datasets.push_back(std::string("/") + name);
        names.too_many = names.datasets.size() > kMostNames;
        return names.too_many ? 1 : 0;
    });
}

herr_t on_link(hid_t /*root*/, const char* name, const H5L_info_t* info, void* context) {
    return without_throwing([&] {
        Names& names = *static_cast<Names*>(context);
        if (info->type == H5L_TYPE_EXTERNAL) names.external_links.push_back(std::string("/") + name);
        if (info->type == H5L_TYPE_SOFT) names.soft_links.push_back(std::string("/") + name);
        names.too_many = names.external_links.size() + names.soft_links.size() > kMostNames;
        return names.too_many ? 1 : 0;
    });
}

std::string number_name(std::string_view kind, std::uint64_t bytes) {
    return fmt::format("{}{}", kind, 8 * bytes);
}

// Numbers in the type, however deep, that stand the other way round than this machine has them.
bool is_big_endian(hid_t type, H5T_class_t type_class) {
    // Text has no order, whatever the library says of one from such a machine.
    if (type_class == H5T_STRING || type_class == H5T_OPAQUE) return false;
    return H5Tget_order(type) == H5T_ORDER_BE;
}

bool holds(hid_t type, H5T_class_t type_class) {
    return H5Tdetect_class(type, type_class) > 0;
}

struct TypeDescription {
    std::string name;
    Element element = Element::unsupported;
    H5T_class_t type_class = H5T_NO_CLASS;
    std::uint64_t element_bytes = 0;
};

TypeDescription describe_type(hid_t type);

TypeDescription describe_sequence(hid_t type) {
    const Id base(H5Tget_super(type));
    TypeDescription described = describe_type(base.get());
    described.name = "vlen " + described.name;
    described.type_class = H5T_VLEN;
    described.element = described.element == Element::plain ? Element::sequence : Element::unsupported;
    return described;
}

TypeDescription describe_type(hid_t type) {
    TypeDescription described;
    described.type_class = H5Tget_class(type);
    described.element_bytes = H5Tget_size(type);
    const std::uint64_t bytes = described.element_bytes;
    described.element = Element::plain;
    switch (described.type_class) {
        case H5T_INTEGER: {
            described.name = number_name(H5Tget_sign(type) == H5T_SGN_NONE ? "uint" : "int", bytes);
            break;
        }
        case H5T_FLOAT: described.name = number_name("float", bytes); break;
        case H5T_BITFIELD: described.name = number_name("bits", bytes); break;
        case H5T_OPAQUE: described.name = fmt::format("opaque of {} bytes", bytes); break;
        case H5T_ENUM: described.name = number_name("enum", bytes); break;
        case H5T_ARRAY: described.name = fmt::format("array of {} bytes", bytes); break;
        case H5T_STRING: {
            if (H5Tis_variable_str(type) > 0) {
                described.name = "text";
                described.element = Element::text;
                described.element_bytes = 1;
            } else {
                described.name = fmt::format("text of {} bytes", bytes);
            }
            break;
        }
        case H5T_VLEN: return describe_sequence(type);
        case H5T_COMPOUND: described.name = "compound"; break;
        case H5T_REFERENCE: described.name = "reference"; break;
        case H5T_TIME: described.name = "time"; break;
        default: described.name = "unknown type"; break;
    }
    const bool flat = described.type_class == H5T_INTEGER || described.type_class == H5T_FLOAT;
    if (is_big_endian(type, described.type_class)) {
        described.name = "big-endian " + described.name;
        described.element = flat ? Element::big_endian : Element::unsupported;
    } else if (flat && bytes > 1 && H5Tget_order(type) != H5T_ORDER_LE) {
        described.element = Element::unsupported;
    }
    for (const H5T_class_t other : {H5T_COMPOUND, H5T_REFERENCE, H5T_TIME}) {
        if (holds(type, other)) described.element = Element::unsupported;
    }
    if (described.type_class == H5T_ARRAY && (holds(type, H5T_VLEN) || holds(type, H5T_STRING))) {
        described.element = Element::unsupported;
    }
    if (described.type_class < 0 || bytes == 0) described.element = Element::unsupported;
    return described;
}

// Names by which people know filters that files give none for (the HDF Group's list of registered filters).
std::string filter_name(H5Z_filter_t number, const char* in_file) {
    switch (number) {
        case H5Z_FILTER_DEFLATE: return "gzip";
        case H5Z_FILTER_SHUFFLE: return "shuffle";
        case H5Z_FILTER_FLETCHER32: return "fletcher32";
        case H5Z_FILTER_SZIP: return "szip";
        case H5Z_FILTER_NBIT: return "nbit";
        case H5Z_FILTER_SCALEOFFSET: return "scaleoffset";
        case 305: return "lzo";
        case 307: return "bzip2";
        case 32000: return "lzf";
        case 32001: return "blosc";
        case 32004: return "lz4";
        case 32008: return "bitshuffle";
        case 32013: return "zfp";
        case 32015: return "zstd";
        case 32026: return "blosc2";
        default: break;
    }
    return *in_file != '\0' ? printable(in_file) : "unnamed";
}

// Where Debian 12 has them.
std::string_view package_of(H5Z_filter_t number) {
    switch (number) {
        case 307:
        case 32004:
        case 32008: return "hdf5-filter-plugin";
        case 32000: return "hdf5-plugin-lzf";
        case 32001: return "hdf5-filter-plugin-blosc-serial";
        case 32013: return "hdf5-filter-plugin-zfp-serial";
        default: return {};
    }
}

std::vector<Filter> filters_of(hid_t properties) {
    std::vector<Filter> filters;
    const int count = H5Pget_nfilters(properties);
    for (int i = 0; i < count; ++i) {
        std::array<char, 64> name{};
        unsigned flags = 0;
        unsigned config = 0;
        std::size_t values = 0;
        const H5Z_filter_t number = H5Pget_filter2(properties, static_cast<unsigned>(i), &flags, &values, nullptr,
                                                   name.size(), name.data(), &config);
        name.back() = '\0';
        if (number < 0) continue;
        // The library asks for optional filters too when it reads.
        filters.push_back({number, filter_name(number, name.data()), H5Zfilter_avail(number) > 0});
    }
    return filters;
}

Storage storage_of(hid_t properties) {
    switch (H5Pget_layout(properties)) {
        case H5D_COMPACT: return Storage::compact;
        case H5D_CHUNKED: return Storage::chunked;
        case H5D_VIRTUAL: return Storage::virtual_sources;
        default: break;
    }
    return H5Pget_external_count(properties) > 0 ? Storage::external : Storage::contiguous;
}

std::string storage_name(Storage storage) {
    switch (storage) {
        case Storage::contiguous: return "contiguous";
        case Storage::chunked: return "chunked";
        case Storage::compact: return "compact";
        case Storage::external: return "in external files";
        case Storage::virtual_sources: return "virtual";
    }
    return "";
}

std::optional<std::uint64_t> multiply(std::uint64_t a, std::uint64_t b) {
    std::uint64_t product = 0;
    if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
    return product;
}

}  // namespace

void fail(const File& file, const std::string& what) {
    throw Error(ErrorKind::corrupt, fmt::format("{} ({})", what, last_problem().text)).at(file.path);
}

File open_file(const std::string& path) {
    // What the operating system says of it, in its own words.
    const Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!fd) throw system_error(errno, "cannot open the HDF5 file", path);
    struct stat status {};
    if (fstat(fd.get(), &status) != 0) throw system_error(errno, "cannot examine the HDF5 file", path);
    File file;
    file.path = path;
    file.size_bytes = static_cast<std::uint64_t>(status.st_size);
    const Id access(H5Pcreate(H5P_FILE_ACCESS));
    // Filesystems without locks must not keep anybody from reading.
    H5Pset_file_locking(access.get(), 1, 1);
    file.id = Id(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()));
    if (!file.id) {
        const Problem problem = last_problem();
        if (problem.in_use) {
            throw Error(
                ErrorKind::changed,
                fmt::format("this HDF5 file is open for writing, or was when its writer died ({})", problem.text))
                .at(path)
                .advise("Wait until its writer has closed it; h5clear -s removes what a dead one left behind");
        }
        if (problem.truncated) {
            throw Error(ErrorKind::corrupt, fmt::format("this HDF5 file is truncated ({})", problem.text))
                .at(path, file.size_bytes)
                .advise("Copy it again, or write it anew");
        }
        throw Error(problem.device ? ErrorKind::io : ErrorKind::corrupt,
                    fmt::format("libhdf5 cannot open this file ({})", problem.text))
            .at(path);
    }
    const Id properties(H5Fget_create_plist(file.id.get()));
    hsize_t userblock = 0;
    std::size_t address_bytes = 0;
    std::size_t length_bytes = 0;
    if (!properties || H5Pget_userblock(properties.get(), &userblock) < 0 ||
        H5Pget_sizes(properties.get(), &address_bytes, &length_bytes) < 0) {
        fail(file, "libhdf5 cannot tell how the file is laid out");
    }
    file.userblock_bytes = userblock;
    file.address_bytes = static_cast<std::uint32_t>(address_bytes);
    file.length_bytes = static_cast<std::uint32_t>(length_bytes);
    return file;
}

std::optional<std::uint64_t> DatasetDescription::row_elements() const {
    std::optional<std::uint64_t> elements = 1;
    for (std::size_t axis = 1; axis < dims.size(); ++axis) {
        if (dims[axis] == 0) return 0;
        if (elements) elements = multiply(*elements, dims[axis]);
    }
    return elements;
}

std::optional<std::uint64_t> DatasetDescription::row_bytes() const {
    if (variable()) return 0;
    const std::optional<std::uint64_t> elements = row_elements();
    return elements ? multiply(*elements, element_bytes) : std::nullopt;
}

std::string DatasetDescription::refusal() const {
    if (element == Element::unsupported) {
        return fmt::format("its elements are of type {}, which Feedline does not read", type);
    }
    if (storage == Storage::external) return "its data lie in external files";
    if (storage == Storage::virtual_sources) return "it is a virtual dataset: its data lie in other datasets";
    if (empty) return "it is empty: its dataspace is null";
    if (variable() && row_elements() != 1) return "its rows hold several elements of variable length";
    return {};
}

std::string DatasetDescription::missing_filter() const {
    for (const Filter& filter : filters) {
        if (filter.available) continue;
        return fmt::format("filter {} ({}), which libhdf5 does not have here", filter.name, filter.number);
    }
    return {};
}

std::string_view DatasetDescription::missing_package() const {
    const auto missing = std::find_if(filters.begin(), filters.end(), [](const Filter& f) { return !f.available; });
    return missing == filters.end() ? std::string_view() : package_of(missing->number);
}

std::string DatasetDescription::line() const {
    std::string text = fmt::format("{} {} ", printable(name), type);
    if (empty) {
        text += "null";
    } else {
        text += fmt::format("[{}]", fmt::join(dims, ","));
    }
    text += " " + storage_name(storage);
    for (const Filter& filter : filters) {
        text += filter.available ? fmt::format(", {}", filter.name)
                                 : fmt::format(", {} ({}, missing here)", filter.name, filter.number);
    }
    return text;
}

DatasetDescription describe(const File& file, const std::string& name) {
    const Id dataset = open_dataset(file, name);
    const Id space(H5Dget_space(dataset.get()));
    const Id type(H5Dget_type(dataset.get()));
    const Id properties(H5Dget_create_plist(dataset.get()));
    if (!space || !type || !properties) fail(file, "cannot look at dataset " + printable(name));
    DatasetDescription description;
    description.name = name;
    TypeDescription of_type = describe_type(type.get());
    description.type = std::move(of_type.name);
    description.element = of_type.element;
    description.type_class = of_type.type_class;
    description.element_bytes = of_type.element_bytes;
    description.empty = H5Sget_simple_extent_type(space.get()) == H5S_NULL;
    const int rank = description.empty ? 0 : H5Sget_simple_extent_ndims(space.get());
    if (rank < 0 || rank > H5S_MAX_RANK) fail(file, "cannot read the shape of dataset " + printable(name));
    std::array<hsize_t, H5S_MAX_RANK> dims{};
    std::array<hsize_t, H5S_MAX_RANK> most{};
    if (rank > 0 && H5Sget_simple_extent_dims(space.get(), dims.data(), most.data()) != rank) {
        fail(file, "cannot read the shape of dataset " + printable(name));
    }
    description.dims.assign(dims.begin(), dims.begin() + rank);
    description.storage = storage_of(properties.get());
    if (description.storage == Storage::chunked) {
        std::array<hsize_t, H5S_MAX_RANK> chunk{};
        if (H5Pget_chunk(properties.get(), rank, chunk.data()) != rank) {
            fail(file, "cannot read the chunks' shape of dataset " + printable(name));
        }
        description.chunk.assign(chunk.begin(), chunk.begin() + rank);
        for (std::size_t axis = 0; axis < description.chunk.size(); ++axis) {
            const bool bounded = most[axis] != H5S_UNLIMITED;
            description.oversized_chunks |= bounded && description.chunk[axis] > most[axis];
        }
        if (std::find(description.chunk.begin(), description.chunk.end(), 0U) != description.chunk.end()) {
            throw Error(ErrorKind::corrupt, "chunks of no size in dataset " + printable(name)).at(file.path);
        }
    }
    description.filters = filters_of(properties.get());
    description.stored_bytes = H5Dget_storage_size(dataset.get());
    return description;
}

Contents list_datasets(const File& file) {
    Names names;
    if (H5Ovisit2(file.id.get(), H5_INDEX_NAME, H5_ITER_INC, on_object, &names, H5O_INFO_BASIC) < 0 ||
        H5Lvisit(file.id.get(), H5_INDEX_NAME, H5_ITER_INC, on_link, &names) < 0) {
        fail(file, "cannot list what is in this HDF5 file");
    }
    if (names.too_many) {
        throw Error(ErrorKind::usage, fmt::format("more than {} names in this HDF5 file", kMostNames)).at(file.path);
    }
    std::sort(names.datasets.begin(), names.datasets.end());
    Contents contents;
    for (const std::string& name : names.datasets) contents.datasets.push_back(describe(file, name));
    contents.external_links = std::move(names.external_links);
    contents.soft_links = std::move(names.soft_links);
    return contents;
}

Id open_dataset(const File& file, const std::string& name) {
    Id dataset(H5Dopen2(file.id.get(), name.c_str(), H5P_DEFAULT));
    if (!dataset) fail(file, "cannot open dataset " + printable(name));
    return dataset;
}

Id memory_type(const File& file, hid_t dataset, const DatasetDescription& description) {
    Id type(H5Dget_type(dataset));
    // Made anew: of a damaged type the library may keep what only makes sense in a file.
    if (type && description.element == Element::sequence) {
        const Id base(H5Tget_super(type.get()));
        type = Id(H5Tvlen_create(base.get()));
    } else if (type && description.element == Element::text) {
        const H5T_cset_t characters = H5Tget_cset(type.get());
        type = Id(H5Tcopy(H5T_C_S1));
        if (H5Tset_size(type.get(), H5T_VARIABLE) < 0 || H5Tset_cset(type.get(), characters) < 0) type.reset();
    } else if (type && description.element == Element::big_endian) {
        type = Id(H5Tcopy(type.get()));
        if (type && H5Tset_order(type.get(), H5T_ORDER_LE) < 0) type.reset();
    }
    if (!type) fail(file, "cannot read the type of dataset " + printable(description.name));
    return type;
}

}  // namespace feedline::hdf5
