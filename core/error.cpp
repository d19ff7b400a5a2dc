#include "core/error.h"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "core/utf8.h"

namespace feedline {

std::string_view to_string(ErrorKind kind) {
    switch (kind) {
        case ErrorKind::usage: return "usage";
        case ErrorKind::io: return "io";
        case ErrorKind::corrupt: return "corrupt";
        case ErrorKind::out_of_space: return "out of space";
        case ErrorKind::changed: return "changed";
        case ErrorKind::timeout: return "timeout";
        case ErrorKind::unsupported: return "unsupported";
        case ErrorKind::interrupted: return "interrupted";
        case ErrorKind::internal: return "internal";
    }
    return "unknown";
}

int exit_code(ErrorKind kind) {
    switch (kind) {
        case ErrorKind::usage: return 2;
        case ErrorKind::unsupported: return 4;
        case ErrorKind::interrupted: return 130;
        case ErrorKind::io:
        case ErrorKind::corrupt:
        case ErrorKind::out_of_space:
        case ErrorKind::changed:
        case ErrorKind::timeout:
        case ErrorKind::internal: return 5;
    }
    return 5;
}

namespace {

// With a capital and a full stop. What begins with an option or a digit stays as it is.
std::string sentence(std::string text) {
    if (text.front() >= 'a' && text.front() <= 'z') text.front() = static_cast<char>(text.front() - 'a' + 'A');
    if (std::string_view(".!?").find(text.back()) == std::string_view::npos) text += '.';
    return text;
}

}  // namespace

Error::Error(ErrorKind kind, std::string message) : kind_(kind), message_(std::move(message)) {
    compose();
}

Error&& Error::at(std::string_view path) && {
    path_ = path;
    compose();
    return std::move(*this);
}

Error&& Error::at(std::string_view path, std::uint64_t offset_bytes) && {
    path_ = path;
    offset_bytes_ = offset_bytes;
    compose();
    return std::move(*this);
}

Error&& Error::because(int error_number) && {
    error_number_ = error_number;
    compose();
    return std::move(*this);
}

Error&& Error::advise(std::string_view advice) && {
    advice_ = advice;
    compose();
    return std::move(*this);
}

void Error::compose() {
    what_ = message_;
    if (!path_.empty()) what_ += ": " + printable(path_);
    if (offset_bytes_) what_ += fmt::format(" at offset {}", *offset_bytes_);
    if (error_number_ != 0) {
        what_ += fmt::format(": {} (errno {})", std::generic_category().message(error_number_), error_number_);
    }
    const std::string advice = advice_.empty() ? std::string(advice_about(error_number_)) : advice_;
    if (!advice.empty()) what_ += (what_.ends_with('?') ? " " : ". ") + sentence(advice);
}

std::string_view advice_about(int error_number) {
    switch (error_number) {
        case EMFILE: return "raise the limit of open files (ulimit -n), or use fewer --threads";
        case ENFILE: return "the whole machine has no open file left: end what holds many, or raise fs.file-max";
        case ENOMEM: return "free memory or raise the limit on it (ulimit -v, the container's), or use fewer --threads";
        case ENOBUFS: return "the kernel is short of memory: free some, or use fewer --threads";
        case EAGAIN: return "use fewer --threads, or raise the limits on threads and memory (ulimit -u, ulimit -v)";
        case EACCES:
        case EPERM: return "give permission, or run as a user who has it";
        case EROFS: return "it is mounted read-only: use another place, or mount it for writing";
        case ENOSPC: return "free some space, or use another place";
        case EDQUOT: return "raise the quota, or use another place";
        case EFBIG: return "raise the limit on the size of a file (ulimit -f), or use another filesystem";
        case EIO:
        case EREMOTEIO:
        case EBADMSG: return "check the disk; dmesg says more";
        case EUCLEAN: return "the filesystem is damaged: unmount it and run fsck";
        case ENXIO:
        case ENODEV: return "the device is gone or cannot do this; dmesg says more";
        case ESTALE: return "the file server has replaced it: mount it again";
        case ENOTCONN:
        case ETIMEDOUT:
        case ECONNREFUSED:
        case ECONNRESET:
        case ECONNABORTED:
        case EHOSTDOWN:
        case EHOSTUNREACH:
        case ENETDOWN:
        case ENETUNREACH: return "check the file server and the network to it";
        case ENOKEY:
        case EKEYREJECTED: return "the directory is encrypted: unlock it";
        case ELOOP: return "links lead in a circle: name the place itself";
        case ENAMETOOLONG: return "use a shorter name";
        case EPIPE: return "whoever should read it has gone";
        default: return {};
    }
}

bool is_shortage(int error_number) {
    return error_number == EMFILE || error_number == ENFILE || error_number == ENOMEM || error_number == ENOBUFS;
}

Error system_error(int error_number, std::string message, std::string_view path) {
    const bool full = error_number == ENOSPC || error_number == EDQUOT;
    return Error(full ? ErrorKind::out_of_space : ErrorKind::io, std::move(message)).at(path).because(error_number);
}

std::string printable(std::string_view bytes) {
    std::string text;
    text.reserve(bytes.size());
    while (!bytes.empty()) {
        const std::size_t length = utf8_sequence_length(bytes);
        const auto first = static_cast<unsigned char>(bytes.front());
        // C1 controls are U+0080 to U+009F: two bytes, C2 80 to C2 9F.
        const bool control = first < 0x20 || first == 0x7F ||
                             (length == 2 && first == 0xC2 && static_cast<unsigned char>(bytes[1]) < 0xA0);
        if (length == 0 || control) {
            const std::size_t escaped = length == 0 ? 1 : length;
            for (std::size_t i = 0; i < escaped; ++i) {
                text += fmt::format("\\x{:02x}", static_cast<unsigned char>(bytes[i]));
            }
            bytes.remove_prefix(escaped);
        } else {
            text.append(bytes.substr(0, length));
            bytes.remove_prefix(length);
        }
    }
    return text;
}

}  // namespace feedline
