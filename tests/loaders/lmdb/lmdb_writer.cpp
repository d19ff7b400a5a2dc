#include "tests/loaders/lmdb/lmdb_writer.h"

#include <lmdb.h>

#include <filesystem>
#include <memory>
#include <stdexcept>

namespace feedline::test {
namespace {

void must(int result, const char* what) {
    if (result != 0) throw std::runtime_error(std::string(what) + ": " + mdb_strerror(result));
}

MDB_val val(const std::string& text) {
    return {text.size(), const_cast<char*>(text.data())};
}

struct CloseEnvironment {
    void operator()(MDB_env* environment) const { mdb_env_close(environment); }
};

std::unique_ptr<MDB_env, CloseEnvironment> open_environment(const std::string& path, bool directory) {
    MDB_env* made = nullptr;
    must(mdb_env_create(&made), "mdb_env_create");
    std::unique_ptr<MDB_env, CloseEnvironment> environment(made);
    must(mdb_env_set_mapsize(made, std::size_t{1} << 30U), "mdb_env_set_mapsize");
    must(mdb_env_set_maxdbs(made, 4), "mdb_env_set_maxdbs");
    if (directory) std::filesystem::create_directories(path);
    must(mdb_env_open(made, path.c_str(), MDB_NOSYNC | (directory ? 0U : unsigned{MDB_NOSUBDIR}), 0644),
         "mdb_env_open");
    return environment;
}

}  // namespace

void write_lmdb(const std::string& path, const std::vector<std::pair<std::string, std::string>>& entries,
                const LmdbOptions& options) {
    const auto environment = open_environment(path, options.directory);
    for (std::size_t first = 0; first < entries.size() || first == 0; first += options.per_commit) {
        MDB_txn* transaction = nullptr;
        must(mdb_txn_begin(environment.get(), nullptr, 0, &transaction), "mdb_txn_begin");
        MDB_dbi database = 0;
        must(mdb_dbi_open(transaction, options.database, MDB_CREATE | options.database_flags, &database),
             "mdb_dbi_open");
        for (std::size_t i = first; i < entries.size() && i < first + options.per_commit; ++i) {
            MDB_val key = val(entries[i].first);
            MDB_val value = val(entries[i].second);
            must(mdb_put(transaction, database, &key, &value, 0), "mdb_put");
        }
        must(mdb_txn_commit(transaction), "mdb_txn_commit");
    }
}

void erase_from_lmdb(const std::string& path, const std::vector<std::string>& keys) {
    const auto environment = open_environment(path, true);
    MDB_txn* transaction = nullptr;
    must(mdb_txn_begin(environment.get(), nullptr, 0, &transaction), "mdb_txn_begin");
    MDB_dbi database = 0;
    must(mdb_dbi_open(transaction, nullptr, 0, &database), "mdb_dbi_open");
    for (const std::string& name : keys) {
        MDB_val key = val(name);
        must(mdb_del(transaction, database, &key, nullptr), "mdb_del");
    }
    must(mdb_txn_commit(transaction), "mdb_txn_commit");
}

}  // namespace feedline::test
