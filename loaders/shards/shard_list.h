// The shards of a packed dataset: which files a path stands for, in which order, and which of a numbered set are
// missing.
//
// Thread-safety: pure functions of the filesystem.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "loaders/dataset.h"

namespace feedline {

struct ShardFile {
    std::string path;  // raw bytes
    std::uint64_t size_bytes = 0;
};

// What a format says of the beginning of a file.
using Sniff = std::function<bool(const std::string& path)>;

// The kind of oddity that stands for shards which others of their set name.
inline constexpr const char* kMissingShard = "missing shard";

struct ShardList {
    std::vector<ShardFile> shards;  // by name, bytewise
    std::vector<Oddity> oddities;   // "file of another kind", "missing shard", ...
};

// What `path` stands for: a file; a directory, of whose regular files those count that `sniff` takes for the format's
// own (it is not asked about hidden files, nor about companions(name)); or, where nothing has that very name, a
// pattern with * ? [] in its last component. A set named PREFIX-00000-of-00008 that is not whole is an oddity: the
// rest can be read, and a person must know; so are others that are not beside one that is named alone. Throws
// Error{usage, io}; no shard at all is Error{usage}.
ShardList list_shards(const std::string& path, std::string_view format, const Sniff& sniff);

// For datasets that are found in another way. Throws Error{usage} for a directory that is being written or was left
// unfinished,
void require_finished(const std::string& directory);
// and notes what its manifest names and is not there, and the other way round, or that the manifest is damaged.
void note_manifest(const std::string& directory, ShardList& list);

// The names that lie beside shards and are none: index files, sidecars, manifests, locks.
bool is_companion(std::string_view name);

// Whether the files behind `path` are the format's own: of a directory or a pattern, the first few that are no
// companions must all be, or be named as one that is, and a directory may hold no directories with files of their own.
bool shards_look_like(const std::string& path, const Sniff& sniff);

}  // namespace feedline
