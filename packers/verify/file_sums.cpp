#include "packers/verify/file_sums.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <span>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/fd.h"
#include "loaders/packed/sidecar.h"

namespace feedline {
namespace {

constexpr std::string_view kLmdbData = "/data.mdb";

std::string reason(const char* what, int error_number) {
    return Error(ErrorKind::io, what).because(error_number).what();
}

}  // namespace

std::vector<ExpectedFile> expected_files(const std::string& directory, const Manifest& manifest) {
    std::vector<ExpectedFile> files;
    for (std::size_t i = 0; i < manifest.shards.size(); ++i) {
        const PackedShard& shard = manifest.shards[i];
        const std::string path = directory + "/" + shard.name;
        std::error_code ignored;
        const bool inside = std::filesystem::is_directory(path, ignored);
        files.push_back({path + (inside ? std::string(kLmdbData) : ""), shard.crc32c, shard.bytes, i});
        files.push_back({path + std::string(kSidecarSuffix), shard.sidecar_crc32c, {}, i});
        if (shard.index_crc32c) files.push_back({path + ".idx", *shard.index_crc32c, {}, i});
    }
    return files;
}

bool check_file(const ExpectedFile& file, Findings& findings, std::atomic<std::uint64_t>& bytes_read,
                const Interrupt& interrupt) {
    const Fd fd(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!fd) {
        findings.add(
            {errno == ENOENT ? "a file is missing" : reason("a file cannot be opened", errno), file.path, {}, ""});
        return false;
    }
    (void)::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
    std::vector<std::byte> buffer(256U << 10U);
    std::uint64_t bytes = 0;
    std::uint32_t crc = 0;
    for (;;) {
        if (interrupt.requested()) throw Error(ErrorKind::interrupted, "interrupted");
        const ssize_t n = ::read(fd.get(), buffer.data(), buffer.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            findings.add({reason("a file cannot be read", errno), file.path, bytes, ""});
            return false;
        }
        if (n == 0) break;
        const auto piece = std::span(buffer).first(static_cast<std::size_t>(n));
        crc = crc32c(piece, crc);
        bytes += piece.size();
        bytes_read.fetch_add(piece.size(), std::memory_order_relaxed);
    }
    if (file.bytes && bytes != *file.bytes) {
        findings.add({fmt::format("a file has {} bytes, and had {}", bytes, *file.bytes), file.path,
                      std::min(bytes, *file.bytes), ""});
        return false;
    }
    if (crc == file.crc32c) return true;
    findings.add({"the checksum of a file does not match", file.path, {}, ""});
    return false;
}

}  // namespace feedline
