#include "loaders/worker.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

namespace feedline {
namespace {

// Bytes claimed at once beyond the first read: large reads are spread over the workers one by one.
constexpr std::uint64_t kClaimBytes = 4U << 20U;

// Reads of the null engine in one claim: it has no queue whose depth would say it.
constexpr std::size_t kNullDepth = 64;

// Decoding goes on for so long before the engine's queue is filled up again.
constexpr Nanoseconds kDecodeSliceNs = 100'000;

// A worker with reads in flight and no slot looks for a free one this often; otherwise it only has to notice stop().
constexpr Nanoseconds kStarvedReapNs = 1'000'000;
constexpr Nanoseconds kReapNs = 100'000'000;

bool is_synchronous(EngineKind kind) {
    return kind == EngineKind::pread || kind == EngineKind::mmap || kind == EngineKind::native;
}

}  // namespace

Worker::Worker(const WorkerContext& context, unsigned number) : context_(context), number_(number) {}

EngineOptions Worker::engine_options() const {
    const LoaderOptions& options = context_.options;
    const unsigned share =
        options.queue_depth / options.threads + (number_ < options.queue_depth % options.threads ? 1U : 0U);
    unsigned depth = std::max(1U, share);
    if (is_synchronous(options.engine.kind)) depth = 1;
    if (options.engine.kind == EngineKind::null) depth = kNullDepth;
    return {.kind = options.engine.kind,
            .queue_depth = depth,
            .alignment = options.engine.alignment,
            .may_block = options.engine.may_block,
            .faults = options.faults,
            .dataset = &context_.dataset};
}

void Worker::make_engine() {
    engine_ = context_.make_engine(engine_options());
    synchronous_ = is_synchronous(engine_->kind());
    native_ = engine_->kind() == EngineKind::native;
    watched_ = context_.options.io_timeout_ns > 0 && engine_->kind() != EngineKind::null;
    depth_ = engine_->max_queue_depth();
    // While reads are being decoded as many again may be in flight.
    const std::size_t tags = context_.decoder == nullptr ? depth_ : 2 * depth_;
    in_flight_.resize(tags);
    since_ns_.resize(tags, 0);
    for (std::size_t tag = tags; tag-- > 0;) free_tags_.push_back(tag);
    backlog_.reserve(tags);
    reaped_.reserve(tags);
}

void Worker::drop_engine() {
    engine_.reset();
    beside_.reset();
}

void Worker::run() {
    Schedule& schedule = context_.schedule;
    while (!schedule.stopped()) {
        std::uint64_t seen = 0;
        const ClaimStatus status = refill(seen);
        const bool nothing_reaped = reaped_begin_ == reaped_.size();
        if (engine_->in_flight() > 0) {
            // A synchronous engine reads when reaped: first what was read is handed on.
            if (nothing_reaped || !synchronous_) reap(status);
        } else if (nothing_reaped && backlog_begin_ == backlog_.size()) {
            if (status == ClaimStatus::finished) break;
            if (status != ClaimStatus::work) schedule.wait_change(seen);
        }
        process();
    }
    note_slot_wait(ClaimStatus::finished);
    // What is in flight still writes into the slab.
    std::vector<Completion> ignored(depth_);
    while (engine_->in_flight() > 0) {
        watch_oldest();
        engine_->reap(1, ignored, kReapNs);
    }
}

std::size_t Worker::room() const {
    const std::size_t waiting = engine_->in_flight() + backlog_.size() - backlog_begin_;
    return std::min(depth_ - std::min(depth_, waiting), free_tags_.size());
}

// Fills the engine's queue. Returns what the last claim said.
ClaimStatus Worker::refill(std::uint64_t& seen) {
    ClaimStatus status = ClaimStatus::work;
    Claim claim;
    submit();
    while (status == ClaimStatus::work) {
        const std::size_t free = room();
        if (free == 0) break;
        status = context_.schedule.claim(free, kClaimBytes, claim, seen);
        note_slot_wait(status);
        if (status == ClaimStatus::work) {
            enqueue(claim);
            submit();
        }
    }
    if (claim.none_ahead) context_.schedule.plan_ahead();
    return status;
}

void Worker::note_slot_wait(ClaimStatus status) {
    const bool starved = status == ClaimStatus::no_slot;
    if (starved == starved_) return;
    starved_ = starved;
    const Nanoseconds now = now_ns();
    const std::lock_guard lock(totals_mutex_);
    if (starved) {
        starved_since_ns_ = now;
    } else {
        totals_.slot_wait_ns += now - starved_since_ns_;
        starved_since_ns_ = 0;
    }
}

Worker::Totals Worker::totals() const {
    const std::lock_guard lock(totals_mutex_);
    Totals so_far = totals_;
    if (starved_since_ns_ != 0) so_far.slot_wait_ns += now_ns() - starved_since_ns_;
    return so_far;
}

void Worker::enqueue(const Claim& claim) {
    const Nanoseconds now = watched_ ? now_ns() : 0;
    const std::span reads = std::span(claim.batch->plan.reads).subspan(claim.first_read, claim.reads);
    for (const PlannedRead& read : reads) context_.dataset.prefetch_source(read.extent.shard);
    for (std::uint32_t i = 0; i < claim.reads; ++i) {
        const std::uint32_t index = claim.first_read + i;
        const PlannedRead& read = claim.batch->plan.reads[index];
        const std::uint64_t tag = free_tags_.back();
        free_tags_.pop_back();
        InFlight& entry = in_flight_[tag];
        entry.batch = claim.batch;
        entry.read = index;
        since_ns_[tag] = now;
        // From within a hung open this thread tells nobody anything.
        if (watched_ && context_.shards.opens(read.extent.shard)) {
            oldest_.publish({now_ns(), read.extent.shard, read.extent.offset_bytes});
        }
        backlog_.push_back(
            {.source = native_ ? Source{} : context_.shards.source(read.extent.shard, entry.name),
             .offset_bytes = read.extent.offset_bytes,
             .length_bytes = read.extent.length_bytes,
             .destination = context_.slab.data() + claim.batch->plan.slab_offset_bytes + read.batch_offset_bytes,
             .tag = tag,
             .sample = claim.batch->plan.samples[read.first_sample].id});
    }
}

// Hands the backlog to the engine, as much as it takes.
void Worker::submit() {
    if (backlog_begin_ == backlog_.size()) return;
    if (context_.first_issue_ns.load(std::memory_order_relaxed) == 0) {
        Nanoseconds none = 0;
        context_.first_issue_ns.compare_exchange_strong(none, now_ns());
    }
    watch_oldest();
    backlog_begin_ += engine_->submit(std::span(backlog_).subspan(backlog_begin_));
    if (backlog_begin_ == backlog_.size()) {
        backlog_.clear();
        backlog_begin_ = 0;
    }
}

void Worker::reap(ClaimStatus status) {
    reaped_.erase(reaped_.begin(), reaped_.begin() + static_cast<std::ptrdiff_t>(reaped_begin_));
    reaped_begin_ = 0;
    const std::size_t before = reaped_.size();
    const bool starved = status == ClaimStatus::no_slot || status == ClaimStatus::waiting;
    reaped_.resize(before + engine_->in_flight());
    watch_oldest();
    // With nothing else to do it waits, otherwise it only looks.
    const std::size_t count =
        engine_->reap(before == 0 ? 1 : 0, std::span(reaped_).subspan(before), starved ? kStarvedReapNs : kReapNs);
    reaped_.resize(before + count);
    if (watched_) {
        for (std::size_t i = before; i < reaped_.size(); ++i) since_ns_[reaped_[i].tag] = 0;
        watch_oldest();
    }
    if (count == 0) return;
    const std::lock_guard lock(totals_mutex_);
    for (std::size_t i = before; i < reaped_.size(); ++i) {
        totals_.read_latency_ns.record(reaped_[i].completed_ns - reaped_[i].issued_ns);
    }
    totals_.engine = engine_->counters();
    if (beside_) totals_.engine += beside_->counters();
}

// Finishes what was reaped; with a decoder only for a while.
void Worker::process() {
    const bool sliced = context_.decoder != nullptr;
    const Nanoseconds until = sliced && reaped_begin_ < reaped_.size() ? now_ns() + kDecodeSliceNs : 0;
    BatchState* batch = nullptr;
    std::uint32_t reads = 0;
    const auto complete = [&] {
        if (batch == nullptr) return;
        const Nanoseconds latency = context_.schedule.complete(*batch, reads);
        if (latency < 0) return;
        {
            const std::lock_guard lock(totals_mutex_);
            totals_.batch_latency_ns.record(latency);  // before anyone can have the batch, and count
        }
        context_.schedule.publish(*batch);
    };
    while (reaped_begin_ < reaped_.size() && !context_.schedule.stopped()) {
        const Completion& completion = reaped_[reaped_begin_++];
        const InFlight& entry = in_flight_[completion.tag];
        finish_read(*entry.batch, entry.read, completion);
        free_tags_.push_back(completion.tag);
        if (entry.batch != batch) {
            complete();
            batch = entry.batch;
            reads = 0;
        }
        ++reads;
        if (sliced && batch->trace[entry.read].decoded_ns >= until) break;
    }
    complete();
}

void Worker::finish_read(BatchState& batch, std::uint32_t read, const Completion& completion) {
    const PlannedRead& planned = batch.plan.reads[read];
    RequestTrace& trace = batch.trace[read];
    trace = {.issued_ns = completion.issued_ns,
             .opened_ns = completion.opened_ns,
             .read_ns = completion.completed_ns,
             .decoded_ns = completion.completed_ns,
             .samples = planned.samples};
    if (!succeeded(completion, planned.extent.length_bytes)) {
        accept_part(batch, planned, completion);
        trace.read_ns = now_ns();
        trace.decoded_ns = trace.read_ns;
    }
    if (context_.decoder != nullptr) {
        decode(batch, planned);
        trace.decoded_ns = now_ns();
    }
}

// Of a read that failed as a whole or in part.
void Worker::accept_part(BatchState& batch, const PlannedRead& read, const Completion& completion) {
    const Failure failure = failure_of(read, completion);
    if (failure.shortage || context_.options.on_error == OnError::stop) {
        stop_with(failure, read.extent, 0);
        return;
    }
    if (completion.result < 0 && read.samples > 1) {
        read_one_by_one(batch, read);
        return;
    }
    // A run that ends early still holds the samples before its end.
    const bool nothing = completion.grew || completion.result < 0;
    const std::uint64_t end_bytes = batch.plan.samples[read.first_sample].offset_bytes +
                                    (nothing ? 0 : static_cast<std::uint64_t>(completion.result));
    for (std::uint32_t i = 0; i < read.samples; ++i) {
        const SampleView& view = batch.plan.samples[read.first_sample + i];
        if (nothing || view.offset_bytes + view.length_bytes > end_bytes) reject(batch, read, i, failure);
    }
}

// Engines meet a directory or a pipe in place of a file with errors of all kinds.
Failure Worker::failure_of(const PlannedRead& read, const Completion& completion) const {
    const Engine& engine = beside_in_use_ ? *beside_ : *engine_;
    Failure failure = describe(completion, read.extent.length_bytes, engine.problem());
    if (completion.result >= 0 || failure.shortage) return failure;
    std::string name;
    const Source source = context_.dataset.source(read.extent.shard, name);
    struct stat status {};
    if (source.fd >= 0 || ::fstatat(source.dir_fd, source.name, &status, 0) != 0) return failure;
    return S_ISREG(status.st_mode) ? failure : describe_no_file(status.st_mode);
}

// A run of neighbours failed: one bad sector must not cost all of them.
void Worker::read_one_by_one(BatchState& batch, const PlannedRead& read) {
    const std::uint64_t first_bytes = batch.plan.samples[read.first_sample].offset_bytes;
    for (std::uint32_t i = 0; i < read.samples; ++i) {
        const SampleView& view = batch.plan.samples[read.first_sample + i];
        const Extent extent{read.extent.offset_bytes + view.offset_bytes - first_bytes, view.length_bytes,
                            read.extent.shard};
        std::byte* destination = context_.slab.data() + batch.plan.slab_offset_bytes + view.offset_bytes;
        const Completion completion = read_now(view.id, extent, destination);
        if (!succeeded(completion, extent.length_bytes)) {
            reject(batch, read, i, describe(completion, extent.length_bytes));
        }
    }
}

void Worker::decode(BatchState& batch, const PlannedRead& read) {
    for (std::uint32_t i = 0; i < read.samples; ++i) {
        const SampleView& view = batch.plan.samples[read.first_sample + i];
        if (view.status != SampleStatus::ok) continue;
        const std::byte* record = context_.slab.data() + batch.plan.slab_offset_bytes + view.offset_bytes;
        const std::string problem = context_.decoder->decode(view.id, {record, view.length_bytes});
        if (problem.empty()) continue;
        reject(batch, read, i, describe_corrupt(problem));
        if (context_.schedule.stopped()) return;
    }
}

void Worker::reject(BatchState& batch, const PlannedRead& read, std::uint32_t sample, const Failure& failure) {
    SampleView& view = batch.plan.samples[read.first_sample + sample];
    if (failure.shortage || context_.options.on_error == OnError::stop) {
        const std::uint64_t before = view.offset_bytes - batch.plan.samples[read.first_sample].offset_bytes;
        stop_with(failure, read.extent, before);
        return;
    }
    batch.skipped_samples.fetch_add(1, std::memory_order_relaxed);
    batch.skipped_bytes.fetch_add(view.length_bytes, std::memory_order_relaxed);
    view.status = SampleStatus::skipped;
    view.length_bytes = 0;
    const auto path = [&] { return context_.dataset.path(read.extent.shard); };
    {
        const std::lock_guard lock(batch.failures_mutex);
        batch.failures.add(failure.name, 1, path);
    }
    const std::lock_guard lock(totals_mutex_);
    ++totals_.skipped_samples;
    totals_.failures.add(failure.name, 1, path);
}

void Worker::stop_with(const Failure& failure, const Extent& extent, std::uint64_t further_bytes) {
    std::optional<std::uint64_t> offset;
    if (context_.dataset.has_extents()) offset = extent.offset_bytes + further_bytes;
    context_.schedule.fail(to_error(failure, context_.dataset.path(extent.shard), offset));
}

Completion Worker::read_now(SampleId sample, const Extent& extent, std::byte* destination) {
    if (!beside_) {
        beside_ = context_.make_engine({.kind = context_.dataset.has_extents() ? EngineKind::pread : EngineKind::native,
                                        .queue_depth = 1,
                                        .alignment = {},
                                        .may_block = false,
                                        .faults = context_.options.faults,
                                        .dataset = &context_.dataset});
    }
    std::string name;
    const ReadRequest request{.source = context_.dataset.source(extent.shard, name),
                              .offset_bytes = extent.offset_bytes,
                              .length_bytes = extent.length_bytes,
                              .destination = destination,
                              .tag = 0,
                              .sample = sample};
    oldest_.publish({now_ns(), extent.shard, extent.offset_bytes});
    while (beside_->submit(std::span(&request, 1)) == 0) {
    }
    Completion completion;
    while (beside_->reap(1, std::span(&completion, 1), kReapNs) == 0) {
    }
    oldest_.publish({});
    watch_oldest();
    return completion;
}

void Worker::prepare_replay(BatchPlanner& planner) {
    BatchState batch;
    planner.next(batch.plan);
    batch.trace.resize(batch.plan.reads.size());
    for (std::uint32_t read = 0; read < batch.plan.reads.size() && !context_.schedule.stopped(); ++read) {
        const PlannedRead& planned = batch.plan.reads[read];
        const SampleId sample = batch.plan.samples[planned.first_sample].id;
        const Completion completion =
            read_now(sample, planned.extent, context_.slab.data() + planned.batch_offset_bytes);
        beside_in_use_ = true;
        finish_read(batch, read, completion);
    }
    beside_in_use_ = false;
    if (context_.schedule.stopped()) return;
    context_.schedule.open(ReplayedBatch(batch.plan, context_.slab, context_.options.slots));
}

void Worker::watch_oldest() {
    if (!watched_) return;
    std::size_t oldest = since_ns_.size();
    for (std::size_t tag = 0; tag < since_ns_.size(); ++tag) {
        if (since_ns_[tag] == 0) continue;
        if (oldest == since_ns_.size() || since_ns_[tag] < since_ns_[oldest]) oldest = tag;
    }
    if (oldest == since_ns_.size()) {
        oldest_.publish({});
        return;
    }
    const InFlight& entry = in_flight_[oldest];
    const Extent& extent = entry.batch->plan.reads[entry.read].extent;
    oldest_.publish({since_ns_[oldest], extent.shard, extent.offset_bytes});
}

}  // namespace feedline
