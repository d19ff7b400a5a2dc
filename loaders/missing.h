// The error that every format gives for a path that leads nowhere.
#pragma once

#include <cerrno>
#include <string>

#include "core/error.h"

namespace feedline {

// `error_number` is what stat said. A path that does not exist is a mistake of the user's (Error{usage}), one that
// cannot be reached is the system's (Error{io}).
inline Error cannot_find_dataset(const std::string& path, int error_number) {
    const bool missing =
        error_number == ENOENT || error_number == ENOTDIR || error_number == ELOOP || error_number == ENAMETOOLONG;
    return Error(missing ? ErrorKind::usage : ErrorKind::io, "cannot find the dataset").at(path).because(error_number);
}

}  // namespace feedline
