#include "packers/lmdb/datum_writer.h"

#include "packers/output/wire_writer.h"

namespace feedline::lmdb {

std::vector<std::string> datum_around(const SampleHead& head) {
    std::string before;
    wire::open_field(before, 4, head.bytes());
    std::string behind;
    if (const auto* number = std::get_if<std::int64_t>(&head.label)) {
        wire::put_number(behind, 5, static_cast<std::uint64_t>(*number));
    }
    wire::put_number(behind, 7, 1);
    return {before, behind};
}

}  // namespace feedline::lmdb
