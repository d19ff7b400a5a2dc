// Trees to index, and what the tests ask of a dataset.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "loaders/dataset.h"

namespace feedline::test {

std::unique_ptr<Dataset> open_files(const std::string& path, unsigned threads = 2, bool include_hidden = false);

std::vector<std::string> keys(const Dataset& dataset);  // of all samples, in order
std::uint64_t length_bytes(const Dataset& dataset, SampleId id);
std::string content(const Dataset& dataset, SampleId id);  // opened as an engine does, through source()

// "COUNT KIND: EXAMPLE" of every oddity.
std::vector<std::string> oddities(const Dataset& dataset);

void make_directory(const std::string& path);
void make_link(const std::string& target, const std::string& path);

// Without the rights of root while it lives, so that permissions mean something to a test run by root.
class AsNobody {
public:
    AsNobody();
    ~AsNobody();
    AsNobody(const AsNobody&) = delete;
    AsNobody& operator=(const AsNobody&) = delete;

private:
    bool was_root_;
};

}  // namespace feedline::test
