#include "tests/loaders/files/tree_lab.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <stdexcept>

#include "core/fd.h"

namespace feedline::test {

std::unique_ptr<Dataset> open_files(const std::string& path, unsigned threads, bool include_hidden) {
    OpenOptions options;
    options.threads = threads;
    options.include_hidden = include_hidden;
    return open_dataset(path, "files", options);
}

std::vector<std::string> keys(const Dataset& dataset) {
    std::vector<std::string> all;
    for (SampleId id = 0; id < dataset.size(); ++id) all.push_back(dataset.key(id));
    return all;
}

std::uint64_t length_bytes(const Dataset& dataset, SampleId id) {
    Extent extent;
    dataset.locate({&id, 1}, {&extent, 1});
    return extent.length_bytes;
}

std::string content(const Dataset& dataset, SampleId id) {
    std::string scratch;
    const Source source = dataset.source(static_cast<ShardId>(id), scratch);
    const Fd fd(openat(source.dir_fd, source.name, O_RDONLY | O_CLOEXEC));
    if (!fd) throw std::runtime_error("cannot open " + dataset.key(id));
    std::string bytes(4096, '\0');
    const ssize_t got = read(fd.get(), bytes.data(), bytes.size());
    if (got < 0) throw std::runtime_error("cannot read " + dataset.key(id));
    bytes.resize(static_cast<std::size_t>(got));
    return bytes;
}

std::vector<std::string> oddities(const Dataset& dataset) {
    std::vector<std::string> all;
    for (const Oddity& oddity : dataset.info().oddities) {
        all.push_back(fmt::format("{} {}: {}", oddity.count, oddity.kind, oddity.example));
    }
    return all;
}

void make_directory(const std::string& path) {
    if (mkdir(path.c_str(), 0755) != 0) throw std::runtime_error("cannot make directory " + path);
}

void make_link(const std::string& target, const std::string& path) {
    if (symlink(target.c_str(), path.c_str()) != 0) throw std::runtime_error("cannot make link " + path);
}

AsNobody::AsNobody() : was_root_(geteuid() == 0) {
    constexpr uid_t kNobody = 65534;
    if (was_root_ && seteuid(kNobody) != 0) throw std::runtime_error("cannot give up root");
}

AsNobody::~AsNobody() {
    if (was_root_ && seteuid(0) != 0) std::terminate();
}

}  // namespace feedline::test
