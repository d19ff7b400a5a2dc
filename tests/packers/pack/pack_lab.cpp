#include "tests/packers/pack/pack_lab.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>

#include "core/interrupt.h"
#include "loaders/tfrecord/example.h"
#include "packers/pack/sample_reader.h"
#include "tests/testutil/temp_dir.h"

namespace feedline::test {
namespace {

std::string text(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

std::vector<ReadSample> read_all(const std::string& path) {
    const std::shared_ptr<const Dataset> dataset = open_dataset(path, "auto", {});
    std::vector<SampleId> ids(dataset->size());
    std::iota(ids.begin(), ids.end(), 0);
    std::shared_ptr<Slab> slab;
    SampleReader reader(dataset, ids, {.engine = select_engine(EngineKind::pread, *dataset)}, slab);
    std::vector<ReadSample> samples(dataset->size());
    RecordPiece piece;
    while (reader.next(piece)) {
        ReadSample& sample = samples[piece.position];
        if (piece.offset_bytes > 0) {
            sample.content += text(piece.bytes);
            continue;
        }
        const std::string problem = dataset->check(ids[piece.position], piece.bytes);
        if (!problem.empty()) throw std::runtime_error(problem);
        const SampleViews views = dataset->views(ids[piece.position], piece.bytes);
        for (const Part& part : views.parts) sample.parts[part.name] = text(part.bytes);
        if (!views.parts.empty()) sample.content = text(views.parts.front().bytes);
        sample.label = views.label;
        sample.original_path = views.original_path;
        sample.class_name = views.class_name;
    }
    return samples;
}

std::map<std::string, std::string> tree(const std::string& path) {
    namespace fs = std::filesystem;
    std::map<std::string, std::string> files;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path)) {
        if (entry.is_regular_file()) files[fs::relative(entry.path(), path)] = read_file(entry.path());
    }
    return files;
}

PackResult pack_directory(const std::string& source, const std::string& destination, std::string_view format,
                          PackOptions options) {
    options.destination = destination;
    const Interrupt never;
    return pack(open_dataset(source, "auto", {}), find_packer(format), options, {}, never);
}

ErrorKind kind_of(const std::function<void()>& call, std::string* said) {
    try {
        call();
    } catch (const Error& error) {
        if (said != nullptr) *said = error.what();
        return error.kind();
    }
    ADD_FAILURE() << "nothing was thrown";
    return ErrorKind::internal;
}

std::string write_tree(const std::string& path, const std::map<std::string, std::string>& files) {
    for (const auto& [name, content] : files) write_file(path + "/" + name, content);
    return path;
}

bool can_look_into(std::string_view format) {
    return format != "tfrecord" || tfrecord::can_parse_examples();
}

}  // namespace feedline::test
