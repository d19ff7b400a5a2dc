// The opcodes of pickles, protocols 0 to 5 (CPython, Lib/pickle.py). Those of protocol 0, which are text, and those
// that make instances in ways of their own have names here, so that they can be refused by them.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace feedline::pickle {

enum class Opcode : std::uint8_t {
    mark = '(',
    stop = '.',
    pop = '0',
    pop_mark = '1',
    dup = '2',
    binint = 'J',
    binint1 = 'K',
    binint2 = 'M',
    none = 'N',
    binpersid = 'Q',
    reduce = 'R',
    binstring = 'T',
    short_binstring = 'U',
    binunicode = 'X',
    append = 'a',
    build = 'b',
    global = 'c',
    appends = 'e',
    binget = 'h',
    long_binget = 'j',
    binput = 'q',
    long_binput = 'r',
    setitem = 's',
    tuple = 't',
    setitems = 'u',
    binfloat = 'G',
    empty_tuple = ')',
    empty_list = ']',
    empty_dict = '}',
    binbytes = 'B',
    short_binbytes = 'C',
    proto = 0x80,
    newobj = 0x81,
    tuple1 = 0x85,
    tuple2 = 0x86,
    tuple3 = 0x87,
    newtrue = 0x88,
    newfalse = 0x89,
    long1 = 0x8a,
    long4 = 0x8b,
    short_binunicode = 0x8c,
    binunicode8 = 0x8d,
    binbytes8 = 0x8e,
    empty_set = 0x8f,
    additems = 0x90,
    frozenset = 0x91,
    stack_global = 0x93,
    memoize = 0x94,
    frame = 0x95,
    bytearray8 = 0x96,
};

struct OpcodeName {
    std::uint8_t code;
    std::string_view name;
};

constexpr std::array<OpcodeName, 18> kRefusedOpcodes = {{
    {'F', "FLOAT"},
    {'I', "INT"},
    {'L', "LONG"},
    {'P', "PERSID"},
    {'S', "STRING"},
    {'V', "UNICODE"},
    {'d', "DICT"},
    {'g', "GET"},
    {'i', "INST"},
    {'l', "LIST"},
    {'o', "OBJ"},
    {'p', "PUT"},
    {0x82, "EXT1"},
    {0x83, "EXT2"},
    {0x84, "EXT4"},
    {0x92, "NEWOBJ_EX"},
    {0x97, "NEXT_BUFFER"},
    {0x98, "READONLY_BUFFER"},
}};

}  // namespace feedline::pickle
