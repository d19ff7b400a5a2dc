#include "loaders/packed/manifest.h"

#include <fmt/format.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string_view>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/line_reader.h"
#include "loaders/packed/escape.h"
#include "loaders/packed/shard_json.h"

namespace feedline {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::string_view kNoChecksum = "00000000";

std::uint32_t checksum_of(std::string_view text) {
    return crc32c(std::as_bytes(std::span(text)));
}

template <typename Of>
std::uint64_t sum(const std::vector<PackedShard>& shards, const Of& of) {
    std::uint64_t total = 0;
    for (const PackedShard& shard : shards) total += of(shard);
    return total;
}

}  // namespace

std::uint64_t Manifest::samples() const {
    return sum(shards, [](const PackedShard& shard) { return shard.samples; });
}
std::uint64_t Manifest::bytes() const {
    return sum(shards, [](const PackedShard& shard) { return shard.bytes; });
}
std::uint64_t Manifest::content_bytes() const {
    return sum(shards, [](const PackedShard& shard) { return shard.content_bytes; });
}
std::uint64_t Manifest::left_out() const {
    return sum(shards, [](const PackedShard& shard) { return shard.left_out.size(); });
}

std::string to_text(const Manifest& manifest) {
    ordered_json classes = ordered_json::array();
    for (const ClassName& one : manifest.classes) {
        classes.push_back({{"label", one.label}, {"name", escaped(one.name)}, {"samples", one.samples}});
    }
    ordered_json shards = ordered_json::array();
    for (const PackedShard& shard : manifest.shards) shards.push_back(shard_json(shard));
    const ordered_json text = {
        {"schema", kManifestSchema},
        {"format", manifest.format},
        {"name", escaped(manifest.name)},
        {"plan", manifest.plan},
        {"order", manifest.order},
        {"seed", manifest.seed},
        {"labels", escaped(manifest.labels)},
        {"classes", classes},
        {"totals",
         {{"shards", manifest.shards.size()},
          {"samples", manifest.samples()},
          {"bytes", manifest.bytes()},
          {"content_bytes", manifest.content_bytes()},
          {"left_out", manifest.left_out()}}},
        {"shards", shards},
        {"crc32c", kNoChecksum},
    };
    std::string written = text.dump(1) + "\n";
    const std::string checksum = checksum_text(checksum_of(written));
    return written.replace(written.rfind(kNoChecksum), kNoChecksum.size(), checksum);
}

namespace {

// The text as it was before its checksum was put into it, and that.
std::optional<std::uint32_t> checksum_without_itself(std::string text, std::string_view stored) {
    const std::size_t at = text.rfind(fmt::format("\"crc32c\": \"{}\"", stored));
    if (stored.size() != kNoChecksum.size() || at == std::string::npos) return std::nullopt;
    text.replace(text.find(stored, at), stored.size(), kNoChecksum);
    return checksum_of(text);
}

Manifest parse(const std::string& text) {
    const json value = json::parse(text);
    const auto stored = value.at("crc32c").get<std::string>();
    const std::optional<std::uint32_t> checksum = checksum_without_itself(text, stored);
    if (!checksum || checksum_text(*checksum) != stored) {
        throw Error(ErrorKind::corrupt, "the manifest is not as it was written");
    }
    if (value.at("schema").get<std::string>() != kManifestSchema) {
        throw Error(ErrorKind::corrupt, "the manifest is of a kind that is not known here");
    }
    Manifest manifest;
    manifest.format = value.at("format").get<std::string>();
    manifest.name = unescaped(value.at("name").get<std::string>());
    manifest.plan = value.at("plan").get<std::string>();
    manifest.order = value.at("order").get<std::string>();
    const json& seed = value.at("seed");
    if (!seed.is_number_unsigned()) throw Error(ErrorKind::corrupt, "the seed is no whole number from 0 on");
    manifest.seed = seed.get<std::uint64_t>();
    manifest.labels = unescaped(value.at("labels").get<std::string>());
    std::set<std::int64_t> labels;
    for (const json& one : value.at("classes")) {
        manifest.classes.push_back({unescaped(one.at("name").get<std::string>()), whole_number_in(one.at("label")),
                                    count_in(one.at("samples"))});
        if (!labels.insert(manifest.classes.back().label).second) {
            throw Error(ErrorKind::corrupt, "two classes of the manifest have one label");
        }
    }
    if (!value.at("shards").is_array() || value.at("shards").empty()) {
        throw Error(ErrorKind::corrupt, "the manifest names no shards");
    }
    for (const json& shard : value.at("shards")) manifest.shards.push_back(shard_of(shard));
    const json& totals = value.at("totals");
    if (count_in(totals.at("samples")) != manifest.samples() || count_in(totals.at("bytes")) != manifest.bytes() ||
        count_in(totals.at("content_bytes")) != manifest.content_bytes()) {
        throw Error(ErrorKind::corrupt, "the manifest's totals are not the sums of its shards");
    }
    return manifest;
}

}  // namespace

std::optional<Manifest> read_manifest(const std::string& directory) {
    const std::string path = directory + (directory.ends_with('/') ? "" : "/") + kManifestName;
    std::string text;
    try {
        text = read_text(path);
    } catch (const Error& error) {
        if (error.error_number() == ENOENT || error.error_number() == ENOTDIR) return std::nullopt;
        throw;
    }
    try {
        return parse(text);
    } catch (const Error& error) {
        throw Error(error.kind(), error.message()).at(path);
    } catch (const nlohmann::json::exception&) {
        throw Error(ErrorKind::corrupt, "the manifest is damaged").at(path);
    }
}

}  // namespace feedline
