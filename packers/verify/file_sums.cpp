#include "packers/verify/file_sums.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "core/error.h"
#include "loaders/packed/shard_files.h"
#include "packers/output/file_sum.h"

namespace feedline {
namespace {

std::string reason(const std::string& what, int error_number) {
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
        files.push_back({path + (inside ? "/" + std::string(kDataInDirectory) : ""), shard.crc32c, shard.bytes, i});
        files.push_back({path + std::string(kSidecarSuffix), shard.sidecar_crc32c, {}, i});
        if (shard.index_crc32c) files.push_back({path + std::string(kIndexSuffix), *shard.index_crc32c, {}, i});
    }
    return files;
}

bool check_file(const ExpectedFile& file, Findings& findings, std::atomic<std::uint64_t>& bytes_read,
                const Interrupt& interrupt) {
    FileSum sum;
    try {
        sum = sum_of_file(file.path, [&](std::uint64_t bytes) {
            bytes_read.fetch_add(bytes, std::memory_order_relaxed);
            if (interrupt.requested()) throw Error(ErrorKind::interrupted, "interrupted");
        });
    } catch (const Error& error) {
        if (error.kind() == ErrorKind::interrupted) throw;
        const bool missing = error.error_number() == ENOENT;
        findings.add({missing ? "a file is missing" : reason(error.message(), error.error_number()), file.path,
                      error.offset_bytes(), ""});
        return false;
    }
    if (file.bytes && sum.bytes != *file.bytes) {
        findings.add({fmt::format("a file has {} bytes, and had {}", sum.bytes, *file.bytes), file.path,
                      std::min(sum.bytes, *file.bytes), ""});
        return false;
    }
    if (sum.crc32c == file.crc32c) return true;
    findings.add({"the checksum of a file does not match", file.path, {}, ""});
    return false;
}

}  // namespace feedline
