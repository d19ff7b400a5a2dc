#include "tests/loaders/webdataset/tar_lab.h"

#include <fmt/format.h>

namespace feedline::test {

void sign_tar_header(std::string& header) {
    header.replace(148, 8, 8, ' ');
    unsigned sum = 0;
    for (std::size_t i = 0; i < 512; ++i) sum += static_cast<unsigned char>(header[i]);
    header.replace(148, 8, fmt::format("{:06o}", sum) + std::string("\0 ", 2));
}

std::string tar_entry(const TarEntry& entry) {
    std::string header(512, '\0');
    header.replace(0, entry.name.size(), entry.name);
    header.replace(100, 7, "0000644");
    header.replace(108, 7, "0000000");
    header.replace(116, 7, "0000000");
    if (entry.base256) {
        header[124] = '\x80';
        for (std::size_t i = 0; i < 8; ++i) {
            header[135 - i] = static_cast<char>(entry.content.size() >> (8 * i) & 0xffU);
        }
    } else {
        header.replace(124, 11, fmt::format("{:011o}", entry.content.size()));
    }
    header.replace(136, 11, "00000000000");
    header[156] = entry.type;
    header.replace(257, entry.magic.size(), entry.magic);
    sign_tar_header(header);
    std::string bytes = header + entry.content;
    bytes.resize((bytes.size() + 511) / 512 * 512);
    return bytes;
}

std::string pax_entry(const std::string& name, const std::string& content) {
    const std::string body = " path=" + name + "\n";
    std::size_t length = body.size() + 1;
    while (std::to_string(length).size() + body.size() != length) ++length;
    return tar_entry({.name = "PaxHeaders/x", .content = std::to_string(length) + body, .type = 'x'}) +
           tar_entry({.name = name.substr(0, 100), .content = content});
}

std::string gnu_long_entry(const std::string& name, const std::string& content) {
    const std::string gnu("ustar  \0", 8);
    return tar_entry({.name = "././@LongLink", .content = name + '\0', .type = 'L', .magic = gnu}) +
           tar_entry({.name = name.substr(0, 100), .content = content, .magic = gnu});
}

}  // namespace feedline::test
