#include "loaders/pickle/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <utility>

#include "core/error.h"
#include "core/little_endian.h"
#include "core/units.h"
#include "loaders/pickle/opcodes.h"

namespace feedline::pickle {
namespace {

constexpr ValueId kNoValue = std::numeric_limits<ValueId>::max();

// Plain data of Python's own. `__builtin__` is how protocols up to 2 call builtins.
constexpr std::array<Global, 12> kPlainGlobals = {{
    {"collections", "OrderedDict"},
    {"_codecs", "encode"},
    {"builtins", "set"},
    {"builtins", "frozenset"},
    {"builtins", "bytes"},
    {"builtins", "bytearray"},
    {"builtins", "complex"},
    {"__builtin__", "set"},
    {"__builtin__", "frozenset"},
    {"__builtin__", "bytes"},
    {"__builtin__", "bytearray"},
    {"__builtin__", "complex"},
}};

const Global* find_global(std::span<const Global> list, std::string_view module, std::string_view name) {
    const auto found = std::find_if(
        list.begin(), list.end(), [&](const Global& global) { return global.module == module && global.name == name; });
    return found == list.end() ? nullptr : &*found;
}

bool is_builtin(Value callee, std::string_view name) {
    return callee.is_global("builtins", name) || callee.is_global("__builtin__", name);
}

}  // namespace

class Machine {
public:
    Machine(std::span<const std::byte> bytes, const ParseOptions& options) : bytes_(bytes), options_(options) {
        tree_.pickle_ = bytes;
    }

    Tree run() {
        while (step()) {
        }
        tree_.consumed_bytes_ = at_;
        return std::move(tree_);
    }

private:
    using Node = Tree::Node;

    Error error(ErrorKind kind, std::string what) const {
        return Error(kind, std::move(what)).at(options_.path, options_.file_offset_bytes + opcode_at_);
    }
    Error corrupt(std::string what) const { return error(ErrorKind::corrupt, std::move(what)); }

    std::span<const std::byte> take(std::uint64_t count) {
        if (count > bytes_.size() - at_) throw corrupt("the pickle is cut short or a length in it is wrong");
        const std::span<const std::byte> taken = bytes_.subspan(at_, count);
        at_ += count;
        return taken;
    }
    template <typename T>
    T number() {
        return load_le<T>(take(sizeof(T)));
    }

    void push(Node node) {
        tree_.nodes_.push_back(node);
        stack_.push_back(static_cast<ValueId>(tree_.nodes_.size() - 1));
    }
    void push_integer(std::int64_t value) { push({.kind = Kind::integer, .word = static_cast<std::uint64_t>(value)}); }
    void push_plain(Kind kind, std::uint64_t length) {
        const std::uint64_t offset = at_;
        take(length);
        push({.kind = kind, .size = static_cast<std::uint32_t>(length), .word = offset});
    }
    void push_sequence(Kind kind, std::vector<ValueId> items) {
        charge(items.size());
        tree_.sequences_.push_back(std::move(items));
        push({.kind = kind, .word = tree_.sequences_.size() - 1});
    }
    // Honest pickles spend a byte on every item. Copies of what is shared could grow without bound.
    void charge(std::size_t items) {
        items_ += items;
        if (items_ > 4 * bytes_.size()) throw corrupt("the pickle holds more than its bytes can say");
    }

    ValueId pop() {
        if (stack_.size() <= floor()) throw corrupt("the pickle takes a value that is not there");
        const ValueId id = stack_.back();
        stack_.pop_back();
        return id;
    }
    ValueId top() const {
        if (stack_.size() <= floor()) throw corrupt("the pickle uses a value that is not there");
        return stack_.back();
    }
    // Values below a mark cannot be reached before it is taken.
    std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
    // What lies above the last mark.
    std::vector<ValueId> pop_to_mark() {
        if (marks_.empty()) throw corrupt("the pickle takes a mark that is not there");
        const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
        std::vector<ValueId> items(begin, stack_.end());
        stack_.erase(begin, stack_.end());
        marks_.pop_back();
        return items;
    }
    std::vector<ValueId> pop_several(std::size_t count) {
        std::vector<ValueId> items(count);
        for (std::size_t i = count; i-- > 0;) items[i] = pop();
        return items;
    }

    // The container on top of the stack.
    std::vector<ValueId>& container(Kind kind) {
        const Node& node = tree_.nodes_[top()];
        if (node.kind != kind) {
            throw corrupt(
                fmt::format("the pickle adds to a {} as if it were a {}", to_string(node.kind), to_string(kind)));
        }
        return tree_.sequences_[node.word];
    }
    void add(Kind kind, const std::vector<ValueId>& items) {
        if (kind == Kind::dict && items.size() % 2 != 0) throw corrupt("a key without a value in the pickle");
        charge(items.size());
        std::vector<ValueId>& all = container(kind);
        all.insert(all.end(), items.begin(), items.end());
    }

    void remember(std::uint64_t index) {
        // Picklers count up from 0, and what they remember takes at least a byte each.
        if (index > bytes_.size()) throw corrupt("the pickle counts its memo beyond its size");
        if (memo_.size() <= index) memo_.resize(index + 1, kNoValue);
        if (memo_[index] == kNoValue) ++memorized_;
        memo_[index] = top();
    }
    void recall(std::uint64_t index) {
        if (index >= memo_.size() || memo_[index] == kNoValue) {
            throw corrupt("the pickle refers to something that it has not remembered");
        }
        stack_.push_back(memo_[index]);
    }

    std::string_view line() {
        const auto begin = bytes_.begin() + static_cast<std::ptrdiff_t>(at_);
        const auto end = std::find(begin, bytes_.end(), std::byte{'\n'});
        if (end == bytes_.end()) throw corrupt("a name in the pickle has no end");
        const auto length = static_cast<std::size_t>(end - begin);
        const std::span<const std::byte> text = take(length);
        take(1);
        return {reinterpret_cast<const char*>(text.data()), length};
    }
    void push_global(std::string_view module, std::string_view name) {
        const Global* global = find_global(kPlainGlobals, module, name);
        if (global == nullptr) global = find_global(options_.globals, module, name);
        constexpr std::size_t kShown = 100;
        if (global == nullptr) {
            throw error(ErrorKind::usage,
                        fmt::format("the pickle asks for {}.{}, which is none of the plain types that "
                                    "are read; nothing in it was executed",
                                    printable(module.substr(0, kShown)), printable(name.substr(0, kShown))));
        }
        if (!global->refusal.empty()) {
            throw error(ErrorKind::usage,
                        fmt::format("the pickle holds {} ({}.{}), which is not read", global->refusal, module, name));
        }
        tree_.globals_.push_back(global);
        push({.kind = Kind::global, .word = tree_.globals_.size() - 1});
    }
    std::string_view popped_text() {
        const std::optional<std::string_view> text = tree_[pop()].plain();
        if (!text) throw corrupt("a name in the pickle is no text");
        return *text;
    }

    void push_long(std::uint64_t length) {
        const std::uint64_t offset = at_;
        const std::span<const std::byte> digits = take(length);
        if (length > sizeof(std::int64_t)) {
            push({.kind = Kind::long_integer, .size = static_cast<std::uint32_t>(length), .word = offset});
            return;
        }
        // Two's complement of as many bytes as it needs.
        std::uint64_t value = length > 0 && (digits.back() & std::byte{0x80}) != std::byte{0} ? ~std::uint64_t{0} : 0;
        for (std::size_t i = length; i-- > 0;) value = value << 8U | std::to_integer<std::uint64_t>(digits[i]);
        push({.kind = Kind::integer, .word = value});
    }

    // What Python would make by calling `callee`.
    void call(ValueId callee_id, ValueId arguments_id) {
        const Value callee = tree_[callee_id];
        const Value arguments = tree_[arguments_id];
        if (!callee.is(Kind::global)) throw corrupt("the pickle calls something that is no name");
        if (!arguments.is(Kind::tuple)) throw corrupt("the pickle calls something without arguments");
        if (callee.is_global("collections", "OrderedDict")) {
            ordered_dict(arguments);
        } else if (callee.is_global("_codecs", "encode")) {
            encoded(arguments);
        } else if (is_builtin(callee, "bytes") || is_builtin(callee, "bytearray")) {
            if (arguments.size() == 0) {
                push({.kind = Kind::bytes, .word = 0});
            } else if (arguments[0].is(Kind::bytes)) {
                stack_.push_back(arguments[0].id());
            } else {
                encoded(arguments);
            }
        } else if (is_builtin(callee, "set") || is_builtin(callee, "frozenset")) {
            std::vector<ValueId> items;
            if (arguments.size() > 0) {
                charge(arguments[0].size());
                for (std::size_t i = 0; i < arguments[0].size(); ++i) items.push_back(item(arguments[0], i));
            }
            push_sequence(Kind::set, std::move(items));
        } else {
            push_sequence(Kind::call, {callee_id, arguments_id});
        }
    }
    static ValueId item(Value sequence, std::size_t i) {
        return sequence.is(Kind::dict) ? sequence.entry(i).first.id() : sequence[i].id();
    }
    // OrderedDict(), or of a list of pairs.
    void ordered_dict(Value arguments) {
        std::vector<ValueId> items;
        if (arguments.size() > 0) {
            const Value pairs = arguments[0];
            charge(2 * pairs.size());
            if (!pairs.is(Kind::list) && !pairs.is(Kind::tuple)) throw corrupt("an OrderedDict of no pairs");
            for (std::size_t i = 0; i < pairs.size(); ++i) {
                const Value pair = pairs[i];
                if ((!pair.is(Kind::list) && !pair.is(Kind::tuple)) || pair.size() != 2) {
                    throw corrupt("an OrderedDict of no pairs");
                }
                items.push_back(pair[0].id());
                items.push_back(pair[1].id());
            }
        }
        push_sequence(Kind::dict, std::move(items));
    }
    // Bytes as text, one letter a byte: they stay as they are written until somebody wants them.
    void encoded(Value arguments) {
        const bool two = arguments.size() == 2 && arguments[0].is(Kind::text);
        const std::optional<std::string_view> encoding = two ? arguments[1].plain() : std::nullopt;
        if (encoding != "latin1" && encoding != "latin-1") {
            throw error(ErrorKind::usage, "the pickle holds bytes in an encoding that is not read");
        }
        Node node = tree_.nodes_[arguments[0].id()];
        node.kind = Kind::bytes;
        node.latin1 = true;
        push(node);
    }

    bool step();

    std::span<const std::byte> bytes_;
    const ParseOptions& options_;
    Tree tree_;
    std::vector<ValueId> stack_;
    std::vector<std::size_t> marks_;
    std::vector<ValueId> memo_;
    std::size_t memorized_ = 0;
    std::size_t items_ = 0;
    std::size_t at_ = 0;
    std::size_t opcode_at_ = 0;
};

// One opcode; false after the last.
bool Machine::step() {
    opcode_at_ = at_;
    const auto code = number<std::uint8_t>();
    switch (static_cast<Opcode>(code)) {
        case Opcode::stop: {
            tree_.root_ = pop();
            return false;
        }
        case Opcode::proto: {
            const auto protocol = number<std::uint8_t>();
            if (protocol > 5) {
                throw error(ErrorKind::usage, fmt::format("a pickle of protocol {}, later than is known", protocol));
            }
            break;
        }
        case Opcode::frame: take(sizeof(std::uint64_t)); break;  // how far to read ahead: all is there already

        case Opcode::mark: marks_.push_back(stack_.size()); break;
        case Opcode::pop: {
            if (stack_.size() > floor()) {
                pop();
            } else {
                pop_to_mark();
            }
            break;
        }
        case Opcode::pop_mark: pop_to_mark(); break;
        case Opcode::dup: stack_.push_back(top()); break;
        case Opcode::binget: recall(number<std::uint8_t>()); break;
        case Opcode::long_binget: recall(number<std::uint32_t>()); break;
        case Opcode::binput: remember(number<std::uint8_t>()); break;
        case Opcode::long_binput: remember(number<std::uint32_t>()); break;
        case Opcode::memoize: remember(memorized_); break;

        case Opcode::none: push({.kind = Kind::none}); break;
        case Opcode::newtrue: push({.kind = Kind::boolean, .word = 1}); break;
        case Opcode::newfalse: push({.kind = Kind::boolean, .word = 0}); break;
        case Opcode::binint: push_integer(static_cast<std::int32_t>(number<std::uint32_t>())); break;
        case Opcode::binint1: push_integer(number<std::uint8_t>()); break;
        case Opcode::binint2: push_integer(number<std::uint16_t>()); break;
        case Opcode::long1: push_long(number<std::uint8_t>()); break;
        case Opcode::long4: push_long(number<std::uint32_t>()); break;
        case Opcode::binfloat: {
            std::uint64_t bits = 0;
            for (const std::byte byte : take(sizeof(bits))) bits = bits << 8U | std::to_integer<std::uint64_t>(byte);
            push({.kind = Kind::real, .word = bits});
            break;
        }
        case Opcode::short_binstring:
        case Opcode::short_binunicode: push_plain(Kind::text, number<std::uint8_t>()); break;
        case Opcode::binstring:
        case Opcode::binunicode: push_plain(Kind::text, number<std::uint32_t>()); break;
        case Opcode::binunicode8: push_plain(Kind::text, number<std::uint64_t>()); break;
        case Opcode::short_binbytes: push_plain(Kind::bytes, number<std::uint8_t>()); break;
        case Opcode::binbytes: push_plain(Kind::bytes, number<std::uint32_t>()); break;
        case Opcode::binbytes8:
        case Opcode::bytearray8: push_plain(Kind::bytes, number<std::uint64_t>()); break;

        case Opcode::empty_tuple: push_sequence(Kind::tuple, {}); break;
        case Opcode::tuple1: push_sequence(Kind::tuple, pop_several(1)); break;
        case Opcode::tuple2: push_sequence(Kind::tuple, pop_several(2)); break;
        case Opcode::tuple3: push_sequence(Kind::tuple, pop_several(3)); break;
        case Opcode::tuple: push_sequence(Kind::tuple, pop_to_mark()); break;
        case Opcode::empty_list: push_sequence(Kind::list, {}); break;
        case Opcode::append: add(Kind::list, pop_several(1)); break;
        case Opcode::appends: add(Kind::list, pop_to_mark()); break;
        case Opcode::empty_dict: push_sequence(Kind::dict, {}); break;
        case Opcode::setitem: add(Kind::dict, pop_several(2)); break;
        case Opcode::setitems: add(Kind::dict, pop_to_mark()); break;
        case Opcode::empty_set: push_sequence(Kind::set, {}); break;
        case Opcode::additems: add(Kind::set, pop_to_mark()); break;
        case Opcode::frozenset: push_sequence(Kind::set, pop_to_mark()); break;

        case Opcode::global: {
            const std::string_view module = line();
            push_global(module, line());
            break;
        }
        case Opcode::stack_global: {
            const std::string_view name = popped_text();
            push_global(popped_text(), name);
            break;
        }
        case Opcode::reduce:
        case Opcode::newobj: {
            const ValueId arguments = pop();
            call(pop(), arguments);
            break;
        }
        case Opcode::build: {
            // Attributes of a dict, as a state_dict has them: not data.
            pop();
            const Kind kind = tree_[top()].kind();
            if (kind != Kind::dict) {
                throw error(
                    ErrorKind::usage,
                    fmt::format("the pickle sets the state of a {} (BUILD), which is not read", to_string(kind)));
            }
            break;
        }
        case Opcode::binpersid: {
            if (!options_.persistent_ids) {
                throw error(ErrorKind::usage, "the pickle refers to something outside of it (BINPERSID)");
            }
            push_sequence(Kind::persistent, pop_several(1));
            break;
        }
        default: {
            const auto known = std::find_if(kRefusedOpcodes.begin(), kRefusedOpcodes.end(),
                                            [&](const OpcodeName& opcode) { return opcode.code == code; });
            if (known == kRefusedOpcodes.end()) {
                throw corrupt(fmt::format("0x{:02x} is no opcode of a pickle", code));
            }
            throw error(ErrorKind::usage, fmt::format("the pickle uses the opcode {}, which is not read", known->name));
        }
    }
    return true;
}

Tree parse(std::span<const std::byte> bytes, const ParseOptions& options) {
    if (bytes.size() > kMaxPickleBytes) {
        throw Error(ErrorKind::usage, fmt::format("a pickle of {}, more than {} is not read",
                                                  format_size(static_cast<double>(bytes.size())),
                                                  format_size(static_cast<double>(kMaxPickleBytes))))
            .at(options.path, options.file_offset_bytes);
    }
    return Machine(bytes, options).run();
}

}  // namespace feedline::pickle
