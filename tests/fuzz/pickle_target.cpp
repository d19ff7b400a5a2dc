#include "loaders/pickle/machine.h"
#include "loaders/pth/torch_globals.h"
#include "tests/fuzz/target.h"

namespace feedline {
namespace {

void look_at(pickle::Value value) {
    using pickle::Kind;
    static_cast<void>(value.integer());
    static_cast<void>(value.plain());
    static_cast<void>(value.bytes());
    static_cast<void>(value.long_integer());
    static_cast<void>(value.name());
    static_cast<void>(value.find("data"));
    for (std::size_t i = 0; i < value.size(); ++i) {
        static_cast<void>(value.is(Kind::dict) ? value.entry(i).second.kind() : value[i].kind());
    }
    if (value.is(Kind::call)) static_cast<void>(value.callee().is(Kind::global) && value.arguments().size() > 0);
    if (value.is(Kind::persistent)) static_cast<void>(value.reference().kind());
}

}  // namespace

void fuzz_one(std::span<const std::byte> input) {
    expect_answer_or_error([&] {
        const pickle::Tree tree =
            pickle::parse(input, {.globals = pth::torch_globals(), .persistent_ids = true, .path = "input"});
        for (std::size_t i = 0; i < tree.values(); ++i) look_at(tree[static_cast<pickle::ValueId>(i)]);
        look_at(tree.root());
    });
}

}  // namespace feedline
