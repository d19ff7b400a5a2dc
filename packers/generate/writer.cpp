#include "packers/generate/writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/fd.h"
#include "packers/output/free_space.h"

namespace feedline {
namespace {

// Small enough that little is left to flush at the end, when nothing else happens and nothing can be interrupted; large
// enough that the journal commits are few.
constexpr std::uint64_t kFlushBytes = 64U << 20U;
// A unit should take a good part of a second at most, so that the threads end together, and hold enough files to make
// opening its directory cheap.
constexpr std::uint64_t kUnitBytes = 32U << 20U;
constexpr std::uint64_t kUnitSamples = 1024;
constexpr std::chrono::milliseconds kProgressInterval{100};
constexpr std::string_view kWhenFull = "What was written is removed again";

}  // namespace

DatasetWriter::DatasetWriter(const GenerateOptions& options, const DatasetLayout& layout, const SizeModel& sizes,
                             int root_fd, std::string root_path, const Interrupt& interrupt)
    : options_(options),
      layout_(layout),
      sizes_(sizes),
      root_fd_(root_fd),
      root_path_(std::move(root_path)),
      interrupt_(interrupt),
      unit_samples_(std::clamp<std::uint64_t>(kUnitBytes / options.sample_size_bytes, 1, kUnitSamples)),
      units_((layout.largest_class_samples() + unit_samples_ - 1) / unit_samples_ * layout.classes()) {}

GenerateResult DatasetWriter::run(const std::function<void(const GenerateProgress&)>& progress) {
    const unsigned wanted =
        options_.threads != 0 ? options_.threads : std::max(1U, std::thread::hardware_concurrency());
    const auto threads = static_cast<unsigned>(std::min<std::uint64_t>(wanted, units_));
    const auto report = [&] {
        if (progress) progress({files_.load(), bytes_.load()});
    };
    {
        // Stopped and joined last, when the producers are done; also when a thread cannot be started.
        const std::jthread flusher([this](const std::stop_token& token) { guard([&] { flush_behind(token); }); });
        std::vector<std::jthread> producers;
        producing_ = threads;
        for (unsigned i = 0; i < threads; ++i) {
            producers.emplace_back([this] {
                guard([this] { produce(); });
                const std::lock_guard lock(mutex_);
                if (--producing_ == 0) producer_done_.notify_all();
            });
        }
        std::unique_lock lock(mutex_);
        while (!producer_done_.wait_for(lock, kProgressInterval, [this] { return producing_ == 0; })) {
            lock.unlock();
            report();
            lock.lock();
        }
    }
    if (first_error_) std::rethrow_exception(first_error_);
    const auto heed_interrupt = [&] {
        if (interrupt_.requested())
            throw Error(ErrorKind::interrupted, "interrupted; what was written is removed again");
    };
    heed_interrupt();
    flush();
    report();
    heed_interrupt();
    return {files_.load(), bytes_.load(), layout_.classes()};
}

// Runs `work`; the first failure of any thread is kept and stops the others.
void DatasetWriter::guard(const std::function<void()>& work) {
    try {
        work();
    } catch (...) {
        stop_.store(true, std::memory_order_relaxed);
        const std::lock_guard lock(mutex_);
        if (!first_error_) first_error_ = std::current_exception();
    }
}

void DatasetWriter::produce() {
    const std::unique_ptr<ContentSource> content = make_content(options_.content, options_.seed);
    while (!stopping()) {
        const std::uint64_t unit = next_unit_.fetch_add(1, std::memory_order_relaxed);
        if (unit >= units_) return;
        write_unit(*content, unit);
    }
}

void DatasetWriter::write_unit(ContentSource& content, std::uint64_t unit) {
    const std::uint64_t class_number = unit % layout_.classes();
    const std::uint64_t class_first = layout_.first_sample(class_number);
    const std::uint64_t class_end = layout_.first_sample(class_number + 1);
    const std::uint64_t first = class_first + unit / layout_.classes() * unit_samples_;
    const std::uint64_t end = std::min(first + unit_samples_, class_end);
    if (first >= end) return;

    const std::string directory = layout_.class_name(class_number);
    const auto path = [&] { return root_path_ + "/" + directory; };
    // Another thread may have come first, with another unit of this class.
    if (::mkdirat(root_fd_, directory.c_str(), 0777) != 0 && errno != EEXIST) {
        throw cannot_write(errno, path(), 0, kWhenFull);
    }
    const Fd directory_fd(::openat(root_fd_, directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!directory_fd) throw system_error(errno, "cannot open directory", path());
    for (std::uint64_t sample = first; sample < end && !stopping(); ++sample) {
        const std::string name = layout_.file_name(class_number, sample - class_first);
        count(write_file(content, directory_fd.get(), directory, name, sample));
    }
}

// Returns the bytes written: less than the sample's size when the run is being stopped.
std::uint64_t DatasetWriter::write_file(ContentSource& content, int directory_fd, const std::string& directory,
                                        const std::string& name, std::uint64_t sample) {
    const std::uint64_t size_bytes = sizes_.size_bytes(sample);
    std::uint64_t written = 0;
    const auto fail = [&](int error_number) {
        return cannot_write(error_number, root_path_ + "/" + directory + "/" + name, written, kWhenFull);
    };
    const Fd file(::openat(directory_fd, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (!file) throw fail(errno);
    content.start(sample, size_bytes);
    while (!stopping()) {
        std::span<const std::byte> piece = content.next_piece();
        if (piece.empty()) break;
        while (!piece.empty()) {
            const ssize_t n = ::write(file.get(), piece.data(), piece.size());
            if (n < 0 && errno == EINTR) continue;
            if (n < 0) throw fail(errno);
            piece = piece.subspan(static_cast<std::size_t>(n));
            written += static_cast<std::uint64_t>(n);
        }
    }
    return written;
}

void DatasetWriter::count(std::uint64_t bytes) {
    files_.fetch_add(1, std::memory_order_relaxed);
    const std::uint64_t before = bytes_.fetch_add(bytes, std::memory_order_relaxed);
    if (before / kFlushBytes == (before + bytes) / kFlushBytes) return;
    const std::lock_guard lock(mutex_);
    flush_due_ = true;
    flush_wanted_.notify_one();
}

void DatasetWriter::flush_behind(const std::stop_token& token) {
    std::unique_lock lock(mutex_);
    while (flush_wanted_.wait(lock, token, [this] { return flush_due_; })) {
        flush_due_ = false;
        lock.unlock();
        flush();
        lock.lock();
    }
}

void DatasetWriter::flush() {
    if (::syncfs(root_fd_) != 0) throw cannot_write(errno, root_path_, 0, kWhenFull);
}

}  // namespace feedline
