#include "loaders/pth/samples.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "core/crc32.h"
#include "core/error.h"
#include "core/fd.h"
#include "core/little_endian.h"
#include "core/units.h"
#include "loaders/pickle/surrogates.h"
#include "loaders/pth/gather.h"

namespace feedline::pth {
namespace {

using pickle::Kind;
using pickle::Value;

constexpr std::array<std::string_view, 5> kDataNames = {"images", "data", "x", "X", "inputs"};
constexpr std::array<std::string_view, 5> kLabelNames = {"labels", "targets", "y", "label", "target"};

// How deep lists and dicts may stand in each other.
constexpr int kMaxDepth = 64;

class Finder {
public:
    Finder(const Container& container, const std::string& path) : container_(container), path_(path) {}

    Samples find() {
        const Value root = container_.tree.root();
        samples_.layout = packed(root) ? "packed" : batch(root) ? "rows" : "tensors";
        if (samples_.layout == "tensors") each_tensor(root);
        return std::move(samples_);
    }

private:
    Error error(ErrorKind kind, std::string what) const {
        return Error(kind, std::move(what)).at(container_.place.path, container_.place.offset_bytes);
    }
    Error corrupt(std::string what) const { return error(ErrorKind::corrupt, std::move(what)); }

    std::optional<Tensor> tensor(Value value) const { return tensor_of(value, container_.storages, container_.place); }
    std::optional<Tensor> tensor(std::optional<Value> value) const { return value ? tensor(*value) : std::nullopt; }

    static bool is_integers(const Tensor& tensor) { return tensor.is_list() && tensor.type->number != Number::other; }

    // All numbers of a one-dimensional tensor of integers.
    std::vector<std::int64_t> integers(const Tensor& tensor) const {
        const Fd fd(open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
        if (!fd) throw system_error(errno, "cannot open the shard", path_);
        std::vector<std::byte> bytes(tensor.bytes);
        if (const int failed = Gather().read(fd.get(), tensor, std::nullopt, bytes); failed != 0) {
            throw Error(failed == -ENODATA ? ErrorKind::changed : ErrorKind::io, "cannot read a tensor")
                .at(path_, tensor.offset_bytes)
                .because(-failed);
        }
        if (tensor.crc32 != 0 && crc32(bytes) != tensor.crc32) {
            throw Error(ErrorKind::corrupt, "the checksum of a tensor is wrong").at(path_, tensor.offset_bytes);
        }
        std::vector<std::int64_t> numbers;
        numbers.reserve(tensor.sizes[0]);
        const std::size_t item = tensor.type->bytes;
        const bool is_signed = tensor.type->number == Number::signed_integer;
        for (std::size_t at = 0; at < bytes.size(); at += item) {
            std::uint64_t number = is_signed && (bytes[at + item - 1] & std::byte{0x80}) != std::byte{0} ? ~0ULL : 0;
            for (std::size_t i = item; i-- > 0;) number = number << 8U | std::to_integer<std::uint64_t>(bytes[at + i]);
            numbers.push_back(static_cast<std::int64_t>(number));
        }
        return numbers;
    }

    // "a tensor of float32 [8, 10]", "a list of text".
    std::string describe(Value value) const {
        if (const std::optional<Tensor> found = tensor(value)) {
            return fmt::format("a tensor of {} [{}]", found->type->dtype, fmt::join(found->sizes, ", "));
        }
        if (value.plain() || value.bytes()) return "text";
        const bool sequence = value.is(Kind::list) || value.is(Kind::tuple);
        if (!sequence || value.size() == 0) return "no list";
        for (std::size_t i = 0; i < value.size(); ++i) {
            if (value[i].integer()) continue;
            if (value[i].plain() || value[i].bytes()) return fmt::format("a list with text, first at {}", i);
            return fmt::format("a list of other things than integers, first at {}", i);
        }
        return "a list of integers";
    }

    // Labels of `count` samples: a tensor of integers or a list of them; none where they are something else.
    std::vector<std::int64_t> labels_of(Value value, std::uint64_t count) const {
        if (const std::optional<Tensor> found = tensor(value)) {
            return is_integers(*found) && found->sizes[0] == count ? integers(*found) : std::vector<std::int64_t>();
        }
        std::vector<std::int64_t> labels;
        for (std::size_t i = 0; i < value.size() && value.size() == count && !value.is(Kind::dict); ++i) {
            const std::optional<std::int64_t> label = value[i].integer();
            if (!label) return {};
            labels.push_back(*label);
        }
        return labels;
    }

    // Our own layout: all payloads in one tensor of bytes, and where each begins.
    bool packed(Value root) {
        const std::optional<Tensor> data = tensor(root.find("data"));
        const std::optional<Tensor> offsets = tensor(root.find("offsets"));
        if (!data || !offsets || data->type->dtype != "uint8" || !data->is_list() || !is_integers(*offsets)) {
            return false;
        }
        if (!data->row_major()) throw corrupt("the bytes in 'data' do not lie in order");
        if (offsets->sizes[0] == 0)
            throw corrupt("'offsets' is empty; it holds one number more than there are samples");
        const std::uint64_t count = offsets->sizes[0] - 1;
        const std::vector<std::int64_t> begins = integers(*offsets);
        std::int64_t before = 0;
        for (std::size_t i = 0; i < begins.size(); ++i) {
            if (begins[i] < before || static_cast<std::uint64_t>(begins[i]) > data->bytes) {
                throw Error(ErrorKind::corrupt, fmt::format("offset {} of sample {} is wrong ('data' has {} bytes)",
                                                            begins[i], i, data->bytes))
                    .at(path_, offsets->offset_bytes + i * offsets->strides[0] * offsets->type->bytes);
            }
            before = begins[i];
        }
        samples_.records.reserve(count);
        for (std::size_t i = 0; i < count; ++i) {
            samples_.records.push_back({data->offset_bytes + static_cast<std::uint64_t>(begins[i]),
                                        static_cast<std::uint64_t>(begins[i + 1] - begins[i])});
        }
        if (const std::optional<Value> labels = root.find("labels")) {
            samples_.labels = labels_of(*labels, count);
            if (samples_.labels.size() != count) throw corrupt("'labels' is not one integer a sample");
        }
        if (const std::optional<Value> keys = root.find("keys")) {
            if (keys->size() != count || keys->is(Kind::dict)) {
                throw corrupt(
                    fmt::format("'keys' has {} entries for {}", keys->size(), format_counted(count, "sample")));
            }
            for (std::size_t i = 0; i < count; ++i) add_name(name_of((*keys)[i], i));
            samples_.names_are_paths = true;
        }
        read_classes(root);
        return true;
    }

    void read_classes(Value root) {
        const std::optional<Value> classes = root.find("classes");
        for (std::size_t i = 0; classes && classes->is(Kind::dict) && i < classes->size(); ++i) {
            const auto [name, label] = classes->entry(i);
            if (const std::optional<std::int64_t> number = label.integer()) {
                samples_.classes.emplace_back(name_of(name, i), *number);
            }
        }
    }

    // One tensor whose rows are the samples, alone or with a label for each.
    bool batch(Value root) {
        std::optional<Value> data;
        std::optional<Value> labels;
        std::string_view label_name = "1";
        if (root.is(Kind::dict)) {
            const auto first_of = [&](std::span<const std::string_view> names) {
                std::optional<Value> found;
                for (std::size_t i = 0; i < names.size() && !found; ++i) found = root.find(names[i]);
                return found;
            };
            data = first_of(kDataNames);
            labels = first_of(kLabelNames);
            for (const std::string_view name : kLabelNames) {
                if (root.find(name)) {
                    label_name = name;
                    break;
                }
            }
            if (!data || !labels) return false;
        } else if (root.is(Kind::tuple) && root.size() == 2) {
            data = root[0];
            labels = root[1];
        } else {
            data = root;
        }
        std::optional<Tensor> rows = tensor(*data);
        if (!rows || rows->sizes.empty()) return false;
        const std::uint64_t count = rows->sizes[0];
        if (labels) {
            const std::optional<Tensor> targets = tensor(*labels);
            const std::uint64_t targets_count = !targets                 ? labels->size()
                                                : targets->sizes.empty() ? 0
                                                                         : targets->sizes[0];
            if (targets_count != count) return false;
        }
        // Rows without bytes, or overlapping ones, cost nothing in the file.
        if (count > container_.place.file_bytes) {
            throw corrupt(fmt::format("a tensor of {} rows, more than the file has bytes", count));
        }
        if (labels) {
            samples_.labels = labels_of(*labels, count);
            if (samples_.labels.empty() && count > 0) {
                samples_.unread_labels = fmt::format("{}: {}", label_name, describe(*labels));
            }
        }
        if (root.is(Kind::dict)) {
            read_classes(root);
            for (std::size_t i = 0; i < root.size(); ++i) {
                const Value value = root.entry(i).second;
                if (value.id() != data->id() && value.id() != labels->id() && tensor(value)) ++samples_.beside;
            }
        }
        const bool plain = rows->row_major(1);
        const std::uint64_t stride = rows->strides[0] * rows->type->bytes;
        const std::uint64_t length = count == 0 ? 0 : rows->bytes / count;
        for (std::uint64_t i = 0; i < count; ++i) {
            samples_.records.push_back(
                {plain && length > 0 ? rows->offset_bytes + i * stride : rows->offset_bytes, length});
        }
        if (!plain) samples_.strided.push_back({0, count, true, std::move(*rows)});
        return true;
    }

    // Every tensor is a sample, by the names on the way to it.
    void each_tensor(Value root) {
        visits_left_ = 8 * container_.pickle_bytes.size() + 1024;
        std::string name;
        walk(root, name, 0);
        if (std::all_of(samples_.labels.begin(), samples_.labels.end(),
                        [](std::int64_t label) { return label == kNoLabel; })) {
            samples_.labels.clear();
        }
        if (std::all_of(samples_.checksums.begin(), samples_.checksums.end(),
                        [](std::uint32_t checksum) { return checksum == 0; })) {
            samples_.checksums.clear();
        }
    }

    void walk(Value value, std::string& name, int depth) {
        if (depth > kMaxDepth) {
            throw error(ErrorKind::usage, fmt::format("lists and dicts more than {} deep in each other", kMaxDepth));
        }
        // What is shared in a pickle can be reached on more ways than could ever be walked.
        if (visits_left_-- == 0) throw corrupt("the pickle refers to the same things again and again");
        if (std::optional<Tensor> found = tensor(value)) {
            add(name.empty() ? "tensor" : name, std::move(*found), kNoLabel);
            return;
        }
        const bool sequence = value.is(Kind::list) || value.is(Kind::tuple);
        // (image, label)
        if (sequence && value.size() == 2 && value[1].is(Kind::integer)) {
            if (std::optional<Tensor> found = tensor(value[0])) {
                add(name.empty() ? "tensor" : name, std::move(*found), *value[1].integer());
                return;
            }
        }
        const std::size_t length = name.size();
        note_unread_label(value, name);
        for (std::size_t i = 0; i < value.size(); ++i) {
            if (!sequence && !value.is(Kind::dict)) break;
            if (length > 0) name += '.';
            name += sequence ? std::to_string(i) : name_of(value.entry(i).first, i);
            walk(sequence ? value[i] : value.entry(i).second, name, depth + 1);
            name.resize(length);
        }
    }

    // Beside a tensor, as in {'image': tensor, 'label': 3} or (tensor, 'cat'): what would be a label is not taken for
    // one, and is no tensor, which would be a sample of its own.
    void note_unread_label(Value value, const std::string& name) {
        if (!samples_.unread_labels.empty()) return;
        const std::string at = name.empty() ? "" : name + ".";
        if (value.is(Kind::dict)) {
            const bool tensors = [&] {
                for (std::size_t i = 0; i < value.size(); ++i) {
                    if (tensor(value.entry(i).second)) return true;
                }
                return false;
            }();
            for (const std::string_view label : kLabelNames) {
                const std::optional<Value> found = tensors ? value.find(label) : std::nullopt;
                if (found && !tensor(found)) samples_.unread_labels = fmt::format("{}{}", at, label);
            }
        } else if ((value.is(Kind::list) || value.is(Kind::tuple)) && value.size() == 2 && tensor(value[0]) &&
                   (value[1].plain() || value[1].bytes())) {
            samples_.unread_labels = fmt::format("{}1: text", at);
        }
    }

    void add(const std::string& name, Tensor tensor, std::int64_t label) {
        add_name(name);
        samples_.labels.push_back(label);
        samples_.checksums.push_back(tensor.crc32);
        samples_.records.push_back({tensor.offset_bytes, tensor.bytes});
        if (!tensor.row_major()) samples_.strided.push_back({samples_.records.size() - 1, 1, false, std::move(tensor)});
    }

    // A long text costs a pickle two bytes where it is used again.
    void add_name(const std::string& name) {
        constexpr std::size_t kFree = 1U << 16U;
        name_bytes_ += name.size();
        if (name_bytes_ > 4 * container_.pickle_bytes.size() + kFree) {
            throw corrupt("the names of the samples are longer than the pickle can say");
        }
        samples_.names.push_back(name);
    }

    // What a key in a dict or a list is called: text as it is, a number by its digits, all else by its place.
    static std::string name_of(Value key, std::size_t place) {
        if (const std::optional<std::string_view> plain = key.plain()) return pickle::unescape_surrogates(*plain);
        if (const std::optional<std::string> bytes = key.bytes()) return *bytes;
        if (const std::optional<std::int64_t> number = key.integer()) return std::to_string(*number);
        return std::to_string(place);
    }

    const Container& container_;
    const std::string& path_;
    Samples samples_;
    std::uint64_t visits_left_ = 0;
    std::uint64_t name_bytes_ = 0;
};

}  // namespace

Samples samples_of(const Container& container, const std::string& path) {
    return Finder(container, path).find();
}

}  // namespace feedline::pth
