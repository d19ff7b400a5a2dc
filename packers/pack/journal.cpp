#include "packers/pack/journal.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.h"
#include "core/line_reader.h"
#include "loaders/packed/shard_json.h"
#include "packers/output/free_space.h"
#include "packers/output/new_file.h"

namespace feedline {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

// Calls each(json, end of its line) for the whole lines at the beginning of the file that can be read.
template <typename Each>
void for_each_line(const std::string& path, const Each& each) {
    std::optional<LineReader> in;
    try {
        in.emplace(path);
    } catch (const Error& error) {
        if (error.error_number() == ENOENT || error.error_number() == ENOTDIR) return;
        throw;
    }
    std::string line;
    while (in->next(line) && !in->was_cut()) {
        const json value = json::parse(line, nullptr, false);
        if (value.is_discarded()) return;
        each(value, in->offset_bytes() + line.size() + 1);
    }
}

JournalStart start_of(const json& value) {
    return {value.value("plan", std::string()), value.value("replaces", false)};
}

}  // namespace

std::optional<JournalStart> Journal::peek(const std::string& directory) {
    std::optional<JournalStart> start;
    try {
        for_each_line(directory + "/" + kJournalName, [&](const json& value, std::uint64_t /*end*/) {
            if (!start) start = start_of(value);
        });
    } catch (const nlohmann::json::exception&) {
        return std::nullopt;
    }
    return start;
}

Journal::Journal(const std::string& directory, const JournalStart& start) : path_(directory + "/" + kJournalName) {
    std::uint64_t whole = 0;
    try {
        bool first = true;
        for_each_line(path_, [&](const json& value, std::uint64_t end) {
            if (first && start_of(value).plan != start.plan) {
                throw Error(ErrorKind::internal, "the journal is of another plan").at(path_);
            }
            if (!first) done_.insert_or_assign(count_in(value.at("shard")), shard_of(value));
            first = false;
            whole = end;
        });
    } catch (const nlohmann::json::exception&) {  // what follows is not ours to trust
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::corrupt) throw;
    }
    fd_ = Fd(::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
    if (!fd_) throw system_error(errno, "cannot open the journal", path_);
    if (::ftruncate(fd_.get(), static_cast<off_t>(whole)) != 0 || ::lseek(fd_.get(), 0, SEEK_END) < 0) {
        throw system_error(errno, "cannot go on with the journal", path_);
    }
    if (whole == 0) {
        done_.clear();
        append(ordered_json({{"plan", start.plan}, {"replaces", start.replaces}}).dump());
        sync_directory_of(path_);
    }
}

void Journal::record(std::uint64_t number, const PackedShard& shard) {
    ordered_json told = {{"shard", number}};
    told.update(shard_json(shard));
    const std::lock_guard lock(mutex_);
    append(told.dump());
    done_.insert_or_assign(number, shard);
}

void Journal::append(const std::string& line) {
    const std::string ended = line + "\n";
    std::string_view rest = ended;
    while (!rest.empty()) {
        const ssize_t n = ::write(fd_.get(), rest.data(), rest.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) throw cannot_write(errno, path_, 0);
        rest.remove_prefix(static_cast<std::size_t>(n));
    }
    if (::fdatasync(fd_.get()) != 0) throw cannot_write(errno, path_, 0);
}

}  // namespace feedline
