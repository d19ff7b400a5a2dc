#include <fmt/format.h>

#include <optional>
#include <string>

#include "core/crc32c.h"
#include "loaders/packed/manifest.h"
#include "loaders/packed/sidecar.h"
#include "packers/pack/journal.h"
#include "tests/fuzz/target.h"
#include "tests/testutil/memory_directory.h"
#include "tests/testutil/temp_dir.h"

namespace feedline {
namespace {

// The checksum that a manifest ends with, made right.
std::string sealed(std::string text) {
    constexpr std::string_view kName = "\"crc32c\": \"";
    constexpr std::size_t kDigits = 8;
    const std::size_t name = text.rfind(kName);
    if (name == std::string::npos || text.size() < name + kName.size() + kDigits) return text;
    text.replace(name + kName.size(), kDigits, kDigits, '0');
    const std::uint32_t checksum = crc32c(std::as_bytes(std::span(text)));
    return text.replace(name + kName.size(), kDigits, fmt::format("{:08x}", checksum));
}

// What could be read can be written, and is the same when it is read again.
void manifest(const test::TempDir& directory, const std::string& text) {
    const std::string path = directory / kManifestName;
    test::write_file(path, sealed(text));
    std::optional<Manifest> read;
    expect_answer_or_error([&] { read = read_manifest(directory.path()); });
    if (!read) return;
    const std::string again = to_text(*read);
    test::write_file(path, again);
    if (to_text(read_manifest(directory.path()).value()) != again) report("the manifest is another when written again");
}

void sidecar(const test::TempDir& directory, const std::string& text) {
    const std::string path = directory / "samples";
    test::write_file(path, text);
    expect_answer_or_error([&] {
        for_each_sample(path, [](const SidecarSample& sample, std::uint64_t /*offset_bytes*/) {
            if (parse_line(to_line(sample)) != sample) report("the sample is another when written again");
        });
    });
}

// What the first reading leaves behind is read the same.
void journal(const test::TempDir& directory, const std::string& text) {
    test::write_file(directory / kJournalName, text);
    const JournalStart start = Journal::peek(directory.path()).value_or(JournalStart{});
    expect_answer_or_error([&] {
        const std::size_t done = Journal(directory.path(), start).done().size();
        if (Journal(directory.path(), start).done().size() != done) report("the journal is another when read again");
    });
}

}  // namespace

void fuzz_one(std::span<const std::byte> input) {
    static const test::TempDir directory(test::memory_directory());
    const std::string text(reinterpret_cast<const char*>(input.data()), input.size());
    // They begin differently as they are written.
    if (text.starts_with("{\"plan\"")) return journal(directory, text);
    text.starts_with("{\"") ? sidecar(directory, text) : manifest(directory, text);
}

}  // namespace feedline
