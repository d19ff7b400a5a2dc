#include "loaders/files/files_format.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <thread>

#include "core/descriptors.h"
#include "core/error.h"
#include "core/incomplete.h"
#include "core/lfs_pointer.h"
#include "core/path_suffix.h"
#include "loaders/files/directory_handles.h"
#include "loaders/files/index.h"
#include "loaders/files/scan.h"
#include "loaders/missing.h"

namespace feedline {
namespace {

class FilesDataset final : public Dataset {
public:
    FilesDataset(const std::string& path, ScannedTree& tree, Fd root)
        : index_(tree), handles_(index_, std::move(root), path, descriptor_budget()) {
        info_.path = path;
        info_.format = "files";
        info_.samples = index_.files();
        info_.shards = index_.files();
        info_.bytes = index_.bytes();
        info_.max_length_bytes = index_.max_length_bytes();
        find_classes();
        note_oddities(tree);
    }

    const DatasetInfo& info() const override { return info_; }

    void locate(std::span<const SampleId> ids, std::span<Extent> extents) const override {
        constexpr std::size_t kAhead = 16;
        for (std::size_t k = 0; k < ids.size(); ++k) {
            if (k + kAhead < ids.size()) index_.prefetch_length(static_cast<ShardId>(ids[k + kAhead]));
            const auto file = static_cast<ShardId>(ids[k]);
            extents[k] = {0, index_.length_bytes(file), file};
        }
    }

    Source source(ShardId shard, std::string& scratch) const override {
        const FileIndex::DirectoryId directory = index_.directory_of(shard);
        const char* name = index_.name(shard, directory);
        const DirectoryHandles::Place place = handles_.nearest(directory);
        if (place.directory != directory) {
            scratch = index_.relative_path(directory, place.directory, name);
            name = scratch.c_str();
        }
        return {-1, place.dir_fd, name, true};
    }

    std::string path(ShardId shard) const override {
        return info_.path + (info_.path.ends_with('/') ? "" : "/") + key(shard);
    }

    void prefetch_source(ShardId shard) const override { index_.prefetch_name(static_cast<FileIndex::FileId>(shard)); }

    std::string key(SampleId id) const override {
        const auto file = static_cast<ShardId>(id);
        const FileIndex::DirectoryId directory = index_.directory_of(file);
        return index_.relative_path(directory, FileIndex::kRoot, index_.name(file, directory));
    }

    std::optional<std::int64_t> label(SampleId id) const override {
        const FileIndex::DirectoryId directory = index_.directory_of(static_cast<ShardId>(id));
        const FileIndex::DirectoryId top = index_.class_directory(directory);
        if (top == FileIndex::kRoot) return std::nullopt;
        return static_cast<std::int64_t>(std::lower_bound(class_directories_.begin(), class_directories_.end(), top) -
                                         class_directories_.begin());
    }

    SampleViews views(SampleId id, std::span<const std::byte> record) const override {
        SampleViews views = Dataset::views(id, record);
        views.original_path = key(id);
        views.parts.front().name = path_suffix(views.original_path);
        if (!views.parts.front().name.empty()) views.parts.front().name.erase(0, 1);
        if (const auto* number = std::get_if<std::int64_t>(&views.label)) {
            views.class_name = info_.classes[static_cast<std::size_t>(*number)].name;
        }
        return views;
    }

private:
    void find_classes() {
        for (FileIndex::DirectoryId d = 1; d < index_.directories(); ++d) {
            if (index_.class_directory(d) == d) {
                info_.classes.push_back(
                    {std::string(index_.directory_name(d)), static_cast<std::int64_t>(class_directories_.size()), 0});
                class_directories_.push_back(d);
            }
            info_.classes.back().samples += index_.files_directly_in(d);
        }
    }

    void note_oddities(ScannedTree& tree) {
        for (const ScannedDirectory* child : tree.directories.front().children) {
            const auto same_name = [&](const ClassName& c) { return c.name < child->name; };
            const auto found = std::partition_point(info_.classes.begin(), info_.classes.end(), same_name);
            const bool has_samples = found != info_.classes.end() && found->name == child->name;
            if (child->was_read && !has_samples) tree.oddities.add("empty class directory", child->name);
        }
        const std::uint32_t at_root = index_.files_directly_in(FileIndex::kRoot);
        if (!info_.classes.empty() && at_root != 0) {
            tree.oddities.add("file outside any class", index_.name(0, FileIndex::kRoot), at_root);
        }
        note_lfs_pointers(tree.oddities);
        note_shards(tree.oddities);
        info_.oddities = tree.oddities.list();
    }

    void note_lfs_pointers(OddityCounter& oddities) const {
        constexpr unsigned kMostLooks = 256;  // enough to notice, and below 10 ms on a warm disk
        unsigned looks = 0;
        std::string scratch;
        for (FileIndex::FileId file = 0; file < index_.files() && looks < kMostLooks; ++file) {
            if (!may_be_lfs_pointer(index_.length_bytes(file))) continue;
            ++looks;
            const Source pointer = source(file, scratch);
            if (is_lfs_pointer(pointer.dir_fd, pointer.name))
                oddities.add("Git LFS pointer instead of data", key(file));
        }
    }

    // Somebody meant what is in them, and gave a directory too high up or one with several kinds in it. By name alone:
    // what they are is for their formats to say. A folder of shards has few files.
    void note_shards(OddityCounter& oddities) const {
        constexpr FileIndex::FileId kMostFiles = 20'000;
        constexpr std::array<std::string_view, 11> kSuffixes = {".tar",      ".tar.gz",    ".tgz",  ".tar.zst",
                                                                ".tfrecord", ".tfrecords", ".h5",   ".hdf5",
                                                                ".mdb",      ".lmdb",      ".tfrec"};
        if (index_.files() > kMostFiles) return;
        for (FileIndex::FileId file = 0; file < index_.files(); ++file) {
            const std::string name = key(file);
            const bool shard = std::any_of(kSuffixes.begin(), kSuffixes.end(),
                                           [&](std::string_view suffix) { return name.ends_with(suffix); });
            if (shard) oddities.add("file that is named like a shard of many samples and is taken for one", name);
        }
    }

    FileIndex index_;
    DirectoryHandles handles_;
    std::vector<FileIndex::DirectoryId> class_directories_;  // ascending; the position is the label
    DatasetInfo info_;
};

Error nothing_to_read(const std::string& path, ScannedTree& tree) {
    for (const ScannedDirectory& directory : tree.directories) {
        if (directory.was_read && directory.parent != nullptr && directory.children.empty()) {
            tree.oddities.add("directory without files", relative_path(directory));
        }
    }
    std::string found;
    for (const Oddity& oddity : tree.oddities.list()) {
        found += fmt::format("{}{} x {} (such as {})", found.empty() ? "" : ", ", oddity.count, oddity.kind,
                             printable(oddity.example));
    }
    return Error(ErrorKind::usage, "no files to read in this directory")
        .at(path)
        .advise("Found instead: " + (found.empty() ? "nothing" : found));
}

Fd open_root(const std::string& path) {
    struct stat st {};
    if (stat(path.c_str(), &st) != 0) throw cannot_find_dataset(path, errno);
    if (!S_ISDIR(st.st_mode)) {
        throw Error(ErrorKind::usage, "not a directory, and the files format reads a directory of files").at(path);
    }
    Fd root(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!root) throw system_error(errno, "cannot open the dataset's directory", path);
    if (::faccessat(root.get(), kIncompleteMarker, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
        throw Error(ErrorKind::usage, "this dataset is not whole: it is still being written, or its writer was killed")
            .at(path)
            .advise("let it be written to its end, or write it again");
    }
    return root;
}

}  // namespace

Confidence FilesFormat::probe(const std::string& path) const {
    struct stat st {};
    return stat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode) ? Confidence::maybe : Confidence::no;
}

std::unique_ptr<Dataset> FilesFormat::open(const std::string& path, const OpenOptions& options) const {
    Fd root = open_root(path);
    ScanOptions scan;
    scan.threads = options.threads != 0 ? options.threads : std::max(1U, std::thread::hardware_concurrency());
    scan.include_hidden = options.include_hidden;
    scan.progress = options.progress;
    scan.progress_context = options.progress_context;
    ScannedTree tree = scan_tree(root.get(), path, scan);
    const bool any = std::any_of(tree.directories.begin(), tree.directories.end(),
                                 [](const auto& d) { return d.files.size() != 0; });
    if (!any) throw nothing_to_read(path, tree);
    return std::make_unique<FilesDataset>(path, tree, std::move(root));
}

}  // namespace feedline
