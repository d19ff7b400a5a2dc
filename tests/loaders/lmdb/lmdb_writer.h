// LMDB files written by liblmdb itself. For builds that have it.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace feedline::test {

struct LmdbOptions {
    bool directory = true;  // else a single file (MDB_NOSUBDIR)
    std::size_t per_commit = 1000;
    unsigned database_flags = 0;     // MDB_DUPSORT, ...
    const char* database = nullptr;  // a named one
};

// Appends to what is there; the directory is made. Throws std::runtime_error.
void write_lmdb(const std::string& path, const std::vector<std::pair<std::string, std::string>>& entries,
                const LmdbOptions& options = {});
void erase_from_lmdb(const std::string& path, const std::vector<std::string>& keys);

}  // namespace feedline::test
