// A file that a run writes at its end, made sure of before its beginning: hours of measuring are not to be lost on it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "core/fd.h"

namespace feedline {

// "-", and the names that Linux has for it.
bool is_standard_output(std::string_view path);

// The file that writing to `path` makes or replaces: links are followed, also one that leads to nothing yet, as a shell
// does. Links in a circle end where they began.
std::string written_file(const std::string& path);

class OutputFile {
public:
    // Standard output, a device, a pipe or a regular file. What is no regular file is opened and held, so that a reader
    // of a pipe does not see its end too early; of a regular one it is tried whether it can be created. `asked_by` is
    // the option that named it. Throws Error{usage} naming it.
    OutputFile(const std::string& asked_by, std::string path);

    // Once. A regular file is replaced atomically (temporary name, fsync, rename); one that is a mount of its own, or
    // lies in a directory that cannot be written to, is written to as it stands. Throws Error{io, out_of_space} naming
    // the file, and where the content is, where it was written at all.
    void write(std::string_view content);

    const std::string& path() const { return path_; }

private:
    void write_standard_output(std::string_view content);
    void write_atomically(std::string_view content);
    int write_in_place(std::string_view content) const;  // 0, or errno
    std::string temporary() const;

    std::string path_;            // as given
    std::string target_;          // of a regular file
    std::optional<mode_t> mode_;  // of the file that is replaced
    Fd special_;                  // else; none for standard output
};

}  // namespace feedline
