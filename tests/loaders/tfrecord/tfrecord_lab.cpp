#include "tests/loaders/tfrecord/tfrecord_lab.h"

#include <span>

#include "loaders/tfrecord/framing.h"
#include "tests/testutil/temp_dir.h"

namespace feedline::test {

std::string framed(std::string_view payload) {
    const auto header = tfrecord::make_header(payload.size());
    const auto footer = tfrecord::make_footer(std::as_bytes(std::span(payload)));
    std::string record(reinterpret_cast<const char*>(header.data()), header.size());
    record += payload;
    record.append(reinterpret_cast<const char*>(footer.data()), footer.size());
    return record;
}

std::string shard_of(const std::vector<std::uint64_t>& lengths_bytes) {
    std::string shard;
    unsigned number = 0;
    for (const std::uint64_t length : lengths_bytes) shard += framed(pattern(length, number++));
    return shard;
}

std::vector<std::uint64_t> begins_of(const std::vector<std::uint64_t>& lengths_bytes) {
    std::vector<std::uint64_t> begins;
    std::uint64_t at = 0;
    for (const std::uint64_t length : lengths_bytes) {
        begins.push_back(at);
        at += length + tfrecord::kFramingBytes;
    }
    return begins;
}

}  // namespace feedline::test
