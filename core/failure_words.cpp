#include "core/failure_words.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <cerrno>
#include <new>
#include <system_error>

#include "core/slab.h"
#include "core/units.h"

namespace feedline {
namespace {

// A run holds what its slots, requests and index take; a limit below that cannot be met by waiting.
Error out_of_memory() {
    std::string what = "out of memory";
    rlimit space{};
    if (::getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY) {
        what += fmt::format(": this process holds {} of the {} that it may (ulimit -v)",
                            format_size(static_cast<double>(address_space_bytes())),
                            format_size(static_cast<double>(space.rlim_cur)));
    } else {
        what += fmt::format(": {} are left", format_size(static_cast<double>(available_memory_bytes())));
    }
    return Error(ErrorKind::io, what)
        .advise("raise the limit, or use fewer --slots, a smaller --batch-size or fewer --threads");
}

}  // namespace

Error as_error(const std::exception& exception) {
    if (const auto* error = dynamic_cast<const Error*>(&exception)) return *error;
    if (dynamic_cast<const std::bad_alloc*>(&exception) != nullptr) return out_of_memory();
    const auto* system = dynamic_cast<const std::system_error*>(&exception);
    if (system != nullptr &&
        (system->code().category() == std::generic_category() || system->code().category() == std::system_category())) {
        // The rest of its text is errno in words, which follows anyway.
        const bool thread = system->code().value() == EAGAIN;
        return Error(ErrorKind::io, thread ? "cannot start a thread" : "a system call failed")
            .because(system->code().value());
    }
    return Error(ErrorKind::internal, printable(exception.what()));
}

}  // namespace feedline
