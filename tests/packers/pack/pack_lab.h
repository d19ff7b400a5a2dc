// Datasets to be packed, and what packed ones hold.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "loaders/dataset.h"
#include "packers/pack/pack.h"

namespace feedline::test {

// What comes out of a dataset, read sample by sample.
struct ReadSample {
    std::string content;  // of its first part
    std::map<std::string, std::string> parts;
    Label label;
    std::string original_path;
    std::string class_name;
};
std::vector<ReadSample> read_all(const std::string& path);

// All files below a directory: name -> bytes.
std::map<std::string, std::string> tree(const std::string& path);

// Opens `source` and packs it.
PackResult pack_directory(const std::string& source, const std::string& destination, std::string_view format,
                          PackOptions options = {});

// What kind of Error `call` throws, and what it says; a failure of the test where it throws none.
ErrorKind kind_of(const std::function<void()>& call, std::string* said = nullptr);

// Writes name -> bytes below `path`, which is returned.
std::string write_tree(const std::string& path, const std::map<std::string, std::string>& files);

// Whether this build can read again what it packs.
bool can_look_into(std::string_view format);

}  // namespace feedline::test
