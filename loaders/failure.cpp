#include "loaders/failure.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

namespace feedline {

Failure describe(const Completion& completion, std::uint64_t length_bytes, const std::string& problem) {
    const std::string leave_in_peace = "nothing may change the dataset during a run, or use --on-error skip";
    if (completion.grew) {
        return {ErrorKind::changed, "grew", fmt::format("the file grew beyond its {} bytes", length_bytes), 0,
                leave_in_peace};
    }
    if (completion.result >= 0) {
        return {ErrorKind::changed, "shrank",
                fmt::format("the file ends after {} of {} bytes", completion.result, length_bytes), 0, leave_in_peace};
    }
    const int error = static_cast<int>(-completion.result);
    if (is_shortage(error)) return {ErrorKind::io, "shortage", "cannot open or read", error, "", true};
    if (error == EBADMSG) {
        return {ErrorKind::corrupt, "corrupt", problem.empty() ? "the sample's data are corrupt" : problem, 0,
                "replace it, or use --on-error skip"};
    }
    const std::string more = problem.empty() ? "" : fmt::format(" ({})", problem);
    const auto or_skip = [&] {
        const std::string_view advice = advice_about(error);
        return advice.empty() ? std::string("use --on-error skip to go on without it")
                              : fmt::format("{}, or use --on-error skip", advice);
    };
    switch (error) {
        case ENOENT:
        case ENOTDIR: return {ErrorKind::changed, "vanished", "the file has vanished", error, leave_in_peace};
        case EACCES:
        case EPERM: return {ErrorKind::io, "unreadable", "cannot open" + more, error, or_skip()};
        default: return {ErrorKind::io, "I/O error", "cannot read" + more, error, or_skip()};
    }
}

Failure describe_no_file(unsigned mode) {
    const char* now = S_ISDIR(mode)    ? "a directory"
                      : S_ISFIFO(mode) ? "a pipe"
                      : S_ISSOCK(mode) ? "a socket"
                                       : "a device";
    return {ErrorKind::changed, "no file", fmt::format("the file has been replaced by {}", now), 0,
            "nothing may change the dataset during a run, or use --on-error skip"};
}

Failure describe_corrupt(const std::string& what) {
    return {ErrorKind::corrupt, "corrupt", fmt::format("the sample cannot be decoded ({})", what), 0,
            "replace it, or use --on-error skip"};
}

Error to_error(const Failure& failure, const std::string& path, std::optional<std::uint64_t> offset_bytes) {
    const Error plain(failure.error_kind, failure.message);
    Error error = offset_bytes ? Error(plain).at(path, *offset_bytes).advise(failure.advice)
                               : Error(plain).at(path).advise(failure.advice);
    if (failure.error_number != 0) return std::move(error).because(failure.error_number);
    return error;
}

Oddity* FailureLog::find(std::string_view name) {
    const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Oddity& o) { return o.kind == name; });
    return found == entries_.end() ? nullptr : &*found;
}

void FailureLog::merge(const FailureLog& other) {
    for (const Oddity& entry : other.entries_) add(entry.kind, entry.count, [&] { return entry.example; });
}

}  // namespace feedline
