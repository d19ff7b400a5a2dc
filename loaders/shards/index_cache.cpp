#include "loaders/shards/index_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "core/crc32c.h"
#include "core/fd.h"
#include "core/little_endian.h"

namespace feedline {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "FLINDEX1";
constexpr std::size_t kWindowBytes = std::size_t{32} << 10U;
// What access points may take, once read; the index that wrote them kept within its own budget.
constexpr std::uint64_t kBudgetBytes = 64U << 20U;
// More than this no byte of a deflate stream inflates to (https://zlib.net/zlib_tech.html).
constexpr std::uint64_t kMostInflated = 1032;

std::span<const std::byte> bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text));
}

class Writer {
public:
    void number(std::uint64_t value) {
        std::array<std::byte, sizeof(value)> bytes{};
        store_le(value, std::span(bytes));
        append(bytes);
    }
    void text(std::string_view text) {
        number(text.size());
        out_ += text;
    }
    void bytes(std::span<const std::byte> bytes) {
        number(bytes.size());
        append(bytes);
    }
    std::string finish() && {
        number(crc32c(bytes_of(out_)));
        return std::move(out_);
    }

private:
    void append(std::span<const std::byte> bytes) {
        out_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    std::string out_;
};

// Once something was not there nothing is.
class Reader {
public:
    explicit Reader(std::string_view in) : in_(in) {}

    std::uint64_t number() {
        const std::string_view bytes = take(sizeof(std::uint64_t));
        return bytes.empty() ? 0 : load_le<std::uint64_t>(bytes_of(bytes));
    }
    std::string_view text() { return take(number()); }
    // A count of things of at least `least_bytes`.
    std::uint64_t count(std::size_t least_bytes) {
        const std::uint64_t count = number();
        if (count <= in_.size() / least_bytes) return count;
        good_ = false;
        return 0;
    }
    bool good() const { return good_; }
    bool at_end() const { return in_.empty(); }

private:
    std::string_view take(std::uint64_t bytes) {
        good_ = good_ && bytes <= in_.size();
        if (!good_) return {};
        const std::string_view taken = in_.substr(0, bytes);
        in_.remove_prefix(bytes);
        return taken;
    }

    std::string_view in_;
    bool good_ = true;
};

// Empty where there is none, or something else lies in its place: whoever made that must not be waited for.
std::string content_of(const std::string& path, std::uint64_t most_bytes) {
    const Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW));
    struct stat status {};
    if (!fd || fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
    if (static_cast<std::uint64_t>(status.st_size) > most_bytes) return {};
    std::string content(static_cast<std::size_t>(status.st_size), '\0');
    std::size_t done = 0;
    while (done < content.size()) {
        const ssize_t got = ::read(fd.get(), content.data() + done, content.size() - done);
        if (got <= 0) return {};
        done += static_cast<std::size_t>(got);
    }
    return content;
}

// Of what a shard is now; empty where it cannot be seen.
std::string identity_of(const ShardFile& shard, std::string_view tag) {
    const Fd fd(open(shard.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    struct stat status {};
    if (!fd || fstat(fd.get(), &status) != 0) return {};
    std::error_code error;
    Writer identity;
    identity.text(tag);
    identity.text(fs::absolute(shard.path, error).native());
    identity.number(static_cast<std::uint64_t>(status.st_size));
    identity.number(static_cast<std::uint64_t>(status.st_mtim.tv_sec));
    identity.number(static_cast<std::uint64_t>(status.st_mtim.tv_nsec));
    identity.number(status.st_ino);
    std::array<std::byte, 4096> part{};
    for (const off_t offset : {off_t{0}, std::max<off_t>(status.st_size - static_cast<off_t>(part.size()), 0)}) {
        const ssize_t got = pread(fd.get(), part.data(), part.size(), offset);
        if (got < 0) return {};
        identity.number(crc32c(std::span(part).first(static_cast<std::size_t>(got))));
    }
    return std::move(identity).finish();
}

std::string written(std::string_view identity, const KnownShard& known) {
    Writer out;
    out.text(kMagic);
    out.text(identity);
    out.number(known.chain.links.size());
    for (const Link& link : known.chain.links) {
        out.number(link.offset_bytes);
        out.number(link.name_end);
    }
    out.text(known.chain.names);
    out.number(known.chain.end_bytes);
    out.number(known.access != nullptr ? 1 : 0);
    if (known.access != nullptr) {
        out.number(known.access->size());
        for (const AccessPoint& point : known.access->points()) {
            out.number(point.inflated_bytes);
            out.number(point.file_bytes);
            out.number(point.bits);
            out.number(point.in_gzip ? 1 : 0);
            out.bytes(point.window);
        }
    }
    return std::move(out).finish();
}

std::shared_ptr<AccessPoints> read_access(Reader& in, std::uint64_t shard_bytes) {
    auto access = std::make_shared<AccessPoints>(kBudgetBytes);
    constexpr std::size_t kLeastBytes = 40;
    for (std::uint64_t left = in.count(kLeastBytes); left > 0 && in.good(); --left) {
        AccessPoint point;
        point.inflated_bytes = in.number();
        point.file_bytes = in.number();
        point.bits = static_cast<unsigned>(in.number() & 7U);
        point.in_gzip = in.number() != 0;
        const std::span<const std::byte> window = bytes_of(in.text());
        const bool behind = access->size() == 0 || point.inflated_bytes >= access->points().back().inflated_bytes;
        const bool inside = point.file_bytes <= shard_bytes && (point.file_bytes > 0 || point.bits == 0);
        if (window.size() > kWindowBytes || !behind || !inside) return nullptr;
        point.window.assign(window.begin(), window.end());
        access->add(std::move(point));
    }
    return access;
}

std::optional<KnownShard> read(std::string_view content, std::string_view identity, std::uint64_t shard_bytes) {
    constexpr std::size_t kCrcBytes = sizeof(std::uint64_t);
    if (content.size() < kCrcBytes) return std::nullopt;
    const std::string_view body = content.substr(0, content.size() - kCrcBytes);
    if (load_le<std::uint64_t>(bytes_of(content.substr(body.size()))) != crc32c(bytes_of(body))) return std::nullopt;
    Reader in(body);
    if (in.text() != kMagic || in.text() != identity) return std::nullopt;
    KnownShard known;
    Chain& chain = known.chain;
    chain.links.resize(in.count(2 * sizeof(std::uint64_t)));
    for (Link& link : chain.links) {
        link.offset_bytes = in.number();
        link.name_end = in.number();
    }
    chain.names = in.text();
    chain.end_bytes = in.number();
    chain.finished = true;
    if (in.number() != 0) {
        known.access = read_access(in, shard_bytes);
        if (known.access == nullptr) return std::nullopt;
    }
    const bool ordered = std::is_sorted(chain.links.begin(), chain.links.end(), [](const Link& a, const Link& b) {
        return a.offset_bytes < b.offset_bytes || a.name_end < b.name_end;
    });
    const std::uint64_t a_byte = known.access != nullptr ? kMostInflated : 1;
    const bool inside = chain.end_bytes / a_byte <= shard_bytes;
    const bool bounded = chain.links.empty() || (chain.links.back().offset_bytes <= chain.end_bytes &&
                                                 chain.links.back().name_end <= chain.names.size());
    if (!in.good() || !in.at_end() || !ordered || !inside || !bounded) return std::nullopt;
    return known;
}

std::uint64_t fnv1a(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return hash;
}

}  // namespace

std::string IndexCache::file_for(const std::string& shard) const {
    std::error_code error;
    const std::string path = tag_ + ":" + fs::absolute(shard, error).native();
    return fmt::format("{}/{:016x}.index", directory_, fnv1a(path));
}

std::string IndexCache::identity(const ShardFile& shard) const {
    return directory_.empty() ? std::string() : identity_of(shard, tag_);
}

std::optional<KnownShard> IndexCache::load(const ShardFile& shard, std::string_view identity) const {
    if (identity.empty()) return std::nullopt;
    // What is kept of a shard is far less than the shard; a small one has a name and numbers.
    const std::uint64_t most_bytes = (1U << 20U) + 4 * shard.size_bytes;
    return read(content_of(file_for(shard.path), most_bytes), identity, shard.size_bytes);
}

void IndexCache::store(const ShardFile& shard, std::string_view identity, const KnownShard& known) const {
    if (identity.empty() || identity != identity_of(shard, tag_)) return;
    std::error_code error;
    fs::create_directories(directory_, error);
    const std::string name = file_for(shard.path);
    // Under its name only when it is whole: somebody else may be reading it, or writing the same.
    std::string temporary = name + ".XXXXXX";
    const Fd fd(mkostemp(temporary.data(), O_CLOEXEC));
    if (!fd) return;
    const std::string content = written(identity, known);
    std::size_t done = 0;
    while (done < content.size()) {
        const ssize_t put = write(fd.get(), content.data() + done, content.size() - done);
        if (put <= 0) break;
        done += static_cast<std::size_t>(put);
    }
    if (done == content.size()) fs::rename(temporary, name, error);
    if (done < content.size() || error) unlink(temporary.c_str());
}

std::string default_index_cache() {
    const char* cache = std::getenv("XDG_CACHE_HOME");
    if (cache != nullptr && cache[0] == '/') return std::string(cache) + "/feedline";
    const char* home = std::getenv("HOME");
    return home != nullptr && home[0] == '/' ? std::string(home) + "/.cache/feedline" : std::string();
}

}  // namespace feedline
