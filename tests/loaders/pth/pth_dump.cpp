// pth_dump FILE: a line for each sample of a .pth dataset, for comparison with what PyTorch says: key, label or -,
// CRC-32 of its bytes, tab-separated. The bytes are the format's own reader's, and must be the same where extents say
// they lie.
#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include "core/crc32.h"
#include "core/error.h"
#include "loaders/pth/pth_format.h"
#include "tests/loaders/pth/read_all.h"

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    try {
        const auto dataset = feedline::PthFormat().open(argv[1], {});
        for (feedline::SampleId id = 0; id < dataset->size(); ++id) {
            const std::string bytes = feedline::test::by_reader(*dataset, id);
            if (dataset->has_extents() && feedline::test::by_extent(*dataset, id) != bytes) {
                fmt::print(stderr, "{} lies elsewhere\n", dataset->key(id));
                return 1;
            }
            const std::optional<std::int64_t> label = dataset->label(id);
            fmt::print("{}\t{}\t{:08x}\n", dataset->key(id), label ? std::to_string(*label) : "-",
                       feedline::crc32(std::as_bytes(std::span(bytes))));
        }
    } catch (const feedline::Error& error) {
        fmt::print(stderr, "{}\n", error.what());
        return feedline::exit_code(error.kind());
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 1;
    }
    return 0;
}
