#include "loaders/files/scan.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <set>
#include <string_view>
#include <thread>

#include "core/clock.h"
#include "core/error.h"
#include "core/fd.h"
#include "loaders/files/file_batch.h"
#include "loaders/files/open_below.h"

namespace feedline {
namespace {

// A directory of more files is cut into batches of so many, whose lengths several threads may ask for.
constexpr std::size_t kBatchFiles = 4096;
constexpr std::size_t kReadBufferBytes = 65536;
constexpr unsigned kFilesBetweenReports = 256;
constexpr Nanoseconds kReportIntervalNs = 100'000'000;

// A directory whose batches are worked on by several threads.
struct SharedDirectory {
    ScannedDirectory* directory = nullptr;
    Fd fd;
    std::vector<std::unique_ptr<FileBatch>> batches;  // written by the thread that reads the directory
    std::atomic<std::size_t> unfinished{1};           // batches, and one for the reader
};

struct Job {
    ScannedDirectory* directory = nullptr;    // to be read, or
    std::shared_ptr<SharedDirectory> shared;  // a batch
    FileBatch* batch = nullptr;               // to be asked for lengths
};

// A link to a directory, found below the first level.
struct DirectoryLink {
    ScannedDirectory* parent;
    std::string name;
    DirectoryIdentity target;
};

struct FoundDirectory {
    std::string name;
    bool is_link;
    DirectoryIdentity target;  // of a link
};

struct Worker {
    std::vector<char> buffer = std::vector<char>(kReadBufferBytes);
    FileBatch batch;
    std::vector<FileBatch::SortKey> sort_keys;
    OddityCounter oddities;
    std::uint64_t unreported = 0;
};

DirectoryIdentity identity_of(const struct stat& st) {
    return {st.st_dev, st.st_ino};
}

std::string_view kind_of_special(mode_t mode) {
    if (S_ISSOCK(mode)) return "socket";
    if (S_ISFIFO(mode)) return "named pipe";
    if (S_ISCHR(mode) || S_ISBLK(mode)) return "device file";
    return "file of unknown type";
}

std::string_view kind_of_special(unsigned char directory_entry_type) {
    return kind_of_special(static_cast<mode_t>(DTTOIF(directory_entry_type)));
}

// The oddity that a failed look-up is, or nothing where the failure is the system's and the scan must end.
std::string_view kind_of_failure(int error_number, bool is_link) {
    switch (error_number) {
        case ENOENT:
        case ENOTDIR: return is_link ? "dangling link" : "vanished while indexing";
        case ELOOP: return "link loop";
        case EACCES:
        case EPERM: return is_link ? "link to an unreadable place" : "file in a directory without search permission";
        case ENAMETOOLONG: return is_link ? "dangling link" : "";
        default: return "";
    }
}

class Scanner {
public:
    Scanner(int root_fd, const std::string& root_path, const ScanOptions& options)
        : root_fd_(root_fd), root_path_(root_path), options_(options) {}

    ScannedTree run();

private:
    void work_off_queue();
    void work(Worker& worker);
    void do_job(const Job& job, Worker& worker);
    void push(Job job);

    Fd open(const ScannedDirectory& directory, Worker& worker);
    void read_directory(ScannedDirectory& directory, Worker& worker);
    FileBatch* hand_over(ScannedDirectory& directory, Fd& fd, std::shared_ptr<SharedDirectory>& shared, Worker& worker);
    void sort_entry(const ScannedDirectory& directory, int fd, const dirent64& entry, FileBatch& batch,
                    std::vector<FoundDirectory>& found, Worker& worker);
    void measure(ScannedDirectory& directory, int fd, FileBatch& batch, Worker& worker);
    void add_directories(ScannedDirectory& parent, std::vector<FoundDirectory> found, Worker& worker);
    void add_child(ScannedDirectory& parent, std::string name, bool is_link);  // mutex_ held
    void finish_batch(SharedDirectory& shared) const;
    bool accept_links();

    void report(Worker& worker);
    std::string full_path(const ScannedDirectory& directory, std::string_view name = {}) const {
        return root_path_ + "/" + relative_path(directory, name);
    }

    const int root_fd_;
    const std::string root_path_;
    const ScanOptions options_;

    ScannedTree tree_;  // directories: grown under mutex_
    DirectoryIdentity root_identity_;
    // Directories indexed in earlier rounds; read-only while a round runs. See accept_links().
    std::set<DirectoryIdentity> known_;
    std::size_t known_directories_ = 0;

    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Job> queue_;              // last in, first out: a small queue and warm directory entries
    std::size_t unfinished_ = 0;          // jobs queued or at work
    std::vector<DirectoryLink> waiting_;  // links for the next round
    std::exception_ptr failure_;

    std::mutex progress_mutex_;
    std::atomic<std::uint64_t> files_{0};
    std::atomic<Nanoseconds> next_report_ns_{0};
};

ScannedTree Scanner::run() {
    struct stat st {};
    if (fstat(root_fd_, &st) != 0) throw system_error(errno, "cannot examine", root_path_);
    root_identity_ = identity_of(st);
    tree_.directories.emplace_back();
    known_.insert(root_identity_);
    push({&tree_.directories.front(), nullptr, nullptr});
    do {
        work_off_queue();
    } while (accept_links());
    for (ScannedDirectory& directory : tree_.directories) {
        std::sort(directory.children.begin(), directory.children.end(),
                  [](const ScannedDirectory* a, const ScannedDirectory* b) { return a->name < b->name; });
    }
    return std::move(tree_);
}

void Scanner::work_off_queue() {
    std::vector<Worker> workers(std::max(1U, options_.threads));
    std::vector<std::thread> threads;
    for (std::size_t i = 1; i < workers.size(); ++i) threads.emplace_back([this, &workers, i] { work(workers[i]); });
    work(workers[0]);
    for (std::thread& thread : threads) thread.join();
    if (failure_) std::rethrow_exception(failure_);
    for (const Worker& worker : workers) tree_.oddities.merge(worker.oddities);
}

void Scanner::work(Worker& worker) {
    for (;;) {
        Job job;
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [&] { return failure_ || !queue_.empty() || unfinished_ == 0; });
            if (failure_ || queue_.empty()) return;
            job = std::move(queue_.back());
            queue_.pop_back();
        }
        std::exception_ptr failure;
        try {
            do_job(job, worker);
        } catch (...) {
            failure = std::current_exception();
        }
        const std::lock_guard lock(mutex_);
        if (failure && !failure_) failure_ = failure;
        if (--unfinished_ == 0 || failure_) changed_.notify_all();
    }
}

void Scanner::do_job(const Job& job, Worker& worker) {
    if (job.batch == nullptr) {
        read_directory(*job.directory, worker);
        return;
    }
    measure(*job.shared->directory, job.shared->fd.get(), *job.batch, worker);
    finish_batch(*job.shared);
}

void Scanner::push(Job job) {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(job));
    ++unfinished_;
    changed_.notify_one();
}

Fd Scanner::open(const ScannedDirectory& directory, Worker& worker) {
    if (directory.parent == nullptr) {
        // Not reopened: a root that may be read but not searched still lists its names.
        Fd fd(fcntl(root_fd_, F_DUPFD_CLOEXEC, 0));
        if (!fd || lseek(fd.get(), 0, SEEK_SET) != 0) throw system_error(errno, "cannot read directory", root_path_);
        return fd;
    }
    Fd fd(open_directory_below(root_fd_, relative_path(directory)));
    if (fd) return fd;
    const int error_number = errno;
    if (error_number == EACCES || error_number == EPERM) {
        worker.oddities.add("unreadable directory", relative_path(directory));
    } else if (error_number == ENOENT || error_number == ENOTDIR) {
        worker.oddities.add("vanished while indexing", relative_path(directory));
    } else if (error_number == ELOOP) {
        worker.oddities.add("link loop", relative_path(directory));
    } else {
        throw system_error(error_number, "cannot open directory", full_path(directory));
    }
    return {};
}

void Scanner::read_directory(ScannedDirectory& directory, Worker& worker) {
    Fd fd = open(directory, worker);
    if (!fd) return;
    const int directory_fd = fd.get();  // also after fd has moved to the shared directory
    if (directory.parent != nullptr) {
        struct stat st {};
        if (fstat(directory_fd, &st) != 0) throw system_error(errno, "cannot examine directory", full_path(directory));
        directory.identity = identity_of(st);
        if (!directory.is_link && known_.contains(directory.identity)) {
            worker.oddities.add("directory reached twice", relative_path(directory));
            return;
        }
    } else {
        directory.identity = root_identity_;
    }
    directory.was_read = true;

    std::shared_ptr<SharedDirectory> shared;
    FileBatch* batch = &worker.batch;
    batch->clear();
    std::vector<FoundDirectory> found;
    for (;;) {
        const ssize_t bytes = getdents64(directory_fd, worker.buffer.data(), worker.buffer.size());
        if (bytes < 0 && errno == ENOENT) {
            worker.oddities.add("vanished while indexing", relative_path(directory));
            break;
        }
        if (bytes < 0) throw system_error(errno, "cannot read directory", full_path(directory));
        if (bytes == 0) break;
        for (ssize_t at = 0; at < bytes;) {
            const auto* entry = reinterpret_cast<const dirent64*>(worker.buffer.data() + at);
            at += entry->d_reclen;
            if (batch->entries.size() == kBatchFiles) batch = hand_over(directory, fd, shared, worker);
            sort_entry(directory, directory_fd, *entry, *batch, found, worker);
        }
    }
    add_directories(directory, std::move(found), worker);
    measure(directory, directory_fd, *batch, worker);
    if (shared) {
        finish_batch(*shared);
    } else {
        directory.files = merge({batch});
    }
}

// Queues the batch that is full for any thread to measure, and begins another. The first time it also makes what the
// threads share.
FileBatch* Scanner::hand_over(ScannedDirectory& directory, Fd& fd, std::shared_ptr<SharedDirectory>& shared,
                              Worker& worker) {
    if (!shared) {
        shared = std::make_shared<SharedDirectory>();
        shared->directory = &directory;
        shared->fd = std::move(fd);
        shared->batches.push_back(std::make_unique<FileBatch>(std::move(worker.batch)));
    }
    shared->unfinished.fetch_add(1, std::memory_order_relaxed);
    push({nullptr, shared, shared->batches.back().get()});
    shared->batches.push_back(std::make_unique<FileBatch>());
    shared->batches.back()->entries.reserve(kBatchFiles);
    return shared->batches.back().get();
}

void Scanner::sort_entry(const ScannedDirectory& directory, int fd, const dirent64& entry, FileBatch& batch,
                         std::vector<FoundDirectory>& found, Worker& worker) {
    const char* name = entry.d_name;
    const unsigned char type = options_.distrust_types ? static_cast<unsigned char>(DT_UNKNOWN) : entry.d_type;
    if (name[0] == '.') {
        if (name[1] == '\0' || (name[1] == '.' && name[2] == '\0')) return;
        if (!options_.include_hidden) {
            struct stat st {};
            const bool is_directory =
                type == DT_DIR ||
                (type == DT_UNKNOWN && fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode));
            worker.oddities.add(is_directory ? "hidden directory" : "hidden file", relative_path(directory, name));
            return;
        }
    }
    switch (type) {
        case DT_REG: batch.add(entry.d_name, entry.d_ino, FileBatch::Hint::regular); break;
        case DT_LNK: batch.add(entry.d_name, entry.d_ino, FileBatch::Hint::link); break;
        case DT_UNKNOWN: batch.add(entry.d_name, entry.d_ino, FileBatch::Hint::unknown); break;
        case DT_DIR: found.push_back({name, false, {}}); break;
        default: worker.oddities.add(kind_of_special(type), relative_path(directory, name));
    }
}

// Asks for the length of every file of the batch, drops what is no file, sorts what is.
void Scanner::measure(ScannedDirectory& directory, int fd, FileBatch& batch, Worker& worker) {
    batch.sort_by_inode();
    std::vector<FoundDirectory> found;
    std::size_t kept = 0;
    std::uint64_t empty = 0;
    const char* first_empty = nullptr;
    for (std::size_t i = 0; i < batch.entries.size(); ++i) {
        FileBatch::Entry entry = batch.entries[i];
        const char* name = batch.name(entry);
        struct stat st {};
        bool is_link = entry.hint() == FileBatch::Hint::link;
        int failed = fstatat(fd, name, &st, is_link ? 0 : AT_SYMLINK_NOFOLLOW);
        if (failed == 0 && S_ISLNK(st.st_mode)) {
            is_link = true;
            failed = fstatat(fd, name, &st, 0);
        }
        if (failed != 0) {
            const int error_number = errno;
            const std::string_view kind = kind_of_failure(error_number, is_link);
            if (kind.empty()) throw system_error(error_number, "cannot examine", full_path(directory, name));
            worker.oddities.add(kind, relative_path(directory, name));
            continue;
        }
        if (S_ISREG(st.st_mode)) {
            const auto length = static_cast<std::uint64_t>(st.st_size);
            if (length == 0 && (empty++ == 0 || std::strcmp(name, first_empty) < 0)) first_empty = name;
            batch.set_length(entry, length);
            batch.entries[kept++] = entry;
            if (++worker.unreported == kFilesBetweenReports) report(worker);
        } else if (S_ISDIR(st.st_mode)) {
            found.push_back({name, is_link, identity_of(st)});
        } else {
            worker.oddities.add(kind_of_special(st.st_mode), relative_path(directory, name));
        }
    }
    batch.entries.resize(kept);
    if (empty != 0) worker.oddities.add("empty file", relative_path(directory, first_empty), empty);
    batch.sort_by_name(worker.sort_keys);
    report(worker);
    add_directories(directory, std::move(found), worker);
}

void Scanner::add_directories(ScannedDirectory& parent, std::vector<FoundDirectory> found, Worker& worker) {
    if (found.empty()) return;
    const std::lock_guard lock(mutex_);
    for (FoundDirectory& item : found) {
        if (!item.is_link) {
            add_child(parent, std::move(item.name), false);
        } else if (item.target == root_identity_) {
            worker.oddities.add("link loop", relative_path(parent, item.name));
        } else if (parent.parent == nullptr) {
            add_child(parent, std::move(item.name), true);
        } else {
            waiting_.push_back({&parent, std::move(item.name), item.target});
        }
    }
    changed_.notify_all();
}

void Scanner::add_child(ScannedDirectory& parent, std::string name, bool is_link) {
    ScannedDirectory& child = tree_.directories.emplace_back();
    child.parent = &parent;
    child.is_link = is_link;
    child.name = std::move(name);
    parent.children.push_back(&child);
    queue_.push_back({&child, nullptr, nullptr});
    ++unfinished_;
}

// The last one to finish a batch of a directory joins them all.
void Scanner::finish_batch(SharedDirectory& shared) const {
    if (shared.unfinished.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    std::vector<const FileBatch*> batches;
    batches.reserve(shared.batches.size());
    for (const auto& batch : shared.batches) batches.push_back(batch.get());
    try {
        shared.directory->files = merge(batches);
    } catch (Error& error) {
        throw std::move(error).at(full_path(*shared.directory));
    }
}

// Links to directories. One directly below the root is a class and always followed. Those further down are followed in
// rounds, each when all of the round before is indexed: a link to a directory that is already there is not followed,
// so loops end and a mesh of links costs no more than the directories in it; what waits is sorted first, so that of
// two links to one directory the same one wins every time.
bool Scanner::accept_links() {
    if (waiting_.empty()) return false;
    for (; known_directories_ < tree_.directories.size(); ++known_directories_) {
        const ScannedDirectory& directory = tree_.directories[known_directories_];
        if (directory.was_read) known_.insert(directory.identity);
    }
    std::vector<std::pair<std::string, DirectoryLink>> links;
    links.reserve(waiting_.size());
    for (DirectoryLink& link : waiting_) {
        std::string path = relative_path(*link.parent, link.name);
        links.emplace_back(std::move(path), std::move(link));
    }
    waiting_.clear();
    std::sort(links.begin(), links.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    const std::lock_guard lock(mutex_);
    for (auto& [path, link] : links) {
        if (known_.insert(link.target).second) {
            add_child(*link.parent, std::move(link.name), true);
            continue;
        }
        bool is_ancestor = false;
        for (const ScannedDirectory* up = link.parent; up != nullptr; up = up->parent) {
            is_ancestor = is_ancestor || up->identity == link.target;
        }
        tree_.oddities.add(is_ancestor ? "link loop" : "directory reached twice", path);
    }
    return !queue_.empty();
}

void Scanner::report(Worker& worker) {
    if (worker.unreported == 0) return;
    const std::uint64_t files = files_.fetch_add(worker.unreported, std::memory_order_relaxed) + worker.unreported;
    worker.unreported = 0;
    if (options_.progress == nullptr) return;
    const Nanoseconds now = now_ns();
    if (now < next_report_ns_.load(std::memory_order_relaxed)) return;
    const std::unique_lock lock(progress_mutex_, std::try_to_lock);
    if (!lock) return;
    next_report_ns_.store(now + kReportIntervalNs, std::memory_order_relaxed);
    options_.progress(files, options_.progress_context);
}

}  // namespace

std::string relative_path(const ScannedDirectory& directory, std::string_view name) {
    std::vector<std::string_view> parts;
    if (!name.empty()) parts.push_back(name);
    std::size_t bytes = name.size();
    for (const ScannedDirectory* up = &directory; up->parent != nullptr; up = up->parent) {
        parts.emplace_back(up->name);
        bytes += up->name.size() + 1;
    }
    std::string path;
    path.reserve(bytes);
    for (std::size_t i = parts.size(); i-- > 0;) {
        if (!path.empty()) path += '/';
        path += parts[i];
    }
    return path;
}

ScannedTree scan_tree(int root_fd, const std::string& root_path, const ScanOptions& options) {
    return Scanner(root_fd, root_path, options).run();
}

}  // namespace feedline
