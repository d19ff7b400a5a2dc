// What a pickle holds, as a tree of plain values. Nothing in it was executed: what a pickle asks Python to call stays a
// `call` with its arguments.
//
// Values are handles into a Tree, which refers to the pickle's bytes: both must outlive them, and the tree must not be
// moved meanwhile. Shared parts of a pickle are shared in the tree, and a pickle may contain itself, so walk with a
// bound on depth and number.
//
// Thread-safety: immutable once parsed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace feedline::pickle {

enum class Kind : std::uint8_t {
    none,
    boolean,
    integer,       // fits 64 bits
    long_integer,  // does not
    real,
    text,
    bytes,
    list,
    tuple,
    set,
    dict,
    global,      // a name that Python would import
    call,        // what Python would make by calling a global
    persistent,  // a reference to something outside of the pickle
};

std::string_view to_string(Kind kind);

// A name that a pickle may import. `refusal`, where not empty, says why one that is known is not read.
struct Global {
    std::string_view module;
    std::string_view name;
    std::string_view refusal = {};
};

using ValueId = std::uint32_t;

class Tree;

class Value {
public:
    Value(const Tree& tree, ValueId id) : tree_(&tree), id_(id) {}

    ValueId id() const { return id_; }
    Kind kind() const;
    bool is(Kind kind) const { return this->kind() == kind; }

    // Of an integer or a boolean.
    std::optional<std::int64_t> integer() const;
    // Of text, and of bytes that stand plain in the pickle; without an owner of its own.
    std::optional<std::string_view> plain() const;
    // Of bytes, however they are written. Pickles of protocol 2 hold them as text, one letter a byte.
    std::optional<std::string> bytes() const;
    // Of an integer beyond 64 bits: two's complement, little-endian.
    std::span<const std::byte> long_integer() const;

    // How many items a list, tuple or set has, or pairs a dict; 0 for all else.
    std::size_t size() const;
    Value operator[](std::size_t i) const;                  // item of a list, tuple or set; i < size()
    std::pair<Value, Value> entry(std::size_t i) const;     // of a dict, in the order of insertion; i < size()
    std::optional<Value> find(std::string_view key) const;  // of a dict: the last one of that name

    bool is_global(std::string_view module, std::string_view name) const;
    std::string name() const;  // of a global: "module.name"
    Value callee() const;      // of a call
    Value arguments() const;   // of a call: a tuple
    Value reference() const;   // of a persistent one

private:
    std::span<const ValueId> children() const;

    const Tree* tree_;
    ValueId id_;
};

class Tree {
public:
    Value root() const { return {*this, root_}; }
    std::size_t values() const { return nodes_.size(); }
    Value operator[](ValueId id) const { return {*this, id}; }  // id < values(): all there are, used or not
    // Where the pickle ended.
    std::size_t consumed_bytes() const { return consumed_bytes_; }

private:
    friend class Machine;
    friend class Value;

    struct Node {
        Kind kind = Kind::none;
        bool latin1 = false;     // bytes: written as text
        std::uint32_t size = 0;  // of text, bytes, long_integer
        // boolean, integer, real: the value; text, bytes, long_integer: offset in the pickle; global: in globals_;
        // others: in sequences_
        std::uint64_t word = 0;
    };

    std::span<const std::byte> pickle_;
    std::vector<Node> nodes_;
    std::vector<std::vector<ValueId>> sequences_;
    std::vector<const Global*> globals_;
    ValueId root_ = 0;
    std::size_t consumed_bytes_ = 0;
};

}  // namespace feedline::pickle
