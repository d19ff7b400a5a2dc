#include "packers/pack/pack.h"

#include <fmt/format.h>
#include <sys/stat.h>

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
#include "core/incomplete.h"
#include "core/units.h"
#include "loaders/packed/shard_files.h"
#include "packers/output/digest.h"
#include "packers/output/free_space.h"
#include "packers/output/new_file.h"
#include "packers/output/paths.h"
#include "packers/output/rate_limit.h"
#include "packers/output/staging_directory.h"
#include "packers/pack/head_maker.h"
#include "packers/pack/journal.h"
#include "packers/pack/label_count.h"
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
            known.insert(
                {shard.name, shard.name + std::string(kSidecarSuffix), shard.name + std::string(kIndexSuffix)});
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
          destination_(without_trailing_slashes(options.destination)),
          unfinished_(destination_ + ".incomplete"),
          name_(dataset_name(*source, options.name)),
          permutation_(source->size(), options.seed),
          sample_at_([this](std::uint64_t position) {
              return options_.order == OrderMode::shuffle ? permutation_(position) : position;
          }),
          ranges_(partition(*source, sample_at_,
                            {.shard_bytes = options.shard_bytes, .shard_samples = 0, .shards = options.shards})),
          classes_(LabelChoice::keeps_own(options.labels) ? classes_of(*source) : std::vector<ClassName>()) {
        if (options.shards == 0 && options.shard_bytes == 0) {
            throw Error(ErrorKind::usage, "a shard of 0 bytes holds nothing")
                .advise("--shard-size takes a size such as 256MiB; --shards 1 makes one of all");
        }
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

    PackPlan plan() const;
    PackPlan sizes() const {
        return {.shards = ranges_.size(),
                .samples = source_->size(),
                .source_bytes = source_->info().bytes,
                .estimated_bytes = packer_.estimate_bytes(source_->size(), source_->info().bytes),
                .free_bytes = free_space(parent_directory(options_.destination)).bytes,
                .estimated_seconds = 0};
    }

    PackResult run(const std::function<void(const PackProgress&)>& progress, const Interrupt& interrupt);

private:
    struct Standing;
    Standing standing(const std::string& plan) const;
    StagingOptions staging_options(const Standing& now) const;
    std::string clear_beside() const;
    double reading_seconds(const EngineSelection& engine) const;
    std::vector<std::string> notes(const HeadMaker& heads) const;
    std::string digest_of_all(const HeadMaker& heads) const;
    void require_space(std::uint64_t done_bytes) const;
    bool is_there(const PackedShard& shard, const std::string& directory) const;
    void forget_what_is_gone(Journal& journal, const std::string& directory) const;
    LabelCount write_shards(const HeadMaker& heads, Journal& journal, const std::string& directory,
                            const EngineSelection& engine, const std::function<void(const PackProgress&)>& progress,
                            const Interrupt& interrupt);
    Manifest manifest_of(const Journal& journal, const std::string& plan) const;
    void write_manifest(const Manifest& manifest, const std::string& directory) const;

    std::shared_ptr<const Dataset> source_;
    SourceWatch watch_;
    const Packer& packer_;
    const PackOptions& options_;
    std::string destination_;
    std::string unfinished_;
    std::string name_;
    Permutation permutation_;
    SampleAt sample_at_;
    std::vector<ShardRange> ranges_;
    std::vector<ClassName> classes_;  // none where labels are not the source's own: they would name other things
};

// Of the whole source, by how long a few samples of all parts of it take.
double Run::reading_seconds(const EngineSelection& engine) const {
    constexpr std::uint64_t kSamples = 256;
    constexpr std::uint64_t kBytes = 64U << 20U;
    const std::uint64_t mean = std::max<std::uint64_t>(1, source_->info().bytes / source_->size());
    const std::uint64_t count = std::min(source_->size(), std::clamp<std::uint64_t>(kBytes / mean, 1, kSamples));
    std::vector<SampleId> ids;
    for (std::uint64_t i = 0; i < count; ++i) ids.push_back(source_->size() / count * i);
    std::shared_ptr<Slab> slab;
    const Nanoseconds start = now_ns();
    SampleReader reader(source_, std::move(ids),
                        {.engine = engine, .threads = 1, .queue_depth = kQueueDepth, .on_error = OnError::skip}, slab);
    RecordPiece piece;
    while (reader.next(piece)) {
    }
    return to_seconds(now_ns() - start) * static_cast<double>(source_->size()) / static_cast<double>(count);
}

std::vector<std::string> Run::notes(const HeadMaker& heads) const {
    constexpr std::uint64_t kMany = 1000;
    std::vector<std::string> notes;
    const DatasetInfo& info = source_->info();
    if (options_.shards == 0 && info.samples >= kMany && ranges_.size() == info.samples) {
        notes.push_back(fmt::format("each of {} gets a shard of its own, for no two fit a --shard-size of {}",
                                    format_counted(info.samples, "sample"),
                                    format_size(static_cast<double>(options_.shard_bytes))));
    }
    // Other people's arrays; in our own layouts samples have neither.
    const bool arrays = (info.format == "hdf5" && info.layout.find(" by offsets") == std::string::npos) ||
                        (info.format == "pth" && info.layout != "packed");
    if (arrays) {
        notes.push_back(fmt::format("samples become the plain bytes of their arrays: shape and type ({}) are not kept",
                                    printable(info.layout)));
    }
    if (std::string unused = heads.unused_labels(); !unused.empty()) notes.push_back(std::move(unused));
    return notes;
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
    const std::uint64_t all_bytes = sizes().estimated_bytes;
    const std::uint64_t more = all_bytes - std::min(all_bytes, done_bytes);
    const FreeSpace space = free_space(parent_directory(options_.destination));
    if (more > space.bytes) {
        throw no_room("what is to be written takes about", static_cast<double>(more), space, options_.destination);
    }
}

// Whether all files of a shard that was whole are still on disk.
bool Run::is_there(const PackedShard& shard, const std::string& directory) const {
    const std::string path = directory + "/" + shard.name;
    const std::string inside = packer_.data_file().empty() ? "" : "/" + std::string(packer_.data_file());
    struct stat status {};
    return ::stat((path + std::string(kSidecarSuffix)).c_str(), &status) == 0 &&
           (!shard.index_crc32c || ::stat((path + std::string(kIndexSuffix)).c_str(), &status) == 0) &&
           ::stat((path + inside).c_str(), &status) == 0 && static_cast<std::uint64_t>(status.st_size) == shard.bytes;
}

// A shard that is in the journal and no longer on disk as it was is written again.
void Run::forget_what_is_gone(Journal& journal, const std::string& directory) const {
    for (std::uint64_t number = 0; number < ranges_.size(); ++number) {
        const auto found = journal.done().find(number);
        if (found != journal.done().end() && !is_there(found->second, directory)) journal.forget(number);
    }
}

// Returns which labels the samples have that it wrote.
LabelCount Run::write_shards(const HeadMaker& heads, Journal& journal, const std::string& directory,
                             const EngineSelection& engine, const std::function<void(const PackProgress&)>& progress,
                             const Interrupt& interrupt) {
    std::vector<std::uint64_t> missing;
    std::atomic<std::uint64_t> samples{0};
    std::atomic<std::uint64_t> bytes{0};
    LabelCounts labels;
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
                               .bytes_done = bytes,
                               .labels = labels};

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
    return labels.all();
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
                      .classes = classes_,
                      .shards = {}};
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

// What is at the destination and beside it before a run begins.
struct Run::Standing {
    std::optional<Manifest> there;      // of the destination
    std::optional<Manifest> finished;   // of an unfinished run that lacked nothing but its last rename
    std::optional<JournalStart> begun;  // by an unfinished run
    bool complete = false;              // the destination is what this run would make
    bool replace = false;               // the destination is to be exchanged
};

// Throws what stands in the way.
Run::Standing Run::standing(const std::string& plan) const {
    Standing now{read_manifest(destination_), {}, {}, false, false};
    now.complete = options_.resume && now.there && now.there->plan == plan;
    if (now.complete) return now;
    now.finished = read_manifest(unfinished_);
    now.begun = Journal::peek(unfinished_);
    if (options_.resume && !options_.overwrite) {
        const std::string& other = now.finished ? now.finished->plan : now.begun ? now.begun->plan : plan;
        if (other != plan) {
            throw Error(ErrorKind::usage, "what an unfinished run has left is of another source or of other options")
                .at(unfinished_)
                .advise("Begin anew with --overwrite, or remove it");
        }
    }
    now.replace = options_.overwrite || (options_.resume && now.begun && now.begun->replaces);
    if (now.replace) require_ours(destination_, now.there);
    if (!now.there || now.replace) return now;
    // A run that was to replace it, and was killed a moment before it did, has left no journal that says so.
    const bool replacing = options_.resume && now.finished;
    throw Error(ErrorKind::usage, replacing ? "the destination is another dataset, and the new one waits beside it"
                                  : options_.resume
                                      ? "the destination is whole, and of another source or of other options"
                                      : "the destination holds a packed dataset already")
        .at(destination_)
        .advise(replacing ? "Put it in place with --resume --overwrite"
                          : "Give another name, or replace it with --overwrite");
}

StagingOptions Run::staging_options(const Standing& now) const {
    using Leftover = StagingOptions::Leftover;
    return {.leftover = options_.resume      ? Leftover::keep
                        : options_.overwrite ? Leftover::clear
                                             : Leftover::refuse,
            .last_file = kManifestName,
            .replace = now.replace};
}

// What a run that replaced the dataset and was killed then has not removed any more, or another has begun.
std::string Run::clear_beside() const {
    std::error_code none;
    const fs::path beside(unfinished_);
    const bool ours = fs::exists(beside / kIncompleteMarker, none) || fs::exists(beside / kManifestName, none);
    if (!ours) return {};
    if (!options_.overwrite) return unfinished_;
    const StagingDirectory cleared(
        destination_, {.leftover = StagingOptions::Leftover::clear, .last_file = kManifestName, .replace = true});
    return {};
}

PackPlan Run::plan() const {
    const HeadMaker heads(source_, packer_, options_.parts, LabelChoice(options_.labels), classes_);
    const Standing now = standing(digest_of_all(heads));
    if (!now.complete) StagingDirectory::require_free(destination_, staging_options(now));
    PackPlan all = sizes();
    const EngineSelection engine = select_engine(EngineKind::uring_direct, *source_);
    all.past_cache = engine.alignment.direct();
    all.estimated_seconds = reading_seconds(engine);
    all.complete = now.complete;
    all.replaces = now.replace && now.there;
    all.notes = notes(heads);
    return all;
}

PackResult Run::run(const std::function<void(const PackProgress&)>& progress, const Interrupt& interrupt) {
    const HeadMaker heads(source_, packer_, options_.parts, LabelChoice(options_.labels), classes_);
    const std::string plan = digest_of_all(heads);
    const Standing now = standing(plan);
    if (now.complete) {
        return {.manifest = *now.there,
                .resumed_shards = now.there->shards.size(),
                .was_complete = true,
                .left_beside = clear_beside(),
                .engine_fallback = {}};
    }
    if (options_.note) {
        for (const std::string& note : notes(heads)) options_.note(note);
    }
    StagingDirectory staging(destination_, staging_options(now));
    // A run that was killed between its manifest and its last rename has nothing left to do but that.
    const auto is_whole = [&](const Manifest& manifest) {
        return manifest.plan == plan &&
               std::all_of(manifest.shards.begin(), manifest.shards.end(),
                           [&](const PackedShard& shard) { return is_there(shard, staging.path()); });
    };
    const bool finished = now.finished && is_whole(*now.finished);
    const bool goes_on =
        staging.has_leftover() && (finished || (!now.finished && now.begun && now.begun->plan == plan));
    if (goes_on) staging.keep();
    if (staging.has_leftover() && !goes_on) staging.clear();
    const EngineSelection engine = select_engine(EngineKind::uring, *source_);
    PackResult result;
    if (engine.kind != EngineKind::uring) result.engine_fallback = engine.fallback;
    if (goes_on && finished) {
        remove_journal(staging.path());  // the kill may have come between the manifest and this
        result.manifest = *now.finished;
        result.resumed_shards = now.finished->shards.size();
        staging.publish();
        return result;
    }
    Journal journal(staging.path(), {plan, now.replace});
    forget_what_is_gone(journal, staging.path());
    result.resumed_shards = journal.done().size();
    std::uint64_t done_bytes = 0;
    for (const auto& [number, shard] : journal.done()) done_bytes += shard.bytes;
    require_space(done_bytes);
    try {
        result.notes = write_shards(heads, journal, staging.path(), engine, progress, interrupt).notes(packer_);
        for (std::string& note : heads.left_behind()) result.notes.push_back(std::move(note));
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
