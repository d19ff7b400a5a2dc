#include "loaders/shards/shard_list.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fnmatch.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "core/error.h"
#include "core/incomplete.h"
#include "core/lfs_pointer.h"
#include "core/path_suffix.h"
#include "core/units.h"
#include "loaders/missing.h"
#include "loaders/packed/manifest.h"

namespace feedline {
namespace {

struct CloseDirectory {
    void operator()(DIR* directory) const { closedir(directory); }
};

struct Listing {
    std::vector<ShardFile> files;  // regular, not hidden, no companions; by name
    bool directories = false;      // not hidden ones
    Oddity dangling{"link that leads nowhere", 0, ""};
    Oddity special{"pipe, socket or device", 0, ""};
};

void count(Oddity& oddity, const std::string& name) {
    if (oddity.count++ == 0) oddity.example = name;
}

// `pattern` selects names; empty takes all.
Listing list_directory(const std::string& directory, const std::string& pattern) {
    const std::unique_ptr<DIR, CloseDirectory> open(opendir(directory.c_str()));
    if (open == nullptr && errno == ENOENT) throw cannot_find_dataset(directory, errno);
    if (open == nullptr) throw system_error(errno, "cannot list the dataset's directory", directory);
    Listing listing;
    const std::string prefix = directory + (directory.ends_with('/') ? "" : "/");
    for (;;) {
        errno = 0;
        const dirent* entry = readdir(open.get());
        if (entry == nullptr) {
            if (errno != 0) throw system_error(errno, "cannot list the dataset's directory", directory);
            break;
        }
        const std::string name = entry->d_name;
        if (name.front() == '.' || is_companion(name)) continue;
        if (!pattern.empty() && fnmatch(pattern.c_str(), name.c_str(), FNM_PERIOD) != 0) continue;
        struct stat status {};
        if (stat((prefix + name).c_str(), &status) != 0) {
            const bool dangling = lstat((prefix + name).c_str(), &status) == 0;
            if (dangling) count(listing.dangling, name);  // else it is gone since
            continue;
        }
        if (S_ISDIR(status.st_mode)) {
            listing.directories = true;
        } else if (S_ISREG(status.st_mode)) {
            listing.files.push_back({prefix + name, static_cast<std::uint64_t>(status.st_size)});
        } else {
            count(listing.special, name);
        }
    }
    std::sort(listing.files.begin(), listing.files.end(),
              [](const ShardFile& a, const ShardFile& b) { return a.path < b.path; });
    return listing;
}

struct Place {
    std::string directory;
    std::string pattern;  // empty: all of it
};

std::string_view base_name(std::string_view path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::optional<Place> as_pattern(const std::string& path) {
    const std::string_view name = base_name(path);
    if (name.find_first_of("*?[") == std::string_view::npos) return std::nullopt;
    std::string directory = path.substr(0, path.size() - name.size());
    if (directory.empty()) directory = ".";
    return Place{std::move(directory), std::string(name)};
}

// What a path is before any format is asked: one file, or a place with files.
struct Meaning {
    std::optional<ShardFile> file;
    std::optional<Place> place;
};

Meaning meaning_of(const std::string& path) {
    struct stat status {};
    if (stat(path.c_str(), &status) == 0) {
        if (S_ISDIR(status.st_mode)) return {std::nullopt, Place{path, ""}};
        if (S_ISREG(status.st_mode)) return {ShardFile{path, static_cast<std::uint64_t>(status.st_size)}, std::nullopt};
        throw Error(ErrorKind::usage, "neither a file nor a directory").at(path);
    }
    const int error = errno;
    if (error == ENOENT) {
        if (const std::optional<Place> place = as_pattern(path)) return {std::nullopt, place};
    }
    throw cannot_find_dataset(path, error);
}

// PREFIX-iiiii-of-nnnnn SUFFIX, as TensorFlow, Apache Beam and we name shards.
struct Numbered {
    std::string prefix;  // up to the number
    std::string suffix;  // from "-of-"
    std::string number;
    std::string count;
};

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

std::optional<Numbered> numbered(const std::string& name) {
    constexpr std::string_view kOf = "-of-";
    constexpr std::size_t kLeastDigits = 5;
    constexpr std::size_t kMostDigits = 9;
    const auto is_count = [](std::size_t digits) { return digits >= kLeastDigits && digits <= kMostDigits; };
    for (std::size_t of = name.find(kOf); of != std::string::npos; of = name.find(kOf, of + 1)) {
        std::size_t begin = of;
        while (begin > 0 && is_digit(name[begin - 1])) --begin;
        std::size_t end = of + kOf.size();
        while (end < name.size() && is_digit(name[end])) ++end;
        const std::size_t count_at = of + kOf.size();
        if (begin == 0 || name[begin - 1] != '-' || !is_count(of - begin) || !is_count(end - count_at)) continue;
        return Numbered{name.substr(0, begin), name.substr(of), name.substr(begin, of - begin),
                        name.substr(count_at, end - count_at)};
    }
    return std::nullopt;
}

void note_missing(ShardList& list) {
    struct Set {
        Numbered example;
        std::set<std::uint64_t> present;
    };
    std::map<std::string, Set> sets;  // by what all shards of one set share
    for (const ShardFile& shard : list.shards) {
        std::optional<Numbered> place = numbered(std::string(base_name(shard.path)));
        if (!place) continue;
        Set& set = sets[place->prefix + '\0' + place->suffix];
        set.present.insert(std::stoull(place->number));
        set.example = std::move(*place);
    }
    for (const auto& [shared, set] : sets) {
        const std::uint64_t count = std::stoull(set.example.count);
        const auto present = static_cast<std::uint64_t>(std::count_if(
            set.present.begin(), set.present.end(), [&](std::uint64_t number) { return number < count; }));
        if (present >= count) continue;
        std::uint64_t first = 0;
        while (set.present.contains(first)) ++first;
        list.oddities.push_back(
            {kMissingShard, count - present,
             fmt::format("{}{:0{}}{}", set.example.prefix, first, set.example.number.size(), set.example.suffix)});
    }
}

// Of one file of a set that was asked for alone: which others are not beside it.
void note_missing_beside(const std::string& path, ShardList& list) {
    constexpr std::uint64_t kMostLooks = 10'000;
    const std::optional<Numbered> place = numbered(std::string(base_name(path)));
    if (!place) return;
    const std::string directory = path.substr(0, path.size() - base_name(path).size());
    const std::uint64_t count = std::stoull(place->count);
    Oddity missing{kMissingShard, 0, ""};
    for (std::uint64_t i = 0; i < std::min(count, kMostLooks); ++i) {
        const std::string name = fmt::format("{}{:0{}}{}", place->prefix, i, place->number.size(), place->suffix);
        struct stat status {};
        if (stat((directory + name).c_str(), &status) == 0) continue;
        if (missing.count++ == 0) missing.example = name;
    }
    if (missing.count > 0) list.oddities.push_back(std::move(missing));
}

bool is_pointer(const ShardFile& file) {
    return may_be_lfs_pointer(file.size_bytes) && is_lfs_pointer(AT_FDCWD, file.path.c_str());
}

}  // namespace

bool is_companion(std::string_view name) {
    constexpr std::array<std::string_view, 6> kSuffixes = {".idx", ".index", ".samples", ".lock", ".json", ".txt"};
    return std::any_of(kSuffixes.begin(), kSuffixes.end(),
                       [&](std::string_view suffix) { return name.ends_with(suffix); });
}

void require_finished(const std::string& directory) {
    struct stat status {};
    if (lstat((directory + "/" + kIncompleteMarker).c_str(), &status) != 0) return;
    throw Error(ErrorKind::usage, "this dataset is not whole: it is still being written, or its writer was stopped")
        .at(directory)
        .advise("Let it be written to its end, or go on with feedline pack --resume");
}

void note_manifest(const std::string& directory, ShardList& list) {
    std::optional<Manifest> manifest;
    try {
        manifest = read_manifest(directory);
    } catch (const Error& error) {
        // The shards can be read all the same.
        list.oddities.push_back({"manifest that cannot be read", 1, error.what()});
    }
    if (!manifest) return;
    const std::string prefix = directory + (directory.ends_with('/') ? "" : "/");
    Oddity missing{"shard that the manifest names and that is missing", 0, ""};
    for (const PackedShard& shard : manifest->shards) {
        struct stat status {};
        if (stat((prefix + shard.name).c_str(), &status) == 0) continue;
        if (missing.count++ == 0) missing.example = shard.name;
    }
    if (missing.count > 0) list.oddities.push_back(std::move(missing));
    Oddity unknown{"shard that the manifest does not name", 0, ""};
    for (const ShardFile& file : list.shards) {
        const std::string_view inside = std::string_view(file.path).substr(prefix.size());
        const std::string_view name = inside.substr(0, inside.find('/'));
        const bool named = std::any_of(manifest->shards.begin(), manifest->shards.end(),
                                       [&](const PackedShard& shard) { return shard.name == name; });
        if (!named && unknown.count++ == 0) unknown.example = std::string(name);
    }
    if (unknown.count > 0) list.oddities.push_back(std::move(unknown));
}

ShardList list_shards(const std::string& path, std::string_view format, const Sniff& sniff) {
    const Meaning meaning = meaning_of(path);
    ShardList list;
    if (meaning.file) {
        if (is_pointer(*meaning.file)) {
            throw Error(ErrorKind::corrupt, "a Git LFS pointer instead of data")
                .at(path)
                .advise("Fetch it with git lfs pull");
        }
        list.shards.push_back(*meaning.file);
        note_missing_beside(path, list);
        return list;
    }
    if (meaning.place->pattern.empty()) require_finished(path);
    Oddity pointer{"Git LFS pointer instead of data", 0, ""};
    Oddity other{"file of another kind", 0, ""};
    Listing listing = list_directory(meaning.place->directory, meaning.place->pattern);
    for (ShardFile& file : listing.files) {
        if (sniff(file.path)) {
            list.shards.push_back(std::move(file));
            continue;
        }
        count(is_pointer(file) ? pointer : other, std::string(base_name(file.path)));
    }
    // Where some of the data are missing, what is there is not the dataset.
    if (pointer.count > 0) {
        throw Error(ErrorKind::corrupt, fmt::format("{} of the files are Git LFS pointers instead of data, such as {}",
                                                    pointer.count, printable(pointer.example)))
            .at(path)
            .advise("Fetch them with git lfs pull");
    }
    if (list.shards.empty()) {
        throw Error(ErrorKind::usage,
                    fmt::format("no {} file {}", format,
                                meaning.place->pattern.empty() ? "in this directory" : "matches this pattern"))
            .at(path)
            .advise(other.count == 0
                        ? "It holds no data files at all"
                        : fmt::format("Found instead: {} (such as {})", format_counted(other.count, "other file"),
                                      printable(other.example)));
    }
    for (Oddity* oddity : {&other, &listing.dangling, &listing.special}) {
        if (oddity->count > 0) list.oddities.push_back(std::move(*oddity));
    }
    note_missing(list);
    if (meaning.place->pattern.empty()) note_manifest(path, list);
    return list;
}

bool shards_look_like(const std::string& path, const Sniff& sniff) {
    constexpr std::size_t kLooks = 4;
    const Meaning meaning = meaning_of(path);
    if (meaning.file) return sniff(path);
    const Listing listing = list_directory(meaning.place->directory, meaning.place->pattern);
    if (listing.files.empty() || (listing.directories && meaning.place->pattern.empty())) return false;
    // One that is empty, damaged or not fetched yet, and named like the others, does not make all of them small files.
    std::set<std::string_view> known;
    std::set<std::string_view> strange;
    for (std::size_t i = 0; i < std::min(kLooks, listing.files.size()); ++i) {
        const ShardFile& file = listing.files[i];
        (sniff(file.path) ? known : strange).insert(path_suffix(file.path));
    }
    // Names without a suffix say nothing.
    return !known.empty() && !strange.contains("") &&
           std::includes(known.begin(), known.end(), strange.begin(), strange.end());
}

}  // namespace feedline
