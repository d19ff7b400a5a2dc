#include "loaders/loader.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

#include "core/descriptors.h"
#include "core/error.h"
#include "core/failure_words.h"
#include "core/units.h"
#include "loaders/open_shards.h"
#include "loaders/schedule.h"
#include "loaders/worker.h"

namespace feedline {
namespace {

// How long the destructor waits for workers that may be stuck in the kernel.
constexpr Nanoseconds kGraceNs = 200'000'000;

// A hung read is looked for this many times within the I/O timeout.
constexpr Nanoseconds kChecksATimeout = 8;

LoaderOptions checked(LoaderOptions options) {
    const auto refuse = [](const char* what) { throw Error(ErrorKind::usage, what); };
    if (options.threads == 0) refuse("the loader needs at least one thread");
    if (options.slots == 0) refuse("the loader needs at least one slot");
    if (options.queue_depth == 0) refuse("the queue depth must be at least 1");
    if (options.replay && options.engine.kind != EngineKind::null) refuse("only the null engine replays a batch");
    if (!options.make_engine) options.make_engine = make_engine;
    return options;
}

bool is_ring(EngineKind kind) {
    return kind == EngineKind::uring || kind == EngineKind::uring_direct;
}

std::uint64_t batches_to_deliver(const Order& order, const LoaderOptions& options) {
    if (options.max_batches == 0) return order.batches();
    return options.wrap ? options.max_batches : std::min(options.max_batches, order.batches());
}

}  // namespace

// Held by the Loader and by every worker's thread, so that a stuck one never loses what it works on.
struct Loader::State {
    State(std::shared_ptr<const Dataset> dataset_in, const Order& order_in, std::shared_ptr<Slab> slab_in,
          std::shared_ptr<Decoder> decoder_in, const LoaderOptions& options_in)
        : dataset(std::move(dataset_in)),
          order(order_in),
          slab(std::move(slab_in)),
          decoder(std::move(decoder_in)),
          options(checked(options_in)),
          shards(*dataset, options.engine.alignment.direct(), descriptor_budget()),
          planning(plan_options(options.engine, options.slots)),
          planner(*dataset, order, planning, slab->bytes()),
          schedule(planner, *slab,
                   {.slots = options.slots,
                    .batches = batches_to_deliver(order, options),
                    .open = !options.replay,
                    .alignment_bytes = start_alignment(options.engine.alignment)}) {
        const WorkerContext context{*dataset, shards,        *slab, decoder.get(), options, options.make_engine,
                                    schedule, first_issue_ns};
        for (unsigned i = 0; i < options.threads; ++i) workers.push_back(std::make_unique<Worker>(context, i));
    }

    void work(unsigned number);
    std::optional<Error> hung_read(Nanoseconds longer_than_ns) const;

    std::shared_ptr<const Dataset> dataset;
    Order order;
    std::shared_ptr<Slab> slab;
    std::shared_ptr<Decoder> decoder;
    LoaderOptions options;
    OpenShards shards;
    PlanOptions planning;
    BatchPlanner planner;
    Schedule schedule;
    std::atomic<Nanoseconds> first_issue_ns{0};
    std::vector<std::unique_ptr<Worker>> workers;

    std::vector<std::thread> threads;  // the Loader's alone

    // No worker begins before all have their engines: that one could not be made is the constructor's error.
    enum class Gate { closed, open, cancelled };

    std::mutex mutex;
    std::condition_variable progress;  // anything below has changed
    unsigned started = 0;              // workers that have made their engine, or failed to
    std::optional<Error> engine_error;
    Gate gate = Gate::closed;
    std::vector<char> ended;  // by worker
};

// A worker's thread.
void Loader::State::work(unsigned number) {
    Worker& worker = *workers[number];
    std::optional<Error> failure;
    const auto guarded = [&](const auto& step) {
        try {
            step();
        } catch (const std::exception& error) {
            failure = as_error(error);
        }
    };
    guarded([&] { worker.make_engine(); });
    bool go = false;
    {
        std::unique_lock lock(mutex);
        if (failure && !engine_error) engine_error = failure;
        ++started;
        progress.notify_all();
        progress.wait(lock, [&] { return gate != Gate::closed; });
        go = gate == Gate::open;
    }
    if (go) {
        guarded([&] {
            if (options.replay && number == 0) {
                BatchPlanner first(*dataset, order, planning, slab->bytes());
                worker.prepare_replay(first);
            }
            worker.run();
        });
        if (failure) schedule.fail(std::move(*failure));
    }
    worker.drop_engine();
    const std::lock_guard lock(mutex);
    ended[number] = 1;
    progress.notify_all();
}

std::optional<Error> Loader::State::hung_read(Nanoseconds longer_than_ns) const {
    OldestRead oldest;
    for (const auto& worker : workers) {
        const OldestRead one = worker->oldest();
        if (one.since_ns != 0 && (oldest.since_ns == 0 || one.since_ns < oldest.since_ns)) oldest = one;
    }
    const Nanoseconds hung_ns = oldest.since_ns == 0 ? 0 : now_ns() - oldest.since_ns;
    if (hung_ns <= longer_than_ns) return std::nullopt;
    const Nanoseconds whole_ns = longer_than_ns > 0 ? longer_than_ns : hung_ns;
    const Error hung(ErrorKind::timeout, fmt::format("a read has not come back for {}", format_time(whole_ns)));
    const std::string path = dataset->path(oldest.shard);
    return (dataset->has_extents() ? Error(hung).at(path, oldest.offset_bytes) : Error(hung).at(path))
        .advise(fmt::format("{}Check the storage below it, or allow more with --io-timeout",
                            // Some filesystems answer a ring's reads one by one, while it hands them over.
                            is_ring(options.engine.kind) && !options.engine.may_block
                                ? "It, or one that was handed over with it. "
                                : ""));
}

Loader::Loader(std::shared_ptr<const Dataset> dataset, const Order& order, std::shared_ptr<Slab> slab,
               std::shared_ptr<Decoder> decoder, const LoaderOptions& options)
    : state_(std::make_shared<State>(std::move(dataset), order, std::move(slab), std::move(decoder), options)) {
    State& state = *state_;
    state.ended.resize(state.options.threads, 0);
    state.threads.reserve(state.options.threads);
    std::optional<Error> failure;
    try {
        for (unsigned i = 0; i < state.options.threads; ++i) {
            state.threads.emplace_back([shared = state_, i] { shared->work(i); });
            // The kernel takes 15 characters.
            const std::string name = fmt::format("feedline-io-{}", i).substr(0, 15);
            pthread_setname_np(state.threads.back().native_handle(), name.c_str());
        }
    } catch (const std::system_error& error) {
        failure = Error(ErrorKind::io, fmt::format("cannot start reading thread {} of {}", state.threads.size() + 1,
                                                   state.options.threads))
                      .because(error.code().value())
                      .advise("use fewer --threads");
    }
    {
        std::unique_lock lock(state.mutex);
        state.progress.wait(lock, [&] { return state.started == state.threads.size(); });
        if (!failure) failure = state.engine_error;
        state.gate = failure ? State::Gate::cancelled : State::Gate::open;
        state.progress.notify_all();
    }
    if (!failure) return;
    for (std::thread& thread : state.threads) thread.join();
    throw Error(*failure);
}

Loader::~Loader() {
    finish(kGraceNs);
    const std::lock_guard lock(state_->mutex);
    for (std::size_t i = 0; i < state_->threads.size(); ++i) {
        if (!state_->threads[i].joinable()) continue;
        if (state_->ended[i] != 0) {
            state_->threads[i].join();
        } else {
            state_->threads[i].detach();
        }
    }
}

bool Loader::finish(Nanoseconds timeout_ns) {
    state_->schedule.stop();
    std::unique_lock lock(state_->mutex);
    return state_->progress.wait_for(lock, std::chrono::nanoseconds(timeout_ns), [&] {
        return std::all_of(state_->ended.begin(), state_->ended.end(), [](char ended) { return ended != 0; });
    });
}

const Batch* Loader::next() {
    const Nanoseconds timeout = state_->options.io_timeout_ns;
    const Nanoseconds every = timeout <= 0 ? 0 : std::max<Nanoseconds>(1'000'000, timeout / kChecksATimeout);
    return state_->schedule.next(every, [this, timeout] {
        if (std::optional<Error> hung = state_->hung_read(timeout)) state_->schedule.fail(std::move(*hung));
    });
}

std::optional<Error> Loader::hung_read(Nanoseconds longer_than_ns) const {
    return state_->hung_read(longer_than_ns);
}

void Loader::release(std::uint64_t index) {
    state_->schedule.release(index);
}

void Loader::release_at(std::uint64_t index, Nanoseconds at_ns) {
    state_->schedule.release_at(index, at_ns);
}

void Loader::stop() {
    state_->schedule.stop();
}

Nanoseconds Loader::first_issue_ns() const {
    return state_->first_issue_ns.load(std::memory_order_relaxed);
}

std::optional<Nanoseconds> Loader::slot_since_ns(std::uint64_t index) const {
    return state_->schedule.slot_since_ns(index);
}

LoaderStats Loader::stats() const {
    LoaderStats stats;
    const Schedule::Totals totals = state_->schedule.totals();
    stats.planned_requests = totals.requests;
    stats.planned_bytes = totals.bytes;
    stats.delivered_samples = totals.delivered_samples;
    stats.oversleep_ns = totals.oversleep_ns;
    FailureLog failures;
    for (const auto& worker : state_->workers) {
        const Worker::Totals of_worker = worker->totals();
        stats.skipped_samples += of_worker.skipped_samples;
        stats.slot_wait_ns += of_worker.slot_wait_ns;
        stats.engine += of_worker.engine;
        stats.read_latency_ns.merge(of_worker.read_latency_ns);
        stats.batch_latency_ns.merge(of_worker.batch_latency_ns);
        failures.merge(of_worker.failures);
    }
    stats.failures = failures.entries();
    stats.slot_wait_ns /= static_cast<Nanoseconds>(state_->workers.size());
    return stats;
}

}  // namespace feedline
