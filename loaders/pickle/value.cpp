#include "loaders/pickle/value.h"

namespace feedline::pickle {
namespace {

// Text whose letters are all below U+0100, back to the bytes that it stands for.
std::optional<std::string> latin1_bytes(std::string_view utf8) {
    std::string bytes;
    bytes.reserve(utf8.size());
    for (std::size_t i = 0; i < utf8.size(); ++i) {
        const auto lead = static_cast<unsigned char>(utf8[i]);
        if (lead < 0x80) {
            bytes += static_cast<char>(lead);
            continue;
        }
        if ((lead != 0xc2 && lead != 0xc3) || i + 1 == utf8.size()) return std::nullopt;
        const auto trail = static_cast<unsigned char>(utf8[++i]);
        if ((trail & 0xc0U) != 0x80) return std::nullopt;
        bytes += static_cast<char>((lead & 3U) << 6U | (trail & 0x3fU));
    }
    return bytes;
}

}  // namespace

std::string_view to_string(Kind kind) {
    switch (kind) {
        case Kind::none: return "None";
        case Kind::boolean: return "bool";
        case Kind::integer:
        case Kind::long_integer: return "int";
        case Kind::real: return "float";
        case Kind::text: return "str";
        case Kind::bytes: return "bytes";
        case Kind::list: return "list";
        case Kind::tuple: return "tuple";
        case Kind::set: return "set";
        case Kind::dict: return "dict";
        case Kind::global: return "global";
        case Kind::call: return "object";
        case Kind::persistent: return "persistent id";
    }
    return "?";
}

Kind Value::kind() const {
    return tree_->nodes_[id_].kind;
}

std::optional<std::int64_t> Value::integer() const {
    const Tree::Node& node = tree_->nodes_[id_];
    if (node.kind != Kind::integer && node.kind != Kind::boolean) return std::nullopt;
    return static_cast<std::int64_t>(node.word);
}

std::optional<std::string_view> Value::plain() const {
    const Tree::Node& node = tree_->nodes_[id_];
    if ((node.kind != Kind::text && node.kind != Kind::bytes) || node.latin1) return std::nullopt;
    return std::string_view(reinterpret_cast<const char*>(tree_->pickle_.data()) + node.word, node.size);
}

std::optional<std::string> Value::bytes() const {
    const Tree::Node& node = tree_->nodes_[id_];
    if (node.kind != Kind::bytes) return std::nullopt;
    const std::string_view written(reinterpret_cast<const char*>(tree_->pickle_.data()) + node.word, node.size);
    return node.latin1 ? latin1_bytes(written) : std::string(written);
}

std::span<const std::byte> Value::long_integer() const {
    const Tree::Node& node = tree_->nodes_[id_];
    if (node.kind != Kind::long_integer) return {};
    return tree_->pickle_.subspan(node.word, node.size);
}

std::span<const ValueId> Value::children() const {
    const Tree::Node& node = tree_->nodes_[id_];
    switch (node.kind) {
        case Kind::list:
        case Kind::tuple:
        case Kind::set:
        case Kind::dict:
        case Kind::call:
        case Kind::persistent: return tree_->sequences_[node.word];
        default: return {};
    }
}

std::size_t Value::size() const {
    switch (kind()) {
        case Kind::list:
        case Kind::tuple:
        case Kind::set: return children().size();
        case Kind::dict: return children().size() / 2;
        default: return 0;
    }
}

Value Value::operator[](std::size_t i) const {
    return {*tree_, children()[i]};
}

std::pair<Value, Value> Value::entry(std::size_t i) const {
    const std::span<const ValueId> all = children();
    return {{*tree_, all[2 * i]}, {*tree_, all[2 * i + 1]}};
}

std::optional<Value> Value::find(std::string_view key) const {
    if (!is(Kind::dict)) return std::nullopt;
    for (std::size_t i = size(); i-- > 0;) {
        const auto [name, value] = entry(i);
        if (name.plain() == key) return value;
    }
    return std::nullopt;
}

bool Value::is_global(std::string_view module, std::string_view name) const {
    const Tree::Node& node = tree_->nodes_[id_];
    if (node.kind != Kind::global) return false;
    const Global& global = *tree_->globals_[node.word];
    return global.module == module && global.name == name;
}

std::string Value::name() const {
    const Tree::Node& node = tree_->nodes_[id_];
    if (node.kind != Kind::global) return {};
    const Global& global = *tree_->globals_[node.word];
    return std::string(global.module) + "." + std::string(global.name);
}

Value Value::callee() const {
    return {*tree_, children()[0]};
}

Value Value::arguments() const {
    return {*tree_, children()[1]};
}

Value Value::reference() const {
    return {*tree_, children()[0]};
}

}  // namespace feedline::pickle
