// One error type for set-up, usage and run-time failures. What happens on the data path (a short read, a vanished
// file) travels as a value in a completion and becomes an Error only where the run decides to stop.
//
// Thread-safety: values; copyable across threads.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

namespace feedline {

// What went wrong, as far as the caller must act on it. exit_code() maps it to the process exit code.
enum class ErrorKind {
    usage,         // a wrong option, a contradiction, input that is not what was asked for: nothing was touched (2)
    io,            // the operating system refused or failed (5)
    corrupt,       // bytes are there and are not what their format says (5)
    out_of_space,  // ENOSPC, EDQUOT (5)
    changed,       // input changed, shrank, grew or vanished while it was being read (5)
    timeout,       // an operation hung for longer than it was allowed to (5)
    unsupported,   // this machine, kernel or build cannot do it, so nothing was measured (4)
    interrupted,   // the user or the system asked to stop (130)
    internal,      // a broken invariant of ours (5)
};

std::string_view to_string(ErrorKind kind);

// Process exit code by the contract: 2, 4, 5 or 130.
int exit_code(ErrorKind kind);

// A failure with what a person needs to act: what, which file, which offset, which errno, what to do.
// `what()` is one line: "WHAT: PATH at offset N: STRERROR (errno E). Advice.", absent parts left out; control
// characters and bytes that are not UTF-8 in PATH are escaped, so that the line stays one line. Advice becomes a
// sentence, however it was written; where none was given, it is advice_about(errno).
class Error : public std::exception {
public:
    Error(ErrorKind kind, std::string message);

    // Builder calls, so that a throw site reads as a sentence:
    //   throw Error(ErrorKind::io, "cannot read").at(path, offset).because(errno).advise("check the disk");
    Error&& at(std::string_view path) &&;
    Error&& at(std::string_view path, std::uint64_t offset_bytes) &&;
    Error&& because(int error_number) &&;  // errno value, positive
    Error&& advise(std::string_view advice) &&;

    ErrorKind kind() const { return kind_; }
    const std::string& message() const { return message_; }
    const std::string& path() const { return path_; }
    std::optional<std::uint64_t> offset_bytes() const { return offset_bytes_; }
    int error_number() const { return error_number_; }
    const std::string& advice() const { return advice_; }
    const char* what() const noexcept override { return what_.c_str(); }

private:
    void compose();

    ErrorKind kind_;
    std::string message_;
    std::string path_;
    std::optional<std::uint64_t> offset_bytes_;
    int error_number_ = 0;
    std::string advice_;
    std::string what_;
};

// What a person can do about an errno, whoever met it; empty where that depends on more. Written like advise()'s.
std::string_view advice_about(int error_number);

// The process or the machine is out of descriptors or memory: no fault of the file that was being worked on.
bool is_shortage(int error_number);

// An Error for a failed system call: ENOSPC and EDQUOT become out_of_space, everything else io.
Error system_error(int error_number, std::string message, std::string_view path);

// PATH as printable text on one line: valid UTF-8 stays, control characters and stray bytes become \xNN.
std::string printable(std::string_view bytes);

}  // namespace feedline
