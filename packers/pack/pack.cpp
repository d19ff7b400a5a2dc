#include "packers/pack/pack.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "core/error.h"
#include "core/units.h"
#include "packers/output/digest.h"
#include "packers/output/new_file.h"
#include "packers/output/paths.h"
#include "packers/output/rate_limit.h"
#include "packers/output/staging_directory.h"
#include "packers/pack/head_maker.h"
#include "packers/pack/journal.h"
#include "packers/pack/partition.h"
#include "packers/pack/shard_job.h"
#include "packers/pack/source_watch.h"

namespace feedline {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kProgressInterval{100};
constexpr unsigned kQueueDepth = 64;  // over all shards that are written at the same time

// In the names of shards: what the user wants, else what the source is called.
std::string dataset_name(const Dataset& source, const std::string& wanted) {
    constexpr std::size_t kLongest = 200;  // numbers and suffixes follow
    if (wanted.size() > kLongest) {
        throw Error(ErrorKind::usage, fmt::format("a name of {} bytes is too long for files", wanted.size()))
            .advise(fmt::format("--name takes up to {}", kLongest));
    }
    if (!wanted.empty()) {
        if (wanted.find('/') != std::string::npos || wanted.starts_with('.')) {
            throw Error(ErrorKind::usage, fmt::format("'{}' cannot begin the names of files", printable(wanted)))
                .advise("--name takes a name without a slash that does not begin with a dot");
        }
        return wanted;
    }
    std::error_code failure;
    const fs::path whole = fs::absolute(without_trailing_slashes(source.info().path), failure).lexically_normal();
    std::string name = whole.has_filename() ? whole.filename().native() : whole.parent_path().filename().native();
    std::replace_if(
        name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == '*' || c == '?'; },
        '_');
    while (name.starts_with('.')) name.erase(0, 1);
    if (name.size() > kLongest) name.resize(kLongest);
    return name.empty() ? "dataset" : name;
}

std::uint64_t free_bytes(const std::string& directory) {
    struct statvfs info {};
    if (::statvfs(directory.c_str(), &info) != 0) throw system_error(errno, "cannot ask for free space", directory);
    return std::uint64_t{info.f_bavail} * info.f_frsize;
}

// One inside the other would be packed into itself.
void require_apart(const std::string& source, const std::string& destination) {
    std::error_code failure;
    const fs::path from = fs::weakly_canonical(source, failure);
    const fs::path to = fs::weakly_canonical(without_trailing_slashes(destination), failure);
    if (failure) return;
    const auto inside = [](const fs::path& inner, const fs::path& outer) {
        return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
    };
    if (inside(to, from) || inside(from, to)) {
        throw Error(ErrorKind::usage, "the destination and the source lie in each other")
            .at(destination)
            .advise("Write beside the source, or elsewhere");
    }
}

// What is replaced is removed: only what pack() wrote may be in it.
void require_ours(const std::string& directory, const std::optional<Manifest>& manifest) {
    std::set<std::string> known = {kManifestName};
    if (manifest) {
        for (const PackedShard& shard : manifest->shards) {
            known.insert({shard.name, shard.name + ".samples", shard.name + ".idx"});
        }
    }
    std::error_code none;
    for (const fs::directory_entry& entry : fs::directory_iterator(directory, none)) {
        if (manifest && known.contains(entry.path().filename())) continue;
        throw Error(ErrorKind::usage, manifest
                                          ? "the destination holds something that feedline pack did not write"
                                          : "the destination is no packed dataset, and only such a one is overwritten")
            .at(entry.path().native())
            .advise("Move it away, or give another name");
    }
}

// Once there is a manifest, nothing needs the journal.
void remove_journal(const std::string& directory) {
    const std::string path = directory + "/" + kJournalName;
    std::error_code failure;
    fs::remove(path, failure);
    if (failure) throw system_error(failure.value(), "cannot remove the journal", path);
    sync_directory_of(path);
}

// Packed sources keep theirs in the manifest.
std::vector<ClassName> classes_of(const Dataset& source) {
    if (!source.info().classes.empty() || !source.info().packed) return source.info().classes;
    const std::optional<Manifest> manifest = read_manifest(source.info().path);
    return manifest ? manifest->classes : std::vector<ClassName>();
}

// A run, from its options to what it is going to write.
class Run {
public:
    Run(const std::shared_ptr<const Dataset>& source, const Packer& packer, const PackOptions& options)
        : source_(source),
          watch_(source),
          packer_(packer),
          options_(options),
          name_(dataset_name(*source, options.name)),
          permutation_(source->size(), options.seed),
          sample_at_([this](std::uint64_t position) {
              return options_.order == OrderMode::shuffle ? permutation_(position) : position;
          }),
          ranges_(partition(*source, sample_at_,
                            {.shard_bytes = options.shard_bytes, .shard_samples = 0, .shards = options.shards})),
          classes_(classes_of(*source)) {
        if (options.destination.empty()) throw Error(ErrorKind::usage, "no destination given");
        constexpr unsigned kMostThreads = 1024;
        if (options.threads > kMostThreads) {
            throw Error(ErrorKind::usage, fmt::format("{} threads are more than any machine needs", options.threads))
                .advise(fmt::format("--threads takes up to {}", kMostThreads));
        }
        require_apart(source->info().path, options.destination);
    }
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

    PackPlan plan() const {
        PackPlan all = sizes();
        all.estimated_seconds = reading_seconds();
        return all;
    }

    PackPlan sizes() const {
        return {.shards = ranges_.size(),
                .samples = source_->size(),
                .source_bytes = source_->info().bytes,
                .estimated_bytes = packer_.estimate_bytes(source_->size(), source_->info().bytes),
                .free_bytes = free_bytes(parent_directory(options_.destination)),
                .estimated_seconds = 0};
    }

    PackResult run(const std::function<void(const PackProgress&)>& progress, const Interrupt& interrupt);

private:
    double reading_seconds() const;
    std::string digest_of_all(const HeadMaker& heads) const;
    void require_space(std::uint64_t done_bytes) const;
    void forget_what_is_gone(Journal& journal, const std::string& directory) const;
    void write_shards(const HeadMaker& heads, Journal& journal, const std::string& directory,
                      const EngineSelection& engine, const std::function<void(const PackProgress&)>& progress,
                      const Interrupt& interrupt);
    Manifest manifest_of(const Journal& journal, const std::string& plan) const;
    void write_manifest(const Manifest& manifest, const std::string& directory) const;

    std::shared_ptr<const Dataset> source_;
    SourceWatch watch_;
    const Packer& packer_;
    const PackOptions& options_;
    std::string name_;
    Permutation permutation_;
    SampleAt sample_at_;
    std::vector<ShardRange> ranges_;
    std::vector<ClassName> classes_;
};

// Of the whole source, by how long a few samples of all parts of it take.
double Run::reading_seconds() const {
    constexpr std::uint64_t kSamples = 256;
    constexpr std::uint64_t kBytes = 64U << 20U;
    const std::uint64_t mean = std::max<std::uint64_t>(1, source_->info().bytes / source_->size());
    const std::uint64_t count = std::min(source_->size(), std::clamp<std::uint64_t>(kBytes / mean, 1, kSamples));
    std::vector<SampleId> ids;
    for (std::uint64_t i = 0; i < count; ++i) ids.push_back(source_->size() / count * i);
    std::shared_ptr<Slab> slab;
    const Nanoseconds start = now_ns();
    SampleReader reader(source_, std::move(ids),
                        {.engine = select_engine(EngineKind::uring, *source_),
                         .threads = 1,
                         .queue_depth = kQueueDepth,
                         .on_error = OnError::skip},
                        slab);
    RecordPiece piece;
    while (reader.next(piece)) {
    }
    return to_seconds(now_ns() - start) * static_cast<double>(source_->size()) / static_cast<double>(count);
}

// What a run that goes on must have in common with the one that began.
std::string Run::digest_of_all(const HeadMaker& heads) const {
    std::uint64_t all = digest(packer_.format(), heads.digest());
    all = digest(name_, all);
    all = digest(options_.order == OrderMode::shuffle ? options_.seed + 1 : 0, all);
    for (const ShardRange& range : ranges_) all = digest(range.bytes, digest(range.count, all));
    return fmt::format("{:016x}", all);
}

void Run::require_space(std::uint64_t done_bytes) const {
    const PackPlan all = sizes();
    const std::uint64_t more = all.estimated_bytes - std::min(all.estimated_bytes, done_bytes);
    if (more <= all.free_bytes) return;
    throw Error(ErrorKind::out_of_space,
                fmt::format("there is no room: about {} will be written, and {} are free",
                            format_size(static_cast<double>(more)), format_size(static_cast<double>(all.free_bytes))))
        .at(options_.destination)
        .advise("Make room, or write elsewhere");
}

// A shard that is in the journal and no longer on disk as it was is written again.
void Run::forget_what_is_gone(Journal& journal, const std::string& directory) const {
    for (std::uint64_t number = 0; number < ranges_.size(); ++number) {
        const auto found = journal.done().find(number);
        if (found == journal.done().end()) continue;
        const std::string path = directory + "/" + found->second.name;
        const std::string inside = packer_.data_file().empty() ? "" : "/" + std::string(packer_.data_file());
        struct stat status {};
        struct stat sidecar {};
        const bool there = ::stat((path + inside).c_str(), &status) == 0 &&
                           static_cast<std::uint64_t>(status.st_size) == found->second.bytes &&
                           ::stat((path + ".samples").c_str(), &sidecar) == 0;
        if (!there) journal.forget(number);
    }
}

void Run::write_shards(const HeadMaker& heads, Journal& journal, const std::string& directory,
                       const EngineSelection& engine, const std::function<void(const PackProgress&)>& progress,
                       const Interrupt& interrupt) {
    std::vector<std::uint64_t> missing;
    std::atomic<std::uint64_t> samples{0};
    std::atomic<std::uint64_t> bytes{0};
    std::atomic<std::uint64_t> shards{journal.done().size()};
    for (std::uint64_t number = 0; number < ranges_.size(); ++number) {
        const auto found = journal.done().find(number);
        if (found == journal.done().end()) {
            missing.push_back(number);
        } else {
            samples += found->second.samples;
            bytes += found->second.content_bytes;
        }
    }
    const unsigned threads =
        options_.threads != 0 ? options_.threads : std::max(1U, std::thread::hardware_concurrency());
    const auto writers = static_cast<unsigned>(std::min<std::uint64_t>(threads, missing.size()));
    RateLimit rate(options_.rate_bytes_per_second, interrupt);
    const ShardContext context{.source = source_,
                               .watch = watch_,
                               .packer = packer_,
                               .heads = heads,
                               .sample_at = sample_at_,
                               .directory = directory,
                               .name = name_,
                               .classes = classes_,
                               .shards = ranges_.size(),
                               .reading = {.engine = engine,
                                           .threads = std::max(1U, threads / std::max(1U, writers)),
                                           .queue_depth = std::max(8U, kQueueDepth / std::max(1U, writers)),
                                           .on_error = options_.on_error},
                               .rate = options_.rate_bytes_per_second > 0 ? &rate : nullptr,
                               .samples_done = samples,
                               .bytes_done = bytes};

    std::mutex mutex;
    std::condition_variable ended;
    std::exception_ptr failure;
    std::atomic<std::size_t> next{0};
    std::size_t running = writers;
    std::vector<std::unique_ptr<ShardJob>> jobs;
    for (unsigned i = 0; i < writers; ++i) jobs.push_back(std::make_unique<ShardJob>(context));
    const auto stop_all = [&] {
        next = missing.size();
        for (const auto& job : jobs) job->stop();
    };
    const auto work = [&](ShardJob& job) {
        try {
            for (std::size_t at = next++; at < missing.size(); at = next++) {
                const std::uint64_t number = missing[at];
                journal.record(number, job.run(number, ranges_[number]));
                ++shards;
            }
        } catch (...) {
            {
                const std::lock_guard lock(mutex);
                if (!failure) failure = std::current_exception();
            }
            stop_all();
        }
        const std::lock_guard lock(mutex);
        --running;
        ended.notify_all();
    };
    {
        std::vector<std::jthread> writing;
        writing.reserve(jobs.size());
        for (const auto& job : jobs) writing.emplace_back([&work, &job] { work(*job); });
        bool told = false;
        std::unique_lock lock(mutex);
        while (!ended.wait_for(lock, kProgressInterval, [&] { return running == 0; })) {
            lock.unlock();
            if (interrupt.requested() && !std::exchange(told, true)) stop_all();
            if (progress) progress({samples, bytes, shards});
            lock.lock();
        }
    }
    if (progress) progress({samples, bytes, shards});
    if (failure) std::rethrow_exception(failure);
    if (interrupt.requested()) throw Error(ErrorKind::interrupted, "interrupted; --resume goes on with what is whole");
}

Manifest Run::manifest_of(const Journal& journal, const std::string& plan) const {
    Manifest manifest{.plan = plan,
                      .format = std::string(packer_.format()),
                      .name = name_,
                      .order = options_.order == OrderMode::shuffle ? "shuffle" : "sequential",
                      .seed = options_.order == OrderMode::shuffle ? options_.seed : 0,
                      .labels = options_.labels == "auto" || options_.labels == "dir" || options_.labels == "none"
                                    ? options_.labels
                                    : "file",
                      .classes = {},
                      .shards = {}};
    if (manifest.labels == "auto" || manifest.labels == "dir") manifest.classes = classes_;
    for (const auto& [number, shard] : journal.done()) manifest.shards.push_back(shard);
    return manifest;
}

void Run::write_manifest(const Manifest& manifest, const std::string& directory) const {
    const std::string path = directory + "/" + kManifestName;
    const std::string temporary = directory + "/." + kManifestName + ".partial";
    std::error_code ignored;
    fs::remove(temporary, ignored);
    NewFile file(temporary, nullptr);
    file.append(to_text(manifest));
    file.finish();
    if (std::rename(temporary.c_str(), path.c_str()) != 0) throw system_error(errno, "cannot rename to", path);
    remove_journal(directory);
}

PackResult Run::run(const std::function<void(const PackProgress&)>& progress, const Interrupt& interrupt) {
    const HeadMaker heads(source_, packer_, options_.parts, LabelChoice(options_.labels), classes_);
    const std::string plan = digest_of_all(heads);
    const std::string destination = without_trailing_slashes(options_.destination);
    const std::string unfinished = destination + ".incomplete";

    const std::optional<Manifest> there = read_manifest(destination);
    if (options_.resume && there && there->plan == plan) return {*there, there->shards.size(), true, {}};
    // A run that was killed between its manifest and its last rename has nothing left to do but that.
    const std::optional<Manifest> finished = read_manifest(unfinished);
    const std::optional<JournalStart> begun = Journal::peek(unfinished);
    if (options_.resume && !options_.overwrite) {
        const std::string& other = finished ? finished->plan : begun ? begun->plan : plan;
        if (other != plan) {
            throw Error(ErrorKind::usage, "what an unfinished run has left is of another source or of other options")
                .at(unfinished)
                .advise("Begin anew with --overwrite, or remove it");
        }
    }
    const bool replace = options_.overwrite || (options_.resume && begun && begun->replaces);
    if (replace) require_ours(destination, there);
    if (there && !replace) {
        throw Error(ErrorKind::usage, options_.resume
                                          ? "the destination is whole, and of another source or of other options"
                                          : "the destination holds a packed dataset already")
            .at(destination)
            .advise("Give another name, or replace it with --overwrite");
    }
    using Leftover = StagingOptions::Leftover;
    StagingDirectory staging(options_.destination, {.leftover = options_.resume      ? Leftover::keep
                                                                : options_.overwrite ? Leftover::clear
                                                                                     : Leftover::refuse,
                                                    .last_file = kManifestName,
                                                    .replace = replace});
    const bool goes_on =
        staging.has_leftover() && ((finished && finished->plan == plan) || (begun && begun->plan == plan));
    if (staging.has_leftover() && !goes_on) staging.clear();
    const EngineSelection engine = select_engine(EngineKind::uring, *source_);
    PackResult result{{}, 0, false, engine.kind == EngineKind::uring ? std::string() : engine.fallback};
    if (goes_on && finished) {
        staging.keep();
        remove_journal(staging.path());  // the kill may have come between the manifest and this
        result.manifest = *finished;
        result.resumed_shards = finished->shards.size();
        staging.publish();
        return result;
    }
    Journal journal(staging.path(), {plan, replace});
    forget_what_is_gone(journal, staging.path());
    result.resumed_shards = journal.done().size();
    std::uint64_t done_bytes = 0;
    for (const auto& [number, shard] : journal.done()) done_bytes += shard.bytes;
    if (!journal.done().empty()) staging.keep();
    require_space(done_bytes);
    try {
        write_shards(heads, journal, staging.path(), engine, progress, interrupt);
    } catch (...) {
        if (!journal.done().empty()) staging.keep();
        throw;
    }
    staging.keep();
    result.manifest = manifest_of(journal, plan);
    write_manifest(result.manifest, staging.path());
    staging.publish();
    return result;
}

}  // namespace

PackResult pack(const std::shared_ptr<const Dataset>& source, const Packer& packer, const PackOptions& options,
                const std::function<void(const PackProgress&)>& progress, const Interrupt& interrupt) {
    return Run(source, packer, options).run(progress, interrupt);
}

PackPlan plan_pack(const std::shared_ptr<const Dataset>& source, const Packer& packer, const PackOptions& options) {
    return Run(source, packer, options).plan();
}

}  // namespace feedline
