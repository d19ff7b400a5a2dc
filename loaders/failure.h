// What a failed read or a bad payload is called, and the Error that it becomes where the run decides to stop.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "loaders/dataset.h"
#include "loaders/engine/engine.h"

namespace feedline {

struct Failure {
    ErrorKind error_kind = ErrorKind::io;
    std::string_view name;  // as LoaderStats::failures counts it: "vanished", "shrank", ...
    std::string message;
    int error_number = 0;
    std::string advice;
    // Not the sample's fault: the next one would fail as well, so it is never skipped.
    bool shortage = false;
};

// Whether all `length_bytes` are there and the file is as long as it was.
inline bool succeeded(const Completion& completion, std::uint64_t length_bytes) {
    return completion.result == static_cast<std::int64_t>(length_bytes) && !completion.grew;
}

// Of a completion that did not succeed; `problem` is what the engine adds to it.
Failure describe(const Completion& completion, std::uint64_t length_bytes, const std::string& problem = {});
// Of a file that has become something else: its st_mode says what.
Failure describe_no_file(unsigned mode);
// Of a payload that the decoder refused.
Failure describe_corrupt(const std::string& what);

// `offset_bytes`: where it failed in the file, as far as that can be said.
Error to_error(const Failure& failure, const std::string& path, std::optional<std::uint64_t> offset_bytes);

// Counts failures by name and keeps the first path of each. Not thread-safe.
class FailureLog {
public:
    // `path` is asked for only when the name is new.
    template <class Path>
    void add(std::string_view name, std::uint64_t count, Path path) {
        Oddity* found = find(name);
        if (found == nullptr) found = &entries_.emplace_back(Oddity{std::string(name), 0, path()});
        found->count += count;
    }
    void merge(const FailureLog& other);
    const std::vector<Oddity>& entries() const { return entries_; }

private:
    Oddity* find(std::string_view name);

    std::vector<Oddity> entries_;
};

}  // namespace feedline
