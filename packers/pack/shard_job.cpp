#include "packers/pack/shard_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <numeric>
#include <optional>
#include <system_error>
#include <utility>

#include "core/crc32c.h"
#include "core/error.h"
#include "loaders/packed/sidecar.h"
#include "packers/output/file_sum.h"
#include "packers/output/new_file.h"

namespace feedline {
namespace {

void remove_leftover(const std::string& path) {
    std::error_code failure;
    std::filesystem::remove_all(path, failure);
    if (failure) throw system_error(failure.value(), "cannot remove the leftover", path);
}

void rename_to(const std::string& from, const std::string& to) {
    remove_leftover(to);  // of a run that was killed before it could say that the shard is whole
    if (std::rename(from.c_str(), to.c_str()) != 0) throw system_error(errno, "cannot rename the finished file to", to);
}

Error changed_error(const Dataset& source, ShardId file) {
    return Error(ErrorKind::changed, "the file changed while it was packed")
        .at(source.path(file))
        .advise(source.info().packed
                    ? "Nothing may change the source during a run: begin anew with --overwrite"
                    : "Nothing may change the source during a run: go on with --resume, or use --on-error skip");
}

// The sample that is being written: its content goes to the writer and, part by part, into checksums.
class OpenSample {
public:
    OpenSample(ShardWriter& writer, const SampleHead& head) : writer_(writer) {
        line_.key = writer.begin(head);
        line_.path = head.path;
        line_.label = head.label;
        for (const PartHead& part : head.parts) line_.parts.push_back({part.name, part.bytes, 0});
    }

    void append(std::size_t part, std::span<const std::byte> bytes) {
        line_.parts[part].crc32c = crc32c(bytes, line_.parts[part].crc32c);
        writer_.append(bytes);
    }
    SidecarSample end() {
        writer_.end();
        return std::move(line_);
    }

private:
    ShardWriter& writer_;
    SidecarSample line_;
};

}  // namespace

void ShardJob::stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    if (reader_ != nullptr) reader_->stop();
}

void ShardJob::start_reading(std::vector<SampleId> ids) {
    auto reader = std::make_unique<SampleReader>(context_.source, std::move(ids), context_.reading, slab_);
    const std::lock_guard lock(mutex_);
    reader_ = std::move(reader);
    if (stopped_) reader_->stop();
}

std::vector<std::size_t> ShardJob::changed(std::span<const SampleId> ids, const SourceWatch::Look& before) const {
    const std::vector<ShardId> files = context_.watch.changed(before);
    if (files.empty()) return {};
    if (context_.reading.on_error == OnError::stop) throw changed_error(*context_.source, files.front());
    std::vector<Extent> extents(ids.size());
    context_.source->locate(ids, extents);
    std::vector<std::size_t> positions;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        if (std::binary_search(files.begin(), files.end(), extents[i].shard)) positions.push_back(i);
    }
    return positions;
}

PackedShard ShardJob::run(std::uint64_t number, const ShardRange& range) {
    std::vector<std::uint64_t> positions(range.count);
    std::iota(positions.begin(), positions.end(), range.first);
    std::vector<LeftOut> left_out;
    // A packer is told in advance how many samples come. Where some cannot be read, the shard is begun again without
    // them.
    for (;;) {
        if (positions.empty()) {
            throw Error(ErrorKind::corrupt, fmt::format("no sample of shard {} can be read", number))
                .at(left_out.front().path)
                .advise("See what became of the source; a larger --shard-size puts such samples among others");
        }
        Attempt done = attempt(number, range, positions);
        if (done.failed.empty()) {
            done.shard.left_out = std::move(left_out);
            context_.labels.add(done.labels);
            return std::move(done.shard);
        }
        for (Failed& failed : done.failed) {
            positions.erase(std::find(positions.begin(), positions.end(), failed.position));
            left_out.push_back(std::move(failed.left_out));
        }
    }
}

ShardJob::Attempt ShardJob::attempt(std::uint64_t number, const ShardRange& range,
                                    const std::vector<std::uint64_t>& positions) {
    const std::string name = context_.packer.shard_name(context_.name, number, context_.shards);
    const std::string sidecar_name = name + std::string(kSidecarSuffix);
    const std::string index_name = name + std::string(kIndexSuffix);
    for (const std::string& file : {name, sidecar_name, index_name}) remove_leftover(temporary(file));

    std::vector<SampleId> ids;
    ids.reserve(positions.size());
    for (const std::uint64_t position : positions) ids.push_back(context_.sample_at(position));
    const bool plain = !context_.source->info().packed;
    const ShardPlan plan{.path = temporary(name),
                         .index_path = temporary(index_name),
                         .number = number,
                         .shards = context_.shards,
                         .samples = positions.size(),
                         .content_bytes = range.bytes,
                         .content_is_exact = plain && positions.size() == range.count,
                         .classes = context_.classes,
                         .rate = context_.rate};
    Attempt result;
    const auto fail = [&](std::size_t at, std::string why) {
        result.failed.push_back({positions[at], {context_.source->key(ids[at]), std::move(why)}});
    };
    const SourceWatch::Look before = context_.watch.look(ids);
    start_reading(ids);
    const std::unique_ptr<ShardWriter> writer = context_.packer.open(plan);
    NewFile sidecar(temporary(sidecar_name), nullptr);
    std::optional<OpenSample> open;
    std::uint64_t samples = 0;
    std::uint64_t bytes = 0;
    const auto count = [&](const SidecarSample& line) {
        sidecar.append(to_line(line));
        ++samples;
        std::uint64_t of_sample = 0;
        for (const SidecarPart& part : line.parts) of_sample += part.bytes;
        bytes += of_sample;
        context_.samples_done.fetch_add(1, std::memory_order_relaxed);
        context_.bytes_done.fetch_add(of_sample, std::memory_order_relaxed);
    };
    RecordPiece piece;
    while (reader_->next(piece)) {
        const SampleId id = ids[piece.position];
        const bool broken = !result.failed.empty() && result.failed.back().position == positions[piece.position];
        if (broken) continue;  // a piece of it has failed before
        if (!piece.failure.empty()) {
            fail(piece.position, piece.failure);
            open.reset();
            continue;
        }
        // What is written after a failure is thrown away; only what else fails is of interest.
        if (!result.failed.empty()) continue;
        if (piece.offset_bytes == 0) {
            std::string problem = context_.source->check(id, piece.bytes);
            Sample sample;
            if (problem.empty()) {
                sample = context_.heads.sample(range.first + samples, id, piece.bytes, piece.record_bytes);
                problem = sample.problem;
            }
            if (!problem.empty()) {
                if (context_.reading.on_error == OnError::skip) {
                    fail(piece.position, problem);
                    continue;
                }
                (void)changed(ids, before);  // says what is to blame
                Extent extent;
                context_.source->locate(std::span(&id, 1), std::span(&extent, 1));
                throw Error(ErrorKind::corrupt,
                            fmt::format("sample {} is corrupt ({})", context_.source->key(id), problem))
                    .at(context_.source->path(extent.shard), extent.offset_bytes)
                    .advise("Replace it, or leave it out with --on-error skip");
            }
            open.emplace(*writer, sample.head);
            result.labels.add(sample.head, context_.packer);
            for (std::size_t part = 0; part < sample.contents.size(); ++part) open->append(part, sample.contents[part]);
        } else {
            open->append(0, piece.bytes);
        }
        if (piece.is_last()) count(open->end());
    }
    reader_.reset();
    {
        const std::lock_guard lock(mutex_);
        if (stopped_) throw Error(ErrorKind::interrupted, "interrupted; --resume goes on with what is whole");
    }
    // Where something failed all is read again, and looked at again.
    if (result.failed.empty()) {
        for (const std::size_t at : changed(ids, before)) fail(at, "changed while it was packed");
    }
    if (!result.failed.empty()) {
        context_.samples_done.fetch_sub(samples, std::memory_order_relaxed);
        context_.bytes_done.fetch_sub(bytes, std::memory_order_relaxed);
        return result;
    }
    const ShardSum sum = writer->finish();
    sidecar.finish();
    result.shard = {.name = name,
                    .samples = samples,
                    .bytes = sum.bytes,
                    .content_bytes = bytes,
                    .crc32c = 0,
                    .sidecar_crc32c = sidecar.crc32c(),
                    .index_crc32c = sum.index_crc32c,
                    .left_out = {}};
    if (sum.crc32c) {
        result.shard.crc32c = *sum.crc32c;
    } else {
        const std::string_view inside = context_.packer.data_file();
        const FileSum again = sum_of_file(  // comes from memory
            temporary(name) + (inside.empty() ? "" : "/") + std::string(inside));
        result.shard.bytes = again.bytes;
        result.shard.crc32c = again.crc32c;
    }
    // The shard last: where it is, so is the rest.
    if (context_.packer.has_index()) rename_to(temporary(index_name), final_path(index_name));
    rename_to(temporary(sidecar_name), final_path(sidecar_name));
    rename_to(temporary(name), final_path(name));
    sync_directory_of(final_path(name));
    return result;
}

}  // namespace feedline
