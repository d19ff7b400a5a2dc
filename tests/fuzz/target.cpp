#include "tests/fuzz/target.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "core/error.h"

namespace feedline {

void report(std::string_view what) {
    fmt::print(stderr, "finding: {}\n", what);
    std::abort();
}

MemoryFile::MemoryFile(std::span<const std::byte> content) : fd_(memfd_create("input", MFD_CLOEXEC)) {
    if (!fd_) report("no file in memory");
    for (std::size_t done = 0; done < content.size();) {
        const ssize_t wrote = write(fd_.get(), content.data() + done, content.size() - done);
        if (wrote <= 0) report("no file in memory");
        done += static_cast<std::size_t>(wrote);
    }
    path_ = fmt::format("/proc/self/fd/{}", fd_.get());
}

void expect_answer_or_error(const std::function<void()>& work) {
    try {
        work();
    } catch (const Error& error) {
        if (error.kind() == ErrorKind::internal) report(error.what());
    }
}

void read_everything(const Dataset& dataset, ReadBy by) {
    constexpr SampleId kMostSamples = 4096;
    constexpr std::uint64_t kMostBytes = 16U << 20U;
    const std::unique_ptr<NativeReader> reader = by == ReadBy::extents ? nullptr : dataset.native_reader();
    std::vector<std::byte> record;
    std::vector<std::byte> again;
    std::uint64_t bytes = 0;
    for (SampleId id = 0; id < dataset.size() && id < kMostSamples && bytes < kMostBytes; ++id) {
        Extent extent;
        dataset.locate(std::span(&id, 1), std::span(&extent, 1));
        if (extent.length_bytes > dataset.info().max_length_bytes) report("a sample longer than the longest");
        if (extent.shard >= dataset.info().shards) report("a sample of no shard");
        if (dataset.has_extents() && extent.length_bytes > std::filesystem::file_size(dataset.path(extent.shard))) {
            report("a sample longer than its shard");
        }
        static_cast<void>(dataset.key(id));
        bytes += extent.length_bytes;
        if (bytes > kMostBytes) break;
        record.resize(extent.length_bytes);
        if (reader != nullptr) {
            const std::int64_t got = reader->read(id, extent, record);
            if (got > static_cast<std::int64_t>(record.size())) report("more bytes than there is room for");
            if (got != static_cast<std::int64_t>(record.size())) continue;
        }
        if (dataset.has_extents()) {
            const Fd fd(open(dataset.path(extent.shard).c_str(), O_RDONLY | O_CLOEXEC));
            again.resize(record.size());
            const ssize_t got = pread(fd.get(), again.data(), again.size(), static_cast<off_t>(extent.offset_bytes));
            if (got != static_cast<ssize_t>(again.size())) report("an extent beyond the file");
            if (reader != nullptr && again != record) report("the reader and the extent differ");
            record.swap(again);
        }
        static_cast<void>(dataset.label(id));
        for (const Part& part : dataset.views(id, record).parts) {
            if (part.bytes.size() > record.size()) report("a part larger than its record");
        }
        static_cast<void>(dataset.payload(id, record));
        static_cast<void>(dataset.check(id, record));
    }
}

void fuzz_format(const Format& format, std::span<const std::byte> input, ReadBy by) {
    const MemoryFile file(input);
    for (const bool skip_corrupt : {false, true}) {
        expect_answer_or_error([&] {
            static_cast<void>(format.probe(file.path()));
            read_everything(*format.open(file.path(), {.threads = 1, .skip_corrupt = skip_corrupt}), by);
        });
    }
}

}  // namespace feedline
