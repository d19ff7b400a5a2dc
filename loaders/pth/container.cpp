#include "loaders/pth/container.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "core/crc32.h"
#include "core/error.h"
#include "core/little_endian.h"
#include "core/units.h"
#include "loaders/pickle/machine.h"
#include "loaders/pth/torch_globals.h"
#include "loaders/pth/zip_archive.h"
#include "loaders/pth/zip_layout.h"

namespace feedline::pth {
namespace {

using pickle::Kind;
using pickle::Value;

// torch/serialization.py: MAGIC_NUMBER, as LONG1 writes it.
constexpr std::array<unsigned char, 12> kLegacyMagic = {0x8a, 0x0a, 0x6c, 0xfc, 0x9c, 0x46,
                                                        0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19};
constexpr std::int64_t kLegacyProtocol = 1001;

constexpr std::string_view kPickleName = "/data.pkl";
constexpr std::size_t kSmallEntryBytes = 64;  // version, byteorder and their like

constexpr std::string_view kSaveAgain = "Load it in PyTorch and save it again";

std::string_view text(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

pickle::Tree parse(std::span<const std::byte> bytes, const Place& place) {
    return pickle::parse(bytes, {.globals = torch_globals(),
                                 .persistent_ids = true,
                                 .path = place.path,
                                 .file_offset_bytes = place.offset_bytes});
}

// Calls found(reference) for each reference to a storage in the pickle.
template <typename Found>
void each_reference(const Container& container, const Found& found) {
    for (std::size_t i = 0; i < container.tree.values(); ++i) {
        const Value value = container.tree[static_cast<pickle::ValueId>(i)];
        if (value.is(Kind::persistent)) found(parse_reference(value, container.place));
    }
}

void refuse_size(const StorageReference& reference, std::uint64_t offset, std::uint64_t size, const Place& place) {
    if (reference.bytes() == size) return;
    throw Error(ErrorKind::corrupt, fmt::format("storage {} has {} bytes, and the pickle says {}",
                                                printable(reference.key), size, reference.bytes()))
        .at(place.path, offset);
}

class ZipReader {
public:
    explicit ZipReader(FileWindow& file) : file_(file), archive_(file) {}

    Container open() {
        const ZipEntry& pickle = pickle_entry();
        root_ = pickle.name.substr(0, pickle.name.size() - kPickleName.size() + 1);
        refuse_script();
        check_version();
        check_byte_order();

        Container container;
        const std::uint64_t offset = archive_.data_offset(pickle);
        container.place = {file_.path(), offset, file_.size_bytes()};
        if (pickle.size_bytes > pickle::kMaxPickleBytes) {
            throw Error(ErrorKind::usage, fmt::format("a pickle of {}, more than {} is not read",
                                                      format_size(static_cast<double>(pickle.size_bytes)),
                                                      format_size(static_cast<double>(pickle::kMaxPickleBytes))))
                .at(file_.path(), offset);
        }
        container.pickle_bytes = content(pickle, offset);
        container.tree = parse(container.pickle_bytes, container.place);
        find_storages(container);
        return container;
    }

private:
    const ZipEntry& pickle_entry() const {
        const ZipEntry* found = nullptr;
        for (const ZipEntry& entry : archive_.entries()) {
            // NAME/data.pkl, and not deeper: TorchScript has pickles of its own below.
            if (!entry.name.ends_with(kPickleName) || entry.name.find('/') != entry.name.size() - kPickleName.size()) {
                continue;
            }
            if (found != nullptr) {
                throw Error(ErrorKind::corrupt, "a ZIP with two files data.pkl").at(file_.path(), entry.header_offset);
            }
            found = &entry;
        }
        if (found == nullptr) {
            throw Error(ErrorKind::usage, "a ZIP, and not one of PyTorch's: no NAME/data.pkl in it").at(file_.path());
        }
        return *found;
    }

    const ZipEntry* find(std::string_view name) const { return archive_.find(root_ + std::string(name)); }

    void refuse_script() const {
        const bool code = std::any_of(archive_.entries().begin(), archive_.entries().end(),
                                      [&](const ZipEntry& entry) { return entry.name.starts_with(root_ + "code/"); });
        if (!code && find("constants.pkl") == nullptr) return;
        throw Error(ErrorKind::usage, "a TorchScript archive: a program with its weights, and no data set")
            .at(file_.path())
            .advise("Save its tensors, as in torch.save(module.state_dict(), ...)");
    }

    // Small entries that say how to read the others.
    std::string small(const ZipEntry& entry) const {
        if (entry.size_bytes > kSmallEntryBytes) {
            throw Error(ErrorKind::corrupt,
                        fmt::format("entry {} has {} bytes", printable(entry.name), entry.size_bytes))
                .at(file_.path(), entry.header_offset);
        }
        return std::string(text(content(entry, archive_.data_offset(entry))));
    }

    std::vector<std::byte> content(const ZipEntry& entry, std::uint64_t offset) const {
        const std::span<const std::byte> read = file_.at(offset, entry.size_bytes);
        // PyTorch can be told to store no checksums; it writes 0.
        if (entry.crc32 != 0 && crc32(read) != entry.crc32) {
            throw Error(ErrorKind::corrupt, fmt::format("the checksum of entry {} is wrong", printable(entry.name)))
                .at(file_.path(), offset);
        }
        return {read.begin(), read.end()};
    }

    // caffe2/serialize/versions.h: versions 1 to 10 are known, and none of them changed how tensors lie.
    void check_version() const {
        constexpr int kLast = 10;
        const ZipEntry* entry = find("version");
        if (entry == nullptr) entry = find(".data/version");
        if (entry == nullptr) return;
        const std::string word = small(*entry);
        int version = 0;
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), version);
        if (error != std::errc() || version < 1 || (*end != '\n' && *end != '\0')) {
            throw Error(ErrorKind::corrupt, "the file's version is no number").at(file_.path(), entry->header_offset);
        }
        if (version > kLast) {
            throw Error(ErrorKind::usage, fmt::format("a .pth file of version {}, later than is known", version))
                .at(file_.path(), entry->header_offset);
        }
    }

    void check_byte_order() const {
        const ZipEntry* entry = find("byteorder");
        if (entry == nullptr) return;  // before 2.1
        const std::string order = small(*entry);
        if (order == "little") return;
        if (order != "big") {
            throw Error(ErrorKind::corrupt, fmt::format("byte order '{}'", printable(order)))
                .at(file_.path(), entry->header_offset);
        }
        throw Error(ErrorKind::usage, "saved on a big-endian machine, which is not read")
            .at(file_.path(), entry->header_offset)
            .advise("Load it in PyTorch on a little-endian machine and save it again");
    }

    void find_storages(Container& container) const {
        each_reference(container, [&](const StorageReference& reference) {
            const auto [place, added] = container.storages.try_emplace(std::string(reference.key));
            if (added) {
                const ZipEntry* entry = find("data/" + std::string(reference.key));
                if (entry == nullptr) {
                    throw Error(ErrorKind::corrupt, fmt::format("no storage {} in the file", printable(reference.key)))
                        .at(container.place.path, container.place.offset_bytes);
                }
                place->second = {archive_.data_offset(*entry), entry->size_bytes, entry->crc32};
            }
            refuse_size(reference, place->second.offset_bytes, place->second.size_bytes, container.place);
        });
    }

    FileWindow& file_;
    ZipArchive archive_;
    std::string root_;  // with the slash
};

// Pickles one behind the other (magic number, protocol, system, object, keys of storages), then the storages.
class LegacyReader {
public:
    explicit LegacyReader(FileWindow& file) : file_(file) {
        // Data are not told from pickles before those are parsed.
        const std::uint64_t size = std::min<std::uint64_t>(file.size_bytes(), pickle::kMaxPickleBytes);
        std::uint64_t want = std::min(size, kFirstBytes);
        for (;;) {
            const std::span<const std::byte> read = file_.at(0, want);
            bytes_.assign(read.begin(), read.end());
            if (want == size || find_end()) break;
            want = std::min(size, want * 4);
        }
    }

    Container open() {
        Container container;
        container.pickle_bytes = std::move(bytes_);
        const std::span<const std::byte> all = container.pickle_bytes;
        container.place = {file_.path(), 0, file_.size_bytes()};
        at_ = 0;
        next(all, container);  // the magic number: looked at by form_of()
        const pickle::Tree protocol = next(all, container);
        if (protocol.root().integer() != kLegacyProtocol) {
            throw Error(ErrorKind::usage, "a .pth file of a protocol that is not known")
                .at(file_.path(), container.place.offset_bytes)
                .advise(kSaveAgain);
        }
        next(all, container);  // sizes of types, and the writer's byte order: storages are little-endian all the same
        container.tree = next(all, container);
        const Place object = container.place;
        const pickle::Tree keys = next(all, container);
        container.place = object;
        find_storages(container, keys.root());
        return container;
    }

private:
    static constexpr std::uint64_t kFirstBytes = 1U << 20U;

    pickle::Tree next(std::span<const std::byte> all, Container& container) {
        container.place.offset_bytes = at_;
        pickle::Tree tree = parse(all.subspan(at_), container.place);
        at_ += tree.consumed_bytes();
        return tree;
    }

    // Whether bytes_ holds all pickles.
    bool find_end() {
        try {
            Container container;
            container.place = {file_.path(), 0, file_.size_bytes()};
            at_ = 0;
            for (int i = 0; i < 5; ++i) next(bytes_, container);
            return true;
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::corrupt) throw;
            return false;
        }
    }

    void find_storages(Container& container, Value keys) {
        std::unordered_map<std::string_view, const ElementType*> types;
        each_reference(container,
                       [&](const StorageReference& reference) { types.emplace(reference.key, reference.type); });
        if (!keys.is(Kind::list)) throw corrupt("no list of storages");
        for (std::size_t i = 0; i < keys.size(); ++i) {
            const std::optional<std::string_view> key = keys[i].plain();
            const auto type = key ? types.find(*key) : types.end();
            if (type == types.end()) throw corrupt("a storage that nothing refers to");
            const std::span<const std::byte> count = file_.at(at_, sizeof(std::uint64_t));
            if (count.size() < sizeof(std::uint64_t)) throw truncated(*key);
            const auto elements = load_le<std::uint64_t>(count);
            at_ += count.size();
            if (elements > (file_.size_bytes() - at_) / type->second->bytes) throw truncated(*key);
            const std::uint64_t size = elements * type->second->bytes;
            if (!container.storages.emplace(*key, Storage{at_, size}).second) throw corrupt("two storages of one key");
            at_ += size;
        }
        each_reference(container, [&](const StorageReference& reference) {
            const auto found = container.storages.find(std::string(reference.key));
            if (found == container.storages.end()) throw corrupt("a storage is not in the file");
            refuse_size(reference, found->second.offset_bytes, found->second.size_bytes, container.place);
        });
        if (at_ != file_.size_bytes()) throw corrupt("the file goes on behind its last storage");
    }

    Error corrupt(std::string what) const { return Error(ErrorKind::corrupt, std::move(what)).at(file_.path(), at_); }
    Error truncated(std::string_view key) const {
        return corrupt(fmt::format("the file is truncated in storage {}", printable(key)));
    }

    FileWindow& file_;
    std::vector<std::byte> bytes_;
    std::uint64_t at_ = 0;
};

}  // namespace

Form form_of(std::span<const std::byte> start) {
    constexpr std::size_t kSignatureBytes = 4;
    constexpr std::size_t kLookBytes = 32;  // a protocol and perhaps a frame stand before the magic number
    constexpr std::size_t kTarMagic = 257;
    constexpr std::array<std::string_view, 4> kTarMembers = {"sys_info", "pickle", "storages", "tensors"};
    if (start.size() >= kSignatureBytes) {
        const auto signature = load_le<std::uint32_t>(start);
        if (signature == zip::kLocalSignature || signature == zip::kEndSignature) return Form::zip;
    }
    const std::span<const std::byte> look = start.first(std::min(start.size(), kLookBytes));
    if (look.size() > 2 && look[0] == std::byte{0x80}) {
        const auto magic = std::as_bytes(std::span(kLegacyMagic));
        if (std::search(look.begin(), look.end(), magic.begin(), magic.end()) != look.end()) return Form::legacy;
    }
    if (start.size() >= kStartBytes && text(start.subspan(kTarMagic)).starts_with("ustar")) {
        const std::string_view name = text(start).substr(0, text(start).find('\0'));
        if (std::find(kTarMembers.begin(), kTarMembers.end(), name.substr(name.starts_with("./") ? 2 : 0)) !=
            kTarMembers.end()) {
            return Form::tar;
        }
    }
    return Form::none;
}

Container open_container(FileWindow& file) {
    switch (form_of(file.at(0, kStartBytes))) {
        case Form::zip: return ZipReader(file).open();
        case Form::legacy: return LegacyReader(file).open();
        case Form::tar:
            throw Error(ErrorKind::usage, "a .pth file of PyTorch before 0.1.10 (a tar), which is not read")
                .at(file.path())
                .advise(kSaveAgain);
        case Form::none: break;
    }
    throw Error(ErrorKind::usage, fmt::format("no .pth file: its {} begin neither as a ZIP nor as PyTorch's older form",
                                              format_counted(file.size_bytes(), "byte")))
        .at(file.path());
}

bool is_torch_zip(const std::string& path) {
    struct stat status {};
    if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
    try {
        FileWindow file(path, static_cast<std::uint64_t>(status.st_size));
        // torch.save writes the pickle first, and feedline pack the byte order, so that also the beginning of a
        // truncated file tells.
        const std::span<const std::byte> start = file.at(0, kStartBytes);
        if (start.size() > zip::kLocalBytes) {
            const std::size_t length = load_le<std::uint16_t>(start.subspan(26));
            const std::string_view first = text(start.subspan(zip::kLocalBytes)).substr(0, length);
            if (first.ends_with(kPickleName) || first.ends_with("/byteorder")) return true;
        }
        const ZipArchive archive(file);
        return std::any_of(archive.entries().begin(), archive.entries().end(),
                           [](const ZipEntry& entry) { return entry.name.ends_with(kPickleName); });
    } catch (const Error&) {
        return false;
    }
}

}  // namespace feedline::pth
