#include "packers/verify/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <filesystem>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/units.h"
#include "loaders/dataset.h"
#include "loaders/oddity_text.h"
#include "loaders/order.h"
#include "loaders/packed/manifest.h"
#include "loaders/packed/sidecar.h"
#include "loaders/shards/parallel.h"
#include "loaders/shards/shard_list.h"
#include "loaders/tfrecord/example.h"
#include "packers/output/digest.h"
#include "packers/verify/file_sums.h"
#include "packers/verify/sample_check.h"

namespace feedline {
namespace {

constexpr std::chrono::milliseconds kProgressInterval{100};

// Paths of the source, found again by their digests: 16 bytes a sample.
class PathIndex {
public:
    explicit PathIndex(const Dataset& source) {
        entries_.reserve(source.size());
        for (SampleId id = 0; id < source.size(); ++id) entries_.emplace_back(digest(source.key(id)), id);
        std::sort(entries_.begin(), entries_.end());
    }
    std::optional<SampleId> find(const Dataset& source, const std::string& path) const {
        const std::uint64_t wanted = digest(path);
        for (auto at =
                 std::lower_bound(entries_.begin(), entries_.end(), std::pair<std::uint64_t, SampleId>{wanted, 0});
             at != entries_.end() && at->first == wanted; ++at) {
            if (source.key(at->second) == path) return at->second;
        }
        return std::nullopt;
    }

private:
    std::vector<std::pair<std::uint64_t, SampleId>> entries_;
};

class Verification {
public:
    Verification(const std::string& path, const VerifyOptions& options, const Interrupt& interrupt)
        : path_(path),
          options_(options),
          interrupt_(interrupt),
          threads_(options.threads != 0 ? options.threads : std::max(1U, std::thread::hardware_concurrency())) {}

    void run();
    VerifyResult result() const;
    VerifyProgress progress() const { return {bytes_read_, bytes_in_all_}; }

private:
    void read_the_manifest();
    std::set<std::string> check_files();
    void find_strangers();
    void check_format();
    void check_samples(const std::set<std::string>& damaged);
    SourceOf find_sources(const std::shared_ptr<const Dataset>& source, const Dataset& packed);

    const std::string& path_;
    const VerifyOptions& options_;
    const Interrupt& interrupt_;
    unsigned threads_;
    std::optional<Manifest> manifest_;
    Findings findings_;
    VerifyResult result_;
    std::atomic<std::uint64_t> bytes_read_{0};
    std::atomic<std::uint64_t> bytes_in_all_{0};
};

void Verification::read_the_manifest() {
    try {
        manifest_ = read_manifest(path_);
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::corrupt) throw;
        findings_.add({error.message(), error.path(), error.offset_bytes(), ""});
    }
    if (!manifest_) return;
    result_.has_manifest = true;
    result_.has_checksums = true;
    result_.format = manifest_->format;
    result_.shards = manifest_->shards.size();
    result_.samples = manifest_->samples();
    result_.bytes = manifest_->bytes();
    result_.left_out = manifest_->left_out();
    bytes_in_all_ = manifest_->bytes();
}

// What readers would take for a shard.
void Verification::find_strangers() {
    std::set<std::string> known;
    for (const PackedShard& shard : manifest_->shards) known.insert(shard.name);
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(path_, ignored)) {
        const std::string name = entry.path().filename();
        if (name.starts_with('.') || is_companion(name) || known.contains(name)) continue;
        findings_.add({"something is here that the manifest does not name", entry.path(), {}, ""});
    }
}

// Every file may be as its checksum says, and the manifest tell another format than theirs.
void Verification::check_format() {
    const auto formats = all_formats();
    const auto found = std::find_if(formats.begin(), formats.end(),
                                    [&](const Format* format) { return format->name() == manifest_->format; });
    if (found != formats.end() && (*found)->probe(path_) != Confidence::no) return;
    findings_.add(
        {fmt::format("the manifest says that the shards are {}, which they are not", printable(manifest_->format)),
         path_ + "/" + kManifestName,
         {},
         ""});
}

// Returns the data files of shards that are not as they were.
std::set<std::string> Verification::check_files() {
    const std::vector<ExpectedFile> files = expected_files(path_, *manifest_);
    std::mutex mutex;
    std::set<std::size_t> damaged;
    for_each_index(files.size(), threads_, [&](std::size_t i) {
        if (check_file(files[i], findings_, bytes_read_, interrupt_)) return;
        const std::lock_guard lock(mutex);
        damaged.insert(files[i].shard);
    });
    std::set<std::string> paths;
    for (const ExpectedFile& file : files) {
        if (file.bytes && damaged.contains(file.shard)) paths.insert(file.path);
    }
    return paths;
}

SourceOf Verification::find_sources(const std::shared_ptr<const Dataset>& source, const Dataset& packed) {
    if (!source->info().packed) {
        const auto index = std::make_shared<PathIndex>(*source);
        return [index, source](SampleId /*id*/, const std::string& path) { return index->find(*source, path); };
    }
    // Records have no names that all formats keep: they are told by their place.
    const std::uint64_t known = packed.size() + (manifest_ ? manifest_->left_out() : 0);
    if (known != source->size() || (manifest_ && manifest_->left_out() > 0)) {
        throw Error(ErrorKind::unsupported,
                    fmt::format("which sample became which cannot be told: {} here, {} there, and the source is packed",
                                packed.size(), source->size()))
            .at(options_.against);
    }
    const bool shuffled = manifest_ && manifest_->order == "shuffle";
    const Permutation permutation(source->size(), manifest_ ? manifest_->seed : 0);
    return [permutation, shuffled](SampleId id, const std::string& /*path*/) {
        return std::optional<SampleId>(shuffled ? permutation(id) : id);
    };
}

// All samples, or with a manifest and nothing to compare with, those of `damaged` files.
void Verification::check_samples(const std::set<std::string>& damaged) {
    const bool blind = manifest_ && manifest_->format == "tfrecord" && !tfrecord::can_parse_examples();
    if (blind && !options_.against.empty()) {
        throw Error(ErrorKind::unsupported, "this build cannot look into tf.train.Examples, and so not compare them")
            .at(path_)
            .advise("Build it where protobuf is found");
    }
    const std::string format = manifest_ ? manifest_->format : options_.format;
    std::shared_ptr<const Dataset> packed;
    try {
        packed = open_dataset(path_, format, {.threads = threads_});
    } catch (const Error& error) {
        const bool judged = error.kind() == ErrorKind::corrupt || (manifest_ && error.kind() == ErrorKind::usage);
        if (!judged) throw;
        findings_.add({error.message(), error.path(), error.offset_bytes(), ""});
        packed = nullptr;
    }
    if (packed == nullptr) {
        try {
            packed = open_dataset(path_, format, {.threads = threads_, .skip_corrupt = true});
        } catch (const Error&) {
            return;  // nothing of it can be read, and why has been said
        }
    }
    if (!packed->info().packed) {
        if (findings_.count() > 0) return;  // what was wrong with it made it look like one
        throw Error(ErrorKind::usage, "a folder of files says nothing of what should be in it")
            .at(path_)
            .advise("Verify a packed dataset, with --against the folder");
    }
    for (const Oddity& oddity : packed->info().oddities) {
        result_.notes.push_back(to_text(oddity));
        // Names that say how many there should be are all that others leave behind.
        if (!manifest_ && oddity.kind == kMissingShard) {
            findings_.add(
                {fmt::format("{} of the set missing",
                             oddity.count == 1 ? "a shard is" : format_counted(oddity.count, "shard") + " are"),
                 oddity.example,
                 {},
                 ""});
            result_.notes.pop_back();
        }
    }
    if (!manifest_) {
        result_.format = packed->info().format;
        result_.shards = packed->info().shards;
        result_.samples = packed->info().samples;
        result_.bytes = packed->info().bytes;
        result_.has_checksums = packed->info().format == "tfrecord";
        bytes_in_all_ = packed->info().bytes;
    }
    std::shared_ptr<const Dataset> source;
    SourceOf source_of;
    if (!options_.against.empty()) {
        OpenOptions opening;
        opening.threads = threads_;
        opening.hdf5_dataset = options_.against_hdf5_dataset;
        source = open_dataset(options_.against, options_.against_format, opening);
        source_of = find_sources(source, *packed);
    }
    const std::vector<ShardSamples> shards = samples_by_shard(*packed);
    result_.labels_compared =
        source != nullptr && (!manifest_ || manifest_->labels == "auto" || manifest_->labels == "dir");
    const SampleCheck check(packed, source, source_of, result_.labels_compared, findings_, interrupt_);
    std::atomic<std::uint64_t> compared{0};
    for_each_index(shards.size(), threads_, [&](std::size_t i) {
        const std::string file = packed->path(shards[i].shard);
        if (manifest_ && source == nullptr && !damaged.contains(file)) return;
        std::string sidecar;
        if (manifest_ && !blind) {
            const std::filesystem::path path(file);
            const std::filesystem::path shard = path.filename() == kDataInDirectory ? path.parent_path() : path;
            sidecar = shard.native() + std::string(kSidecarSuffix);
        }
        compared += check.shard(shards[i], sidecar);
        if (!manifest_) {
            for (const SampleId id : shards[i].ids) {
                Extent extent;
                packed->locate(std::span(&id, 1), std::span(&extent, 1));
                bytes_read_ += extent.length_bytes;
            }
        }
    });
    result_.compared = compared;
    result_.labels_compared = result_.labels_compared && compared > 0;
    if (check.untold() > 0) {
        findings_.add({fmt::format("{} cannot be matched with the source: no path that {} names is one of its",
                                   format_counted(check.untold(), "sample"), check.untold() == 1 ? "it" : "they"),
                       path_,
                       {},
                       check.first_untold()});
    }
    if (source == nullptr) return;
    const std::uint64_t accounted = compared + result_.left_out;
    if (source->size() > accounted && check.untold() == 0) {
        const std::uint64_t lost = source->size() - accounted;
        findings_.add({fmt::format("{} of the source {} not in the dataset", format_counted(lost, "sample"),
                                   lost == 1 ? "is" : "are"),
                       options_.against,
                       {},
                       ""});
    }
}

void Verification::run() {
    read_the_manifest();
    std::set<std::string> damaged;
    if (manifest_) {
        damaged = check_files();
        find_strangers();
        if (findings_.count() == 0) check_format();
    }
    if (!manifest_ || !damaged.empty() || !options_.against.empty()) check_samples(damaged);
    result_.found = findings_.count();
    result_.findings = findings_.list();
}

VerifyResult Verification::result() const {
    return result_;
}

}  // namespace

VerifyResult verify(const std::string& path, const VerifyOptions& options,
                    const std::function<void(const VerifyProgress&)>& progress, const Interrupt& interrupt) {
    Verification verification(path, options, interrupt);
    std::mutex mutex;
    std::condition_variable ended;
    bool done = false;
    std::exception_ptr failure;
    {
        const std::jthread working([&] {
            try {
                verification.run();
            } catch (...) {
                failure = std::current_exception();
            }
            const std::lock_guard lock(mutex);
            done = true;
            ended.notify_all();
        });
        std::unique_lock lock(mutex);
        while (!ended.wait_for(lock, kProgressInterval, [&] { return done; })) {
            if (progress) progress(verification.progress());
        }
    }
    if (failure) std::rethrow_exception(failure);
    return verification.result();
}

}  // namespace feedline
