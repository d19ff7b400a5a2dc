#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <string>

#include "core/error.h"
#include "core/lfs_pointer.h"
#include "loaders/dataset.h"
#include "loaders/files/files_format.h"
#include "loaders/hdf5/hdf5_format.h"
#include "loaders/lmdb/lmdb_format.h"
#include "loaders/missing.h"
#include "loaders/pth/pth_format.h"
#include "loaders/tfrecord/tfrecord_format.h"
#include "loaders/webdataset/webdataset_format.h"

namespace feedline {
namespace {

// Adding a format: its header above, one line here, its sources in CMakeLists.txt.
const FilesFormat kFiles;
const Hdf5Format kHdf5;
const LmdbFormat kLmdb;
const PthFormat kPth;
const TfrecordFormat kTfrecord;
const WebdatasetFormat kWebdataset;
constexpr std::array<const Format*, 6> kFormats = {&kFiles, &kHdf5, &kLmdb, &kPth, &kTfrecord, &kWebdataset};

std::string known_names() {
    std::string names = "auto";
    for (const Format* format : kFormats) names += fmt::format(", {}", format->name());
    return names;
}

const Format& detect(const std::string& path) {
    const Format* best = nullptr;
    Confidence confidence = Confidence::no;
    for (const Format* format : kFormats) {
        const Confidence probed = format->probe(path);
        if (probed > confidence) {
            best = format;
            confidence = probed;
        }
    }
    if (best != nullptr) return *best;
    struct stat st {};
    if (stat(path.c_str(), &st) != 0) throw cannot_find_dataset(path, errno);
    if (S_ISREG(st.st_mode) && may_be_lfs_pointer(static_cast<std::uint64_t>(st.st_size)) &&
        is_lfs_pointer(AT_FDCWD, path.c_str())) {
        throw Error(ErrorKind::corrupt, "a Git LFS pointer instead of data")
            .at(path)
            .advise("Fetch it with git lfs pull");
    }
    throw Error(ErrorKind::usage, S_ISDIR(st.st_mode) ? "no known dataset format in this directory"
                                                      : "this file is of no known dataset format")
        .at(path)
        .advise("Formats: " + known_names() + "; a folder of any files is read as files");
}

}  // namespace

std::span<const Format* const> all_formats() {
    return kFormats;
}

std::unique_ptr<Dataset> open_dataset(const std::string& path, std::string_view name, const OpenOptions& options) {
    if (path.empty()) throw Error(ErrorKind::usage, "the dataset's path is empty");
    if (name == "auto") return detect(path).open(path, options);
    for (const Format* format : kFormats) {
        if (format->name() == name) return format->open(path, options);
    }
    throw Error(ErrorKind::usage, fmt::format("unknown format '{}'", printable(name)))
        .advise("Known: " + known_names());
}

}  // namespace feedline
