// What an unfinished pack() has done so far: a line of JSON for the plan, then one for each shard that is whole and on
// disk.
//
// A line is on disk before the next shard is begun by the same thread. A line that was cut off by the end of the
// process counts as not there.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "core/fd.h"
#include "loaders/packed/manifest.h"

namespace feedline {

inline constexpr const char* kJournalName = ".feedline-journal";

struct JournalStart {
    std::string plan;
    bool replaces = false;  // the destination is to be replaced
};

// record() may be called from any thread.
class Journal {
public:
    // Goes on with the one in `directory`, or begins one. Throws Error{io, out_of_space}.
    Journal(const std::string& directory, const JournalStart& start);

    // Shards that are done, by number.
    const std::map<std::uint64_t, PackedShard>& done() const { return done_; }
    void record(std::uint64_t number, const PackedShard& shard);
    // What could not be read of these is read again.
    void forget(std::uint64_t number) { done_.erase(number); }

    // The start of the one in `directory`; nothing where there is none.
    static std::optional<JournalStart> peek(const std::string& directory);

private:
    void append(const std::string& line);

    std::string path_;
    Fd fd_;
    std::map<std::uint64_t, PackedShard> done_;
    std::mutex mutex_;
};

}  // namespace feedline
