#include "loaders/shards/chain.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <optional>

#include "core/beginning.h"
#include "core/error.h"
#include "loaders/shards/compressed_chain.h"
#include "loaders/shards/index_cache.h"
#include "loaders/shards/index_file.h"
#include "loaders/shards/parallel.h"

namespace feedline {
namespace {

// Small records are read through, large ones jumped over: about what a disk transfers in the time of one access.
constexpr std::uint64_t kReadThroughBytes = 32U << 10U;
constexpr std::size_t kReadAheadBytes = 256U << 10U;
// Behind what is broken the next record is mostly near; where it is not, little is read twice.
constexpr std::size_t kFirstSearchBytes = 4U << 10U;
constexpr std::size_t kMostSearchBytes = 1U << 20U;

// Appends records from chain.end_bytes on until one would begin at `until_bytes` or later, the data end, or a header is
// no header (a fault).
void follow(const ChainFormat& format, Window& file, std::uint64_t until_bytes, Chain& chain) {
    const std::uint64_t from_bytes = chain.end_bytes;
    const std::size_t before = chain.links.size();
    NextRecord record;
    while (chain.end_bytes < until_bytes) {
        const std::uint64_t walked = chain.links.size() - before;
        const bool small = walked == 0 || (chain.end_bytes - from_bytes) / walked < kReadThroughBytes;
        const Next next = format.next(file, chain.end_bytes, small ? kReadAheadBytes : 0, record, chain.fault);
        if (next == Next::end) chain.finished = true;
        if (next != Next::record) return;
        chain.names += record.name;
        chain.links.push_back({chain.end_bytes, chain.names.size()});
        chain.end_bytes = record.end_bytes;
    }
}

// The first offset in [from, until) where a record seems to begin: one that is followed by another one or by the end.
std::optional<std::uint64_t> find(const ChainFormat& format, Window& file, std::uint64_t from_bytes,
                                  std::uint64_t until_bytes) {
    const std::uint64_t step = format.alignment_bytes();
    const std::size_t header = format.header_bytes();
    NextRecord record;
    std::string what;
    std::size_t search = kFirstSearchBytes;
    for (std::uint64_t base = (from_bytes + step - 1) / step * step; base < until_bytes;
         base += search, search = std::min(2 * search, kMostSearchBytes)) {
        // A copy: looking at a candidate moves the window.
        const std::span<const std::byte> seen = file.at(base, search + header - 1);
        const std::vector<std::byte> bytes(seen.begin(), seen.end());
        const std::uint64_t begins = std::min<std::uint64_t>(search, until_bytes - base);
        for (std::uint64_t i = 0; i < begins && i + header <= bytes.size(); i += step) {
            if (!format.may_be_header(std::span(bytes).subspan(i, header), file.size_bytes())) continue;
            if (format.next(file, base + i, 0, record, what) != Next::record) continue;
            if (format.next(file, record.end_bytes, 0, record, what) != Next::fault) return base + i;
        }
    }
    return std::nullopt;
}

// A stretch of one shard that one thread walks.
struct Stretch {
    std::size_t shard = 0;
    std::uint64_t begin_bytes = 0;
    std::uint64_t end_bytes = 0;
    std::shared_ptr<AccessPoints> access = nullptr;  // compressed: the whole shard is one stretch,
    std::uint64_t fault_bytes = 0;                   // and where in the file its fault is
    bool known = false;                              // an index file or the cache has told it all
    std::string identity = {};                       // of the shard, for the cache; of one that is not known
    Chain chain = {};
};

void walk(Stretch& part, const ShardFile& shard, const ChainFormat& format) {
    if (part.known) return;
    if (part.access != nullptr) {
        CompressedChain walked = walk_compressed(shard, format, *part.access);
        part.chain = std::move(walked.chain);
        part.fault_bytes = walked.file_bytes;
        return;
    }
    FileWindow file(shard.path, shard.size_bytes);
    std::uint64_t begin = part.begin_bytes;
    if (begin > 0) {
        const std::optional<std::uint64_t> found = find(format, file, begin, part.end_bytes);
        if (!found) return;  // the middle of one large record, or nothing that we know
        begin = *found;
    }
    part.chain.end_bytes = begin;
    follow(format, file, part.end_bytes, part.chain);
}

// Puts the parts of one shard together: what a part holds counts from where the chain before it arrives.
class Joiner {
public:
    Joiner(const ShardFile& shard, const ChainFormat& format, const ChainOptions& options)
        : shard_(shard), format_(format), options_(options) {}

    // The records are valid as long as the joiner is.
    std::span<const WalkedRecord> join(std::span<Stretch> parts, std::vector<Oddity>& oddities) {
        Chain chain;
        for (Stretch& part : parts) {
            while (!chain.finished && chain.end_bytes < part.end_bytes) {
                const auto known = first_known(part, chain.end_bytes);
                if (!append(chain, part, known)) {
                    // By hand, but no further than to where the part's own walk is met.
                    const bool none = known == part.chain.links.end();
                    follow(format_, window(), none ? part.end_bytes : known->offset_bytes, chain);
                }
                if (!chain.fault.empty()) get_over(chain, oddities);
            }
            part.chain = Chain{};
        }
        take(chain);
        return named();
    }

    // Of a compressed shard, behind whose first fault nothing is to be had.
    std::span<const WalkedRecord> take_whole(Stretch& part, std::vector<Oddity>& oddities) {
        if (!part.chain.fault.empty()) {
            if (!options_.skip_corrupt) {
                throw Error(ErrorKind::corrupt, part.chain.fault)
                    .at(shard_.path, part.fault_bytes)
                    .advise("With --on-error skip what stands before is read");
            }
            // How much of what it inflates to is missing nobody knows.
            oddities.push_back(
                {"truncated shard", 1, fmt::format("{} at offset {}", shard_.path, part.fault_bytes), 1});
        }
        take(part.chain);
        return named();
    }

private:
    Window& window() {
        if (!window_) window_.emplace(shard_.path, shard_.size_bytes);
        return *window_;
    }

    using Known = std::vector<Link>::const_iterator;

    // The first link of a part at `offset_bytes` or behind.
    static Known first_known(const Stretch& part, std::uint64_t offset_bytes) {
        return std::lower_bound(part.chain.links.begin(), part.chain.links.end(), offset_bytes,
                                [](const Link& link, std::uint64_t offset) { return link.offset_bytes < offset; });
    }

    // False when the part does not know what begins where the chain ends.
    static bool append(Chain& chain, const Stretch& part, Known known) {
        const bool record = known != part.chain.links.end() && known->offset_bytes == chain.end_bytes;
        const bool end = part.chain.end_bytes == chain.end_bytes && (part.chain.finished || !part.chain.fault.empty());
        if (!record && !end) return false;
        const std::size_t names_from = known == part.chain.links.begin() ? 0 : std::prev(known)->name_end;
        const std::size_t names_to = chain.names.size();
        chain.names.append(part.chain.names, names_from);
        for (; known != part.chain.links.end(); ++known) {
            chain.links.push_back({known->offset_bytes, known->name_end - names_from + names_to});
        }
        chain.end_bytes = part.chain.end_bytes;
        chain.finished = part.chain.finished;
        chain.fault = part.chain.fault;
        return true;
    }

    // Behind a fault: at the next header that can be found, with what was lost counted.
    void get_over(Chain& chain, std::vector<Oddity>& oddities) {
        if (!options_.skip_corrupt) {
            throw Error(ErrorKind::corrupt, chain.fault)
                .at(shard_.path, chain.end_bytes)
                .advise("With --on-error skip the rest is read");
        }
        const std::uint64_t broken_at = chain.end_bytes;
        take(chain);
        const std::optional<std::uint64_t> next = find(format_, window(), broken_at + 1, shard_.size_bytes);
        chain.end_bytes = next.value_or(shard_.size_bytes);
        const std::string where = fmt::format("{} at offset {}", shard_.path, broken_at);
        oddities.push_back({next ? "broken record" : "truncated shard", 1, where, chain.end_bytes - broken_at});
    }

    std::span<const WalkedRecord> named() {
        std::size_t begin = 0;
        for (std::size_t i = 0; i < records_.size(); ++i) {
            records_[i].name = std::string_view(names_).substr(begin, name_ends_[i] - begin);
            begin = name_ends_[i];
        }
        return records_;
    }

    // Moves the chain's records, each of which ends where the next begins, to the result.
    void take(Chain& chain) {
        for (std::size_t i = 0; i < chain.links.size(); ++i) {
            const bool last = i + 1 == chain.links.size();
            records_.push_back(
                {chain.links[i].offset_bytes, last ? chain.end_bytes : chain.links[i + 1].offset_bytes, {}});
            name_ends_.push_back(names_.size() + chain.links[i].name_end);
        }
        names_ += chain.names;
        chain.links.clear();
        chain.names.clear();
        chain.fault.clear();
    }

    const ShardFile& shard_;
    const ChainFormat& format_;
    const ChainOptions& options_;
    std::optional<FileWindow> window_;
    std::vector<WalkedRecord> records_;
    std::string names_;
    std::vector<std::size_t> name_ends_;  // by record
};

bool is_compressed(const ShardFile& shard, const ChainFormat& format) {
    const std::vector<std::byte> start = beginning_of(AT_FDCWD, shard.path.c_str(), format.header_bytes());
    return looks_compressed(start) &&
           (start.size() < format.header_bytes() || !format.may_be_header(start, shard.size_bytes));
}

// Of records without a gap between them.
Chain chain_of(std::span<const WalkedRecord> records) {
    Chain chain;
    chain.links.reserve(records.size());
    for (const WalkedRecord& record : records) {
        chain.names += record.name;
        chain.links.push_back({record.begin_bytes, chain.names.size()});
        chain.end_bytes = record.end_bytes;
    }
    return chain;
}

void add_up(std::vector<Oddity>& all, const std::vector<Oddity>& more) {
    for (const Oddity& oddity : more) {
        const auto same = std::find_if(all.begin(), all.end(), [&](const Oddity& o) { return o.kind == oddity.kind; });
        if (same == all.end()) {
            all.push_back(oddity);
        } else {
            same->count += oddity.count;
            same->lost_bytes += oddity.lost_bytes;
        }
    }
}

// What is known of a shard before it is walked.
struct Foreknown {
    bool compressed = false;
    std::optional<KnownShard> all;
    std::string identity;
    std::vector<Oddity> oddities;
};

Foreknown look_at(const ShardFile& shard, const ChainFormat& format, const IndexCache& cache) {
    Foreknown found;
    found.compressed = is_compressed(shard, format);
    if (!found.compressed) {
        std::optional<Chain> chain = chain_from_index_file(shard, format, found.oddities);
        if (chain) found.all = KnownShard{std::move(*chain), nullptr};
    }
    if (!found.all) {
        found.identity = cache.identity(shard);
        found.all = cache.load(shard, found.identity);
        if (found.all && (found.all->access != nullptr) != found.compressed) found.all.reset();
    }
    return found;
}

// In the order of shards and of their bytes.
std::vector<Stretch> cut(std::span<const ShardFile> shards, const ChainFormat& format, const ChainOptions& options,
                         const IndexCache& cache, std::vector<Oddity>& oddities) {
    std::vector<Foreknown> known(shards.size());
    for_each_index(shards.size(), options.threads,
                   [&](std::size_t shard) { known[shard] = look_at(shards[shard], format, cache); });
    const auto many = static_cast<std::uint64_t>(
        std::count_if(known.begin(), known.end(), [](const Foreknown& shard) { return shard.compressed; }));
    std::vector<Stretch> parts;
    for (std::size_t shard = 0; shard < shards.size(); ++shard) {
        const std::uint64_t size = shards[shard].size_bytes;
        add_up(oddities, known[shard].oddities);
        if (known[shard].compressed && !can_inflate()) throw no_zlib(shards[shard].path);
        if (known[shard].compressed || known[shard].all) {
            Stretch& whole = parts.emplace_back();
            whole.shard = shard;
            whole.end_bytes = size;
            whole.known = known[shard].all.has_value();
            if (whole.known) {
                whole.chain = std::move(known[shard].all->chain);
                whole.access = std::move(known[shard].all->access);
                // It may have been kept for fewer shards.
                if (whole.access != nullptr) whole.access->limit(options.window_budget_bytes / many);
            } else {
                whole.identity = std::move(known[shard].identity);
                whole.access = std::make_shared<AccessPoints>(options.window_budget_bytes / many);
            }
            continue;
        }
        for (std::uint64_t begin = 0; begin < size; begin += options.part_bytes) {
            Stretch& part = parts.emplace_back();
            part.shard = shard;
            part.begin_bytes = begin;
            part.end_bytes = std::min(begin + options.part_bytes, size);
            if (begin == 0) part.identity = std::move(known[shard].identity);
        }
    }
    return parts;
}

}  // namespace

ChainOptions chain_options(const OpenOptions& options) {
    ChainOptions how;
    if (options.threads > 0) how.threads = options.threads;
    how.skip_corrupt = options.skip_corrupt;
    how.index_cache = options.index_cache;
    how.index_cache_from_ns = options.index_cache_from_ns;
    how.progress = options.progress;
    how.progress_context = options.progress_context;
    return how;
}

WalkedShards walk_shards(std::span<const ShardFile> shards, const ChainFormat& format, const ChainOptions& options,
                         const OnShard& on_shard) {
    WalkedShards walked;
    const IndexCache cache(options.index_cache, format.tag());
    const Nanoseconds begun_ns = now_ns();
    std::vector<Stretch> parts = cut(shards, format, options, cache, walked.oddities);
    std::atomic<std::uint64_t> found{0};
    for_each_index(parts.size(), options.threads, [&](std::size_t i) {
        walk(parts[i], shards[parts[i].shard], format);
        const std::size_t here = parts[i].chain.links.size();
        const std::uint64_t records = found.fetch_add(here) + here;
        if (options.progress != nullptr) options.progress(records, options.progress_context);
    });
    const bool worth_keeping = now_ns() - begun_ns >= options.index_cache_from_ns;
    walked.access.resize(shards.size());
    std::size_t begin = 0;
    for (std::size_t shard = 0; shard < shards.size(); ++shard) {
        std::size_t end = begin;
        while (end < parts.size() && parts[end].shard == shard) ++end;
        const std::span<Stretch> own = std::span(parts).subspan(begin, end - begin);
        std::vector<Oddity> skipped;
        Joiner joiner(shards[shard], format, options);
        const bool compressed = !own.empty() && own.front().access != nullptr;
        const std::string identity = own.empty() ? std::string() : own.front().identity;
        const std::span<const WalkedRecord> records =
            compressed ? joiner.take_whole(own.front(), skipped) : joiner.join(own, skipped);
        on_shard(shard, records);
        if (worth_keeping && !identity.empty() && skipped.empty()) {
            cache.store(shards[shard], identity, {chain_of(records), compressed ? own.front().access : nullptr});
        }
        if (compressed) walked.access[shard] = std::move(own.front().access);
        add_up(walked.oddities, skipped);
        begin = end;
    }
    return walked;
}

}  // namespace feedline
