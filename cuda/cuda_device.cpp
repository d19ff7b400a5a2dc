#include "cuda/cuda_device.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "core/error.h"
#include "cuda/check_options.h"
#include "cuda/pinned_slab.h"

namespace feedline {
namespace {

constexpr std::uint64_t kBufferAlignment = 256;  // what cudaMalloc aligns to
constexpr int kAnchorTries = 8;
constexpr Nanoseconds kAnchorInterval = kNanosecondsPerSecond;
constexpr Nanoseconds kWidestAnchor = 50'000;    // a later one is not used when the host was held up for longer
constexpr Nanoseconds kAnchorPolling = 100'000;  // then sleep; an idle GPU answers within about 10 us

std::string describe(int ordinal) {
    cudaDeviceProp properties{};
    check_cuda(cudaGetDeviceProperties(&properties, ordinal), "cannot ask for its name");
    char bus_id[32] = {};
    check_cuda(cudaDeviceGetPCIBusId(bus_id, sizeof(bus_id), ordinal), "cannot ask for its address");
    return fmt::format("{} ({})", properties.name, bus_id);
}

}  // namespace

int CudaDevice::usable_ordinal(const DeviceOptions& options) {
    check_device_options(options);
    std::string reason;
    const unsigned count = cuda_device_count(&reason);
    if (count == 0) throw Error(ErrorKind::unsupported, reason).advise("use the emulated device");
    if (static_cast<unsigned>(options.ordinal) >= count)
        throw Error(ErrorKind::unsupported, fmt::format("GPU number {} was asked for, and the machine has {}, counted "
                                                        "from 0",
                                                        options.ordinal, count))
            .advise("ask for fewer accelerators, or use the emulated device");
    use_gpu(options.ordinal);  // before the members are made, which belong to the current device
    return options.ordinal;
}

CudaDevice::CudaDevice(const DeviceOptions& options)
    : options_(options), ordinal_(usable_ordinal(options)), name_(describe(ordinal_)) {
    work_ = options.step_kernel == StepKernel::gemm ? make_gemm_step(options.step_ns, step_stream_)
                                                    : make_spin_step(options.step_ns, step_stream_);
}

CudaDevice::~CudaDevice() {
    static_cast<void>(cudaSetDevice(ordinal_));
    CudaDevice::cut();
    copy_stream_.finish();
    step_stream_.finish();
}

std::shared_ptr<Slab> CudaDevice::make_slab(std::uint64_t bytes) {
    use_gpu(ordinal_);
    return make_pinned_slab(bytes);
}

void CudaDevice::begin_epoch(std::uint64_t max_batch_bytes) {
    use_gpu(ordinal_);
    cut();  // nobody asks for what an epoch that was broken off has left
    drain();
    if (MappedFlag* const stop = work_->stop_flag()) stop->set(false);
    cut_ = false;
    max_batch_bytes_ = max_batch_bytes;
    const std::uint64_t needed = (max_batch_bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
    if (needed > buffer_bytes_) {
        if (needed > std::numeric_limits<std::uint64_t>::max() / options_.slots)
            throw Error(ErrorKind::usage, "the device buffers are too large to count");
        buffers_ = GpuMemory();
        buffer_bytes_ = 0;
        buffers_ = GpuMemory(needed * options_.slots);
        buffer_bytes_ = needed;
    }
    known_.clear();
    batches_ = 0;
    last_times_ = StepTimes{};
    {
        std::lock_guard lock(mutex_);
        copying_.clear();
        free_.clear();
        for (const auto& flight : flights_) free_.push_back(flight.get());
        reference_flight_ = nullptr;
    }
    restart_clock();
}

void CudaDevice::enqueue(std::uint64_t index, const std::byte* data, std::uint64_t bytes, Nanoseconds ready_ns) {
    if (bytes > max_batch_bytes_)
        throw Error(ErrorKind::internal,
                    fmt::format("batch {} has {} bytes, more than the {} that the epoch began with", index, bytes,
                                max_batch_bytes_));
    if (batches_ > 0 && index <= last_index_)
        throw Error(ErrorKind::internal, fmt::format("batch {} was enqueued after batch {}", index, last_index_));
    use_gpu(ordinal_);
    harvest();
    if (now_ns() >= next_anchor_ns_) steer_clock();

    Flight& flight = free_flight();
    flight.index = index;
    flight.ready_ns = ready_ns;
    std::byte* const batch = buffer(batches_ % options_.slots);

    // Batch i-N, whose buffer this one takes over; when it was harvested already, its step is over.
    if (in_flight_.size() >= options_.slots)
        in_flight_[in_flight_.size() - options_.slots]->step_end.hold_back(copy_stream_);
    flight.copy_start.record(copy_stream_);
    if (bytes > 0)
        check_cuda(cudaMemcpyAsync(batch, data, bytes, cudaMemcpyHostToDevice, copy_stream_.get()),
                   "cannot start a copy");
    flight.copy_end.record(copy_stream_);
    if (!options_.serial) flight.copy_end.hold_back(step_stream_);
    flight.step_start.record(step_stream());
    flight.launched = !cut_;
    if (flight.launched) work_->launch(step_stream(), batch, bytes);
    flight.step_end.record(step_stream());

    last_index_ = index;
    ++batches_;
    in_flight_.push(&flight);
    std::lock_guard lock(mutex_);
    flight.holders = 2;
    copying_.push(&flight);
}

Nanoseconds CudaDevice::wait_copied(std::uint64_t index) {
    use_gpu(ordinal_);
    Flight* flight = nullptr;
    {
        std::lock_guard lock(mutex_);
        while (!copying_.empty() && copying_.front()->index < index) {
            release(*copying_.front());
            copying_.pop();
        }
        if (copying_.empty() || copying_.front()->index != index)
            throw Error(ErrorKind::internal,
                        fmt::format("waited for the copy of batch {}, which is not under way", index));
        flight = copying_.front();
        copying_.pop();
    }
    Event& over = options_.serial ? flight->step_end : flight->copy_end;
    over.wait();
    const Nanoseconds now = now_ns();
    std::lock_guard lock(mutex_);
    const Nanoseconds end_ns = clock_map_.to_host(reference_device_ns_ + over.ns_since(*reference_));
    release(*flight);
    return std::max<Nanoseconds>(0, now - end_ns);
}

void CudaDevice::collect(std::vector<StepTimes>& out) {
    use_gpu(ordinal_);
    harvest();
    out.insert(out.end(), known_.begin(), known_.end());
    known_.clear();
}

void CudaDevice::drain() {
    use_gpu(ordinal_);
    if (!in_flight_.empty()) in_flight_[in_flight_.size() - 1]->step_end.wait();
    harvest();
}

void CudaDevice::cut() {
    cut_ = true;  // first: whoever sees a step that was cut short knows that it may be one
    if (MappedFlag* const stop = work_->stop_flag()) stop->set(true);
}

void CudaDevice::read_back(unsigned slot, std::byte* pinned, std::uint64_t bytes) {
    use_gpu(ordinal_);
    check_cuda(cudaMemcpyAsync(pinned, buffer(slot), bytes, cudaMemcpyDeviceToHost, copy_stream_.get()),
               "cannot copy back");
    Event done;
    done.record(copy_stream_);
    done.wait();
}

// Makes a new one rather than wait for an old: enqueue() never blocks for a step. As the loader has no more than its
// slots to hand out, and a step that is behind holds a device buffer, there are soon no new ones to make.
CudaDevice::Flight& CudaDevice::free_flight() {
    {
        std::lock_guard lock(mutex_);
        if (!free_.empty()) {
            Flight& flight = *free_.back();
            free_.pop_back();
            return flight;
        }
    }
    flights_.push_back(std::make_unique<Flight>());
    return *flights_.back();
}

void CudaDevice::release(Flight& flight) {
    if (--flight.holders == 0) free_.push_back(&flight);
}

void CudaDevice::harvest() {
    while (!in_flight_.empty() && in_flight_.front()->step_end.complete()) {
        Flight& flight = *in_flight_.front();
        in_flight_.pop();
        last_times_ = times_of(flight);
        known_.push_back(last_times_);
        const double end_device_ns = reference_device_ns_ + flight.step_end.ns_since(*reference_);
        std::lock_guard lock(mutex_);
        if (reference_flight_ != nullptr) release(*reference_flight_);
        reference_flight_ = &flight;
        reference_ = &flight.step_end;
        reference_device_ns_ = end_device_ns;
    }
}

StepTimes CudaDevice::times_of(const Flight& flight) const {
    const auto host_ns = [this](const Event& event) {
        return clock_map_.to_host(reference_device_ns_ + event.ns_since(*reference_));
    };
    StepTimes times;
    times.index = flight.index;
    times.ready_ns = flight.ready_ns;
    times.copy_start_ns = std::max({host_ns(flight.copy_start), flight.ready_ns, last_times_.copy_end_ns});
    times.copy_end_ns = std::max(host_ns(flight.copy_end), times.copy_start_ns);
    times.start_ns = std::max({host_ns(flight.step_start), times.copy_end_ns, last_times_.end_ns});
    times.end_ns = std::max(host_ns(flight.step_end), times.start_ns);
    const bool maybe_short = !flight.launched || (cut_ && work_->stop_flag() != nullptr);
    if (maybe_short) times.end_ns = std::max(times.end_ns, times.start_ns + options_.step_ns);
    return times;
}

// Polls for a moment, because waking from sleep would take longer than what is measured.
CudaDevice::Anchor CudaDevice::drop_anchor(Event& event) {
    const Nanoseconds before = now_ns();
    event.record(anchor_stream_);
    while (!event.complete()) {
        if (now_ns() - before > kAnchorPolling) {
            event.wait();
            break;
        }
    }
    const Nanoseconds width_ns = now_ns() - before;
    return {before + width_ns / 2, width_ns};
}

void CudaDevice::restart_clock() {
    Event* best = &epoch_anchor_;
    Event* other = &spare_anchor_;
    Anchor anchor = drop_anchor(*best);
    for (int k = 1; k < kAnchorTries; ++k) {
        const Anchor candidate = drop_anchor(*other);
        if (candidate.width_ns >= anchor.width_ns) continue;
        anchor = candidate;
        std::swap(best, other);
    }
    spare_is_reference_ = best == &spare_anchor_;
    next_anchor_ns_ = now_ns() + kAnchorInterval;
    std::lock_guard lock(mutex_);
    reference_ = best;
    reference_device_ns_ = 0;
    clock_map_.restart(0, anchor.host_ns);
}

void CudaDevice::steer_clock() {
    Event& event = spare_is_reference_ ? epoch_anchor_ : spare_anchor_;
    const Anchor anchor = drop_anchor(event);
    next_anchor_ns_ = now_ns() + kAnchorInterval;
    if (anchor.width_ns > kWidestAnchor) return;
    const double device_ns = reference_device_ns_ + event.ns_since(*reference_);
    std::lock_guard lock(mutex_);
    clock_map_.correct(device_ns, anchor.host_ns);
}

std::unique_ptr<Device> make_cuda_device(const DeviceOptions& options) {
    return std::make_unique<CudaDevice>(options);
}

unsigned cuda_device_count(std::string* reason) {
    int driver = 0;
    int count = 0;
    cudaError_t status = cudaDriverGetVersion(&driver);  // 0 when there is none
    if (status == cudaSuccess && driver != 0) status = cudaGetDeviceCount(&count);
    if (status == cudaSuccess && count > 0) return static_cast<unsigned>(count);
    static_cast<void>(cudaGetLastError());
    if (reason != nullptr) {
        if (status != cudaSuccess)
            *reason = fmt::format("no usable GPU: {}", cudaGetErrorString(status));
        else
            *reason = driver == 0 ? "no usable GPU: this machine has no NVIDIA driver"
                                  : "no usable GPU: the driver lists none";
    }
    return 0;
}

}  // namespace feedline
