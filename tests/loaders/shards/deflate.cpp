#include "tests/loaders/shards/deflate.h"

#include <zlib.h>

#include <stdexcept>

namespace feedline::test {
namespace {

std::string deflated(std::string_view content, int level, int window_bits) {
    z_stream stream{};
    constexpr int kMemory = 8;
    if (deflateInit2(&stream, level, Z_DEFLATED, window_bits, kMemory, Z_DEFAULT_STRATEGY) != Z_OK) {
        throw std::runtime_error("deflateInit2");
    }
    std::string out(deflateBound(&stream, content.size()), '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
    stream.avail_in = static_cast<uInt>(content.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    const int result = deflate(&stream, Z_FINISH);
    out.resize(stream.total_out);
    deflateEnd(&stream);
    if (result != Z_STREAM_END) throw std::runtime_error("deflate");
    return out;
}

}  // namespace

std::string gzipped(std::string_view content, int level) {
    return deflated(content, level, 31);
}

std::string zlibbed(std::string_view content, int level) {
    return deflated(content, level, 15);
}

}  // namespace feedline::test
