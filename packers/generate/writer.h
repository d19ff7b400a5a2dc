// Writes the files of a dataset below one directory, with threads.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>

#include "core/interrupt.h"
#include "packers/generate/content.h"
#include "packers/generate/generate.h"
#include "packers/generate/layout.h"
#include "packers/generate/sizes.h"

namespace feedline {

// One run. Work is handed out in units, a run of files of one class each, in an order that keeps the threads in
// different directories: creating files in one directory is serial in the kernel.
//
// The disk works while files are made: a thread of its own flushes the filesystem each time another kFlushBytes are
// written. Flushing file by file instead would cost a small file a request to the disk, where the kernel joins
// neighbours.
class DatasetWriter {
public:
    // The references must live as long as the writer.
    DatasetWriter(const GenerateOptions& options, const DatasetLayout& layout, const SizeModel& sizes, int root_fd,
                  std::string root_path, const Interrupt& interrupt);

    // Returns when every file is on disk. Throws the first error of any thread, or Error{interrupted}.
    GenerateResult run(const std::function<void(const GenerateProgress&)>& progress);

private:
    void produce();
    void write_unit(ContentSource& content, std::uint64_t unit);
    std::uint64_t write_file(ContentSource& content, int directory_fd, const std::string& directory,
                             const std::string& name, std::uint64_t sample);
    void count(std::uint64_t bytes);
    void flush_behind(const std::stop_token& token);
    void flush();
    void guard(const std::function<void()>& work);
    bool stopping() const { return stop_.load(std::memory_order_relaxed) || interrupt_.requested(); }

    const GenerateOptions& options_;
    const DatasetLayout& layout_;
    const SizeModel& sizes_;
    int root_fd_;
    std::string root_path_;
    const Interrupt& interrupt_;
    std::uint64_t unit_samples_;
    std::uint64_t units_;

    std::atomic<std::uint64_t> next_unit_{0};
    std::atomic<std::uint64_t> files_{0};
    std::atomic<std::uint64_t> bytes_{0};
    std::atomic<bool> stop_{false};

    std::mutex mutex_;
    std::condition_variable producer_done_;
    std::condition_variable_any flush_wanted_;
    unsigned producing_ = 0;
    bool flush_due_ = false;
    std::exception_ptr first_error_;
};

}  // namespace feedline
