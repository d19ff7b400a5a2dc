// The same bytes, already in the process's own memory, copied into the same slab: no loader that copies can be faster.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "bench/peers/peer.h"

int main(int argc, char** argv) {
    const auto arguments = feedline::peers::parse_arguments(argc, argv);
    const auto list = feedline::peers::list_files(arguments.folder, arguments.seed);
    const std::uint64_t part = arguments.slab_bytes / arguments.threads;
    if (list.max_bytes > part) feedline::peers::fail("the slab is too small for", arguments.folder, ENOMEM);

    // Files lie in memory in sorted order and are copied in shuffled order, as the page cache would be read.
    std::vector<std::size_t> sorted(list.files.size());
    for (std::size_t i = 0; i < sorted.size(); ++i) sorted[i] = i;
    std::vector<std::uint64_t> offsets(list.files.size());
    std::sort(sorted.begin(), sorted.end(),
              [&](std::size_t a, std::size_t b) { return list.files[a].path < list.files[b].path; });
    std::uint64_t end = 0;
    for (const std::size_t i : sorted) {
        offsets[i] = end;
        end += list.files[i].bytes;
    }
    const std::byte* const source = feedline::peers::make_slab(list.total_bytes);
    std::byte* const slab = feedline::peers::make_slab(arguments.slab_bytes);
    struct alignas(64) Cursor {
        std::uint64_t bytes = 0;
    };
    std::vector<Cursor> cursors(arguments.threads);

    feedline::peers::run_and_report(arguments, list, [&](unsigned thread, std::size_t index) {
        const std::uint64_t bytes = list.files[index].bytes;
        std::uint64_t& cursor = cursors[thread].bytes;
        if (cursor + bytes > part) cursor = 0;
        std::memcpy(slab + thread * part + cursor, source + offsets[index], bytes);
        cursor += bytes;
    });
    return 0;
}
