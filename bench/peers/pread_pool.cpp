// A pool of threads that open, read and close one file after the other: what most loaders do.
//
// --open path reads by full path, openat by name below an open directory. --size known reads the length that the index
// holds in one call; eof asks fstat and reads until there is no more, as general-purpose code does.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "bench/peers/peer.h"

using feedline::peers::fail;
using feedline::peers::File;

namespace {

void read_known(int fd, const File& file, std::byte* destination) {
    std::uint64_t done = 0;
    while (done < file.bytes) {
        const ssize_t n = pread(fd, destination + done, file.bytes - done, static_cast<off_t>(done));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) fail("cannot read all of", file.path, n < 0 ? errno : ENODATA);
        done += static_cast<std::uint64_t>(n);
    }
}

void read_to_end(int fd, const File& file, std::byte* destination, std::uint64_t room) {
    struct stat status {};
    if (fstat(fd, &status) != 0) fail("cannot stat", file.path, errno);
    std::uint64_t done = 0;
    while (done < room) {
        const ssize_t n = read(fd, destination + done, room - done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) fail("cannot read", file.path, errno);
        if (n == 0) break;
        done += static_cast<std::uint64_t>(n);
    }
    if (done != static_cast<std::uint64_t>(status.st_size)) fail("changed while it was read", file.path, EAGAIN);
}

}  // namespace

int main(int argc, char** argv) {
    const auto arguments = feedline::peers::parse_arguments(argc, argv);
    const auto list = feedline::peers::list_files(arguments.folder, arguments.seed);

    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    std::vector<int> directories;
    for (const auto& path : list.directories) {
        directories.push_back(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        if (directories.back() < 0) fail("cannot open", path, errno);
    }

    // Each thread has its part of the slab and goes round in it.
    const std::uint64_t part = arguments.slab_bytes / arguments.threads;
    if (list.max_bytes + 1 > part) fail("the slab is too small for", arguments.folder, ENOMEM);
    std::byte* const slab = feedline::peers::make_slab(arguments.slab_bytes);
    struct alignas(64) Cursor {
        std::uint64_t bytes = 0;
    };
    std::vector<Cursor> cursors(arguments.threads);

    const bool by_path = arguments.open == "path";
    const bool known = arguments.size == "known";
    feedline::peers::run_and_report(arguments, list, [&](unsigned thread, std::size_t index) {
        const File& file = list.files[index];
        const int fd = by_path ? open(file.path.c_str(), O_RDONLY | O_CLOEXEC)
                               : openat(directories[file.directory], file.name.c_str(), O_RDONLY | O_CLOEXEC);
        if (fd < 0) fail("cannot open", file.path, errno);
        std::uint64_t& cursor = cursors[thread].bytes;
        if (cursor + file.bytes + 1 > part) cursor = 0;
        std::byte* const destination = slab + thread * part + cursor;
        if (known) {
            read_known(fd, file, destination);
        } else {
            read_to_end(fd, file, destination, part - cursor);
        }
        cursor += file.bytes;
        close(fd);
    });
    return 0;
}
