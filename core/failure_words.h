// Exceptions that the standard library throws, as errors that say what to do.
#pragma once

#include <exception>

#include "core/error.h"

namespace feedline {

// An Error stays what it is; memory that ran out says how much this process holds and by which limit; a system_error (a
// thread that cannot be started) brings its errno's advice; all else is internal.
Error as_error(const std::exception& exception);

}  // namespace feedline
