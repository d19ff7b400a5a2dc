#include "bench/outputs.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <optional>
#include <system_error>

#include "core/error.h"

namespace feedline {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(std::string why) {
    throw Error(ErrorKind::usage, std::move(why));
}

// Where it will be written, by one name for each file.
fs::path resolved(const std::string& path) {
    const fs::path file(written_file(path));
    std::error_code error;
    fs::path directory = fs::weakly_canonical(file.parent_path().empty() ? "." : file.parent_path(), error);
    if (error) directory = file.parent_path();
    return directory / file.filename();
}

struct Identity {
    dev_t device;
    ino_t inode;
    bool operator==(const Identity& other) const { return device == other.device && inode == other.inode; }
};

std::optional<struct stat> status_of(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return std::nullopt;
    return status;
}

Identity identity_of(const struct stat& status) {
    return {status.st_dev, status.st_ino};
}

bool same_file(const std::string& a, const std::string& b) {
    if (is_standard_output(a) && is_standard_output(b)) return true;
    if (is_standard_output(a) || is_standard_output(b)) return false;
    if (resolved(a) == resolved(b)) return true;
    const auto of_a = status_of(a);
    const auto of_b = status_of(b);
    return of_a && of_b && identity_of(*of_a) == identity_of(*of_b);
}

bool is_inside(const fs::path& path, const fs::path& directory) {
    const auto [rest, unused] = std::mismatch(directory.begin(), directory.end(), path.begin(), path.end());
    return rest == directory.end();
}

void check_place(const Output& output) {
    const std::string& path = output.path;
    const auto status = status_of(path);
    const bool special = status && !S_ISREG(status->st_mode);
    if (status && S_ISDIR(status->st_mode)) {
        refuse(fmt::format("{}: {} is a directory, and a file was expected", output.asked_by, printable(path)));
    }
    const fs::path file(written_file(path));
    // Written under a longer name first; see OutputFile.
    constexpr std::size_t kLongestSuffix = sizeof(".4194304.tmp") - 1;
    if (!special) {
        const std::string name = file.filename().string();
        if (name.size() + kLongestSuffix > NAME_MAX) {
            refuse(fmt::format("{}: this file name is longer than {} bytes: {}", output.asked_by,
                               NAME_MAX - kLongestSuffix, printable(name)));
        }
    }
    const std::string directory = file.parent_path().string();
    const std::string place = special ? path : directory.empty() ? "." : directory;
    const bool takes_it_itself = status.has_value() && ::access(path.c_str(), W_OK) == 0;
    if (::access(place.c_str(), W_OK) != 0 && !takes_it_itself) {
        throw Error(ErrorKind::usage, fmt::format("{}: cannot write", output.asked_by)).at(place).because(errno);
    }
}

[[noreturn]] void refuse_inside(const Output& output, const std::string& dataset) {
    throw Error(ErrorKind::usage, fmt::format("{}: {} is part of the dataset that is to be measured", output.asked_by,
                                              printable(output.path)))
        .at(dataset)
        .advise("write it elsewhere");
}

bool is_file_of(const Identity& file, const Dataset& dataset, ShardId shard, std::string& scratch) {
    const Source source = dataset.source(shard, scratch);
    struct stat status {};
    const int failed = source.fd >= 0 ? ::fstat(source.fd, &status) : ::fstatat(source.dir_fd, source.name, &status, 0);
    return failed == 0 && identity_of(status) == file;
}

}  // namespace

std::vector<Output> outputs_of(const BenchOptions& options) {
    std::vector<Output> outputs;
    if (!options.json_file.empty()) outputs.push_back({"--json", options.json_file, true});
    if (!options.csv_file.empty()) outputs.push_back({"--csv", options.csv_file, false});
    if (!options.result_file.empty()) outputs.push_back({"FEEDLINE_RESULT_FILE", options.result_file, true});
    return outputs;
}

void check_outputs(std::span<const Output> outputs, std::span<const DatasetArgument> datasets) {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        const Output& output = outputs[i];
        for (const Output& earlier : outputs.first(i)) {
            if (!same_file(earlier.path, output.path)) continue;
            const bool to_stdout = is_standard_output(output.path);
            // The same result twice in one file is the same file.
            if (earlier.json && output.json && !to_stdout) continue;
            refuse(fmt::format("{} and {} both go to {}; give one of them another place", earlier.asked_by,
                               output.asked_by,
                               to_stdout ? "standard output" : "the same file, " + printable(output.path)));
        }
        if (is_standard_output(output.path)) continue;
        check_place(output);
        for (const DatasetArgument& dataset : datasets) {
            std::error_code error;
            const fs::path directory = fs::canonical(dataset.path, error);
            if (!error && is_inside(resolved(output.path), directory)) refuse_inside(output, directory.string());
        }
    }
}

void check_outputs_against(std::span<const Output> outputs, const Dataset& dataset) {
    const DatasetInfo& info = dataset.info();
    for (const Output& output : outputs) {
        const auto status = is_standard_output(output.path) ? std::nullopt : status_of(output.path);
        if (!status || !S_ISREG(status->st_mode)) continue;
        const Identity file = identity_of(*status);
        std::string scratch;
        const auto check = [&](ShardId shard) {
            if (is_file_of(file, dataset, shard, scratch)) refuse_inside(output, dataset.path(shard));
        };
        if (info.shards != info.samples) {
            for (std::uint64_t shard = 0; shard < info.shards; ++shard) check(static_cast<ShardId>(shard));
            continue;
        }
        // A file a sample: only those of the same size are looked at, for there may be millions.
        constexpr std::uint64_t kAtOnce = 4096;
        std::vector<SampleId> ids;
        std::vector<Extent> extents;
        for (std::uint64_t first = 0; first < info.samples; first += kAtOnce) {
            ids.resize(std::min(kAtOnce, info.samples - first));
            extents.resize(ids.size());
            for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = first + i;
            dataset.locate(ids, extents);
            for (const Extent& extent : extents) {
                if (extent.length_bytes == static_cast<std::uint64_t>(status->st_size)) check(extent.shard);
            }
        }
    }
}

std::vector<OutputFile> open_outputs(std::span<const Output> outputs) {
    std::vector<OutputFile> files;
    files.reserve(outputs.size());
    for (const Output& output : outputs) files.emplace_back(output.asked_by, output.path);
    return files;
}

}  // namespace feedline
