#include "loaders/files/index.h"

#include <algorithm>
#include <unordered_set>

#include "core/error.h"

namespace feedline {

FileIndex::FileIndex(ScannedTree& tree) {
    std::uint64_t files = 0;
    std::unordered_set<const ScannedDirectory*> wanted;
    for (const ScannedDirectory& directory : tree.directories) {
        files += directory.files.size();
        if (directory.files.size() == 0) continue;
        for (const auto* up = &directory; up != nullptr && wanted.insert(up).second;) up = up->parent;
    }
    wanted.insert(&tree.directories.front());
    if (files >= UINT32_MAX || wanted.size() >= UINT32_MAX) {
        throw Error(ErrorKind::unsupported, "more than 4,294,967,294 files in one dataset");
    }
    name_offsets_.reserve(files);
    lengths_.reserve(files);
    directories_.reserve(wanted.size());
    first_files_.reserve(wanted.size() + 1);

    struct Pending {
        ScannedDirectory* directory;
        DirectoryId parent;
    };
    std::vector<Pending> pending{{&tree.directories.front(), kRoot}};
    while (!pending.empty()) {
        const Pending next = pending.back();
        pending.pop_back();
        const DirectoryId id = directories();
        add(*next.directory, next.parent);
        const auto first_child = static_cast<std::ptrdiff_t>(pending.size());
        for (ScannedDirectory* child : next.directory->children) {
            if (wanted.contains(child)) pending.push_back({child, id});
        }
        std::reverse(pending.begin() + first_child, pending.end());
    }
    first_files_.push_back(this->files());
}

void FileIndex::add(ScannedDirectory& scanned, DirectoryId parent) {
    const DirectoryId id = directories();
    const FileId first = files();
    FileList list = std::move(scanned.files);
    DirectoryId class_directory = id;
    if (id != kRoot && parent != kRoot) class_directory = directories_[parent].class_directory;
    first_files_.push_back(first);
    directories_.push_back({std::move(list.names), directory_names_.size(),
                            static_cast<std::uint32_t>(scanned.name.size()), parent, class_directory});
    directory_names_ += scanned.name;
    name_offsets_.insert(name_offsets_.end(), list.name_offsets.begin(), list.name_offsets.end());
    lengths_.insert(lengths_.end(), list.lengths.begin(), list.lengths.end());
    for (const auto& [position, length] : list.long_lengths) long_lengths_.emplace_back(first + position, length);
    for (FileId file = first; file < files(); ++file) {
        const std::uint64_t length = length_bytes(file);
        bytes_ += length;
        max_length_bytes_ = std::max(max_length_bytes_, length);
    }
}

std::uint64_t FileIndex::long_length_bytes(FileId file) const {
    const auto found = std::lower_bound(long_lengths_.begin(), long_lengths_.end(), file,
                                        [](const auto& item, FileId id) { return item.first < id; });
    return found->second;
}

FileIndex::DirectoryId FileIndex::directory_of(FileId file) const {
    // A directory without files of its own begins where the next one does; the last of those is the owner.
    const auto after = std::upper_bound(first_files_.begin(), first_files_.end(), file);
    return static_cast<DirectoryId>(after - first_files_.begin() - 1);
}

std::string_view FileIndex::directory_name(DirectoryId directory) const {
    const Directory& d = directories_[directory];
    return std::string_view(directory_names_).substr(d.name_offset, d.name_bytes);
}

std::string FileIndex::relative_path(DirectoryId directory, DirectoryId base, std::string_view name) const {
    std::vector<std::string_view> parts;
    if (!name.empty()) parts.push_back(name);
    for (; directory != base; directory = parent(directory)) parts.push_back(directory_name(directory));
    std::string path;
    for (std::size_t i = parts.size(); i-- > 0;) {
        path += parts[i];
        if (i != 0) path += '/';
    }
    return path;
}

}  // namespace feedline
