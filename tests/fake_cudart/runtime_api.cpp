// The functions of the CUDA runtime that the CUDA device calls, over the model. A function that is not here fails to
// link, which says so early enough.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "tests/fake_cudart/kernel_registry.h"
#include "tests/fake_cudart/model.h"

namespace feedline::test::fake_cudart {
namespace {

struct Runtime {
    std::mutex mutex;
    std::unique_ptr<Model> model = std::make_unique<Model>(Machine{});
    std::vector<std::pair<std::string, std::function<KernelRun(void**)>>> kernels;
    std::uint64_t calls = 0;
    std::uint64_t fail_at = 0;
    cudaError_t fail_with = cudaSuccess;
    std::map<std::string, cudaError_t> fail_api;
    cudaError_t next_kernel_fault = cudaSuccess;
    cudaError_t sticky = cudaSuccess;
    std::map<std::thread::id, std::string> unheeded;  // the call whose error the thread got last
    std::map<std::thread::id, cudaError_t> last_error;
    std::map<std::thread::id, int> current_gpu;

    cudaError_t fail(const char* api, cudaError_t error) {
        unheeded[std::this_thread::get_id()] = api;
        last_error[std::this_thread::get_id()] = error;
        return error;
    }
    int gpu() { return current_gpu[std::this_thread::get_id()]; }
};

// In a function, because kernels register from static constructors.
Runtime& runtime() {
    static Runtime instance;
    return instance;
}

// One call of the API: the lock, and what happens to every call before it does its work.
class Call {
public:
    enum class Kind { work, choice, cleanup };

    Call(const char* api, Kind kind) : api_(api), r_(runtime()), lock_(r_.mutex) {
        r_.model->look_at_flags();
        if (kind == Kind::cleanup) return;
        const auto unheeded = r_.unheeded.find(std::this_thread::get_id());
        if (unheeded != r_.unheeded.end() && kind == Kind::work)
            r_.model->violation(fmt::format("{} failed, and the caller went on with {}", unheeded->second, api));
        const std::uint64_t number = r_.calls++;
        const auto broken = r_.fail_api.find(api);
        if (r_.sticky != cudaSuccess) {
            error_ = r_.sticky;
        } else if (r_.fail_with != cudaSuccess && number == r_.fail_at) {
            error_ = std::exchange(r_.fail_with, cudaSuccess);
        } else if (broken != r_.fail_api.end()) {
            error_ = broken->second;
        }
    }

    bool refused() const { return error_ != cudaSuccess; }
    cudaError_t refusal() { return fail(error_); }
    cudaError_t fail(cudaError_t error) { return r_.fail(api_, error); }
    Model& model() { return *r_.model; }
    Runtime& runtime_state() { return r_; }
    // Sleeps until then, without the lock.
    void sleep_until_over(const Moment& moment) {
        while (true) {
            const Nanoseconds now = now_ns();
            const Nanoseconds over_ns = *moment;
            if (over_ns <= now) return;
            lock_.unlock();
            MonotonicClock().sleep_until(std::min(over_ns, now + kLookInterval));
            lock_.lock();
            r_.model->look_at_flags();
        }
    }

    StreamState* stream(cudaStream_t handle) {
        StreamState* const stream = model().stream(handle, api_);
        if (stream != nullptr && stream->gpu != r_.gpu())
            model().violation(
                fmt::format("{} on a stream of GPU {} while GPU {} is current", api_, stream->gpu, r_.gpu()));
        return stream;
    }
    EventState* recorded_event(cudaEvent_t handle) {
        EventState* const event = model().event(handle, api_);
        if (event == nullptr || event->recorded) return event;
        model().violation(fmt::format("{} of event {} before it was recorded", api_, event->number));
        return nullptr;
    }

private:
    static constexpr Nanoseconds kLookInterval = 1'000'000;

    const char* api_;
    Runtime& r_;
    std::unique_lock<std::mutex> lock_;
    cudaError_t error_ = cudaSuccess;
};

}  // namespace

void reset(const Machine& machine) {
    Runtime& r = runtime();
    std::lock_guard lock(r.mutex);
    r.model = std::make_unique<Model>(machine);
    r.kernels.clear();
    r.calls = 0;
    r.fail_with = cudaSuccess;
    r.fail_api.clear();
    r.next_kernel_fault = cudaSuccess;
    r.sticky = cudaSuccess;
    r.unheeded.clear();
    r.last_error.clear();
    r.current_gpu.clear();
}

std::vector<std::string> violations() {
    std::lock_guard lock(runtime().mutex);
    return runtime().model->take_violations();
}

std::vector<std::string> leaks() {
    std::lock_guard lock(runtime().mutex);
    return runtime().model->leaks();
}

void set_kernel(const std::string& name, std::function<KernelRun(void**)> interpret) {
    std::lock_guard lock(runtime().mutex);
    runtime().kernels.emplace_back(name, std::move(interpret));
}

std::uint64_t calls() {
    std::lock_guard lock(runtime().mutex);
    return runtime().calls;
}

void fail_call(std::uint64_t number, cudaError_t error) {
    std::lock_guard lock(runtime().mutex);
    runtime().fail_at = number;
    runtime().fail_with = error;
}

void fail_calls_of(const std::string& api, cudaError_t error) {
    std::lock_guard lock(runtime().mutex);
    runtime().fail_api[api] = error;
}

void fail_next_kernel(cudaError_t error) {
    std::lock_guard lock(runtime().mutex);
    runtime().next_kernel_fault = error;
}

void allow_going_on() {
    std::lock_guard lock(runtime().mutex);
    runtime().unheeded.clear();
    runtime().last_error.clear();
}

namespace {

using Kind = Call::Kind;

cudaError_t launch(const char* api, const void* function, void** arguments, cudaStream_t handle) {
    Call call(api, Kind::work);
    if (call.refused()) return call.refusal();
    const std::string name = kernel_name(function);
    if (name.empty()) return call.fail(cudaErrorInvalidDeviceFunction);
    StreamState* const stream = call.stream(handle);
    if (stream == nullptr) return call.fail(cudaErrorInvalidResourceHandle);
    Runtime& r = call.runtime_state();
    const auto known = std::find_if(r.kernels.begin(), r.kernels.end(),
                                    [&](const auto& k) { return name.find(k.first) != std::string::npos; });
    if (known == r.kernels.end()) {
        call.model().violation(fmt::format("{} of {}, and the test says nothing about it", api, name));
        return cudaSuccess;
    }
    KernelRun run = known->second(arguments);
    for (const Access& access : run.accesses)
        if (!call.model().inside_gpu_memory(access.data, access.bytes, known->first.c_str()))
            return call.fail(cudaErrorInvalidValue);
    if (run.stop != nullptr && !call.model().inside_mapped_memory(run.stop, sizeof(*run.stop), known->first.c_str()))
        return call.fail(cudaErrorInvalidValue);
    Operation operation;
    operation.what = "kernel " + known->first;
    operation.accesses = std::move(run.accesses);
    operation.effect = std::move(run.run);
    operation.fault = std::exchange(r.next_kernel_fault, cudaSuccess);
    call.model().submit(*stream, std::move(operation),
                        {.length_ns = run.length_ns, .stop = run.stop, .stopped_length_ns = run.stopped_length_ns});
    return cudaSuccess;
}

// A fault shows at the first question about something after it, and from then on everywhere.
cudaError_t fault(Call& call, const EventState& event) {
    const cudaError_t error = call.model().fault_before(event.after);
    if (error != cudaSuccess) call.runtime_state().sticky = error;
    return error;
}

cudaError_t copy(Call& call, void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t handle) {
    StreamState* const stream = call.stream(handle);
    if (stream == nullptr) return call.fail(cudaErrorInvalidResourceHandle);
    Model& model = call.model();
    const bool up = kind == cudaMemcpyHostToDevice;
    if (!up && kind != cudaMemcpyDeviceToHost) return call.fail(cudaErrorInvalidMemcpyDirection);
    const void* const host = up ? from : to;
    const void* const gpu = up ? to : from;
    if (!model.pinned(host, bytes)) {
        model.violation(fmt::format("cudaMemcpyAsync of {} bytes from or to host memory that is not pinned", bytes));
        return call.fail(cudaErrorInvalidValue);
    }
    if (!model.inside_gpu_memory(gpu, bytes, "cudaMemcpyAsync")) return call.fail(cudaErrorInvalidValue);
    Operation operation;
    operation.what = fmt::format("a copy of {} bytes", bytes);
    operation.accesses = {{static_cast<const std::byte*>(gpu), bytes, up}};
    if (up) {
        operation.host_source = static_cast<const std::byte*>(from);
        operation.host_bytes = bytes;
    }
    operation.effect = [to, from, bytes] { std::memcpy(to, from, bytes); };
    const double length_ns = static_cast<double>(bytes) / model.machine().copy_bytes_per_second * 1e9;
    model.submit(*stream, std::move(operation),
                 {.length_ns = model.machine().copy_latency_ns + static_cast<Nanoseconds>(length_ns), .copies = true});
    return cudaSuccess;
}

struct CallConfiguration {
    dim3 grid;
    dim3 block;
    std::size_t shared_bytes = 0;
    cudaStream_t stream = nullptr;
};
thread_local CallConfiguration pushed;

}  // namespace
}  // namespace feedline::test::fake_cudart

using namespace feedline;
using namespace feedline::test::fake_cudart;

// The names are the runtime's.
// NOLINTBEGIN(readability-identifier-naming)
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wreserved-identifier"
#endif
extern "C" {

cudaError_t cudaDriverGetVersion(int* version) {
    Call call("cudaDriverGetVersion", Kind::work);
    if (call.refused()) return call.refusal();
    *version = call.model().machine().gpus < 0 ? 0 : CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
    Call call("cudaGetDeviceCount", Kind::work);
    if (call.refused()) return call.refusal();
    *count = call.model().machine().gpus;
    return *count > 0 ? cudaSuccess : call.fail(cudaErrorNoDevice);
}

cudaError_t cudaSetDevice(int gpu) {
    Call call("cudaSetDevice", Kind::choice);
    if (call.refused()) return call.refusal();
    if (gpu < 0 || gpu >= call.model().machine().gpus) return call.fail(cudaErrorInvalidDevice);
    call.runtime_state().current_gpu[std::this_thread::get_id()] = gpu;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int gpu) {
    Call call("cudaGetDeviceProperties", Kind::work);
    if (call.refused()) return call.refusal();
    *properties = {};
    fmt::format_to_n(properties->name, sizeof(properties->name) - 1, "Stand-in GPU {}", gpu);
    return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char* id, int length, int gpu) {
    Call call("cudaDeviceGetPCIBusId", Kind::work);
    if (call.refused()) return call.refusal();
    const auto written = fmt::format_to_n(id, static_cast<std::size_t>(length) - 1, "0000:{:02x}:00.0", gpu + 1);
    *written.out = '\0';
    return cudaSuccess;
}

cudaError_t cudaHostRegister(void* data, std::size_t bytes, unsigned flags) {
    Call call("cudaHostRegister", Kind::work);
    if (call.refused()) return call.refusal();
    if ((flags & cudaHostRegisterPortable) == 0 && call.model().machine().gpus > 1)
        call.model().violation("cudaHostRegister for one of several GPUs only");
    return call.model().pin(data, bytes) ? cudaSuccess : call.fail(cudaErrorHostMemoryAlreadyRegistered);
}

cudaError_t cudaHostUnregister(void* data) {
    Call call("cudaHostUnregister", Kind::cleanup);
    return call.model().unpin(data) ? cudaSuccess : call.fail(cudaErrorHostMemoryNotRegistered);
}

cudaError_t cudaHostAlloc(void** data, std::size_t bytes, unsigned flags) {
    Call call("cudaHostAlloc", Kind::work);
    if (call.refused()) return call.refusal();
    *data = call.model().allocate_host(bytes, (flags & cudaHostAllocMapped) != 0);
    return cudaSuccess;
}

cudaError_t cudaHostGetDevicePointer(void** on_gpu, void* data, unsigned /*flags*/) {
    Call call("cudaHostGetDevicePointer", Kind::work);
    if (call.refused()) return call.refusal();
    if (!call.model().inside_mapped_memory(data, 1, "cudaHostGetDevicePointer"))
        return call.fail(cudaErrorInvalidValue);
    *on_gpu = data;
    return cudaSuccess;
}

cudaError_t cudaFreeHost(void* data) {
    Call call("cudaFreeHost", Kind::cleanup);
    return call.model().free_host(data) ? cudaSuccess : call.fail(cudaErrorInvalidValue);
}

cudaError_t cudaMalloc(void** data, std::size_t bytes) {
    Call call("cudaMalloc", Kind::work);
    if (call.refused()) return call.refusal();
    *data = call.model().allocate(bytes, call.runtime_state().gpu());
    return *data != nullptr ? cudaSuccess : call.fail(cudaErrorMemoryAllocation);
}

cudaError_t cudaFree(void* data) {
    Call call("cudaFree", Kind::cleanup);
    return call.model().free(data) ? cudaSuccess : call.fail(cudaErrorInvalidValue);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
    Call call("cudaStreamCreateWithFlags", Kind::work);
    if (call.refused()) return call.refusal();
    if ((flags & cudaStreamNonBlocking) == 0) call.model().violation("a stream that waits for the default stream");
    *stream = reinterpret_cast<cudaStream_t>(call.model().make_stream(call.runtime_state().gpu()));
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t handle) {
    Call call("cudaStreamDestroy", Kind::cleanup);
    StreamState* const stream = call.model().stream(handle, "cudaStreamDestroy");
    if (stream == nullptr) return call.fail(cudaErrorInvalidResourceHandle);
    stream->alive = false;
    return cudaSuccess;
}

// Spins on a real GPU, so it is for the way out only.
cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
    Call call("cudaStreamSynchronize", Kind::cleanup);
    StreamState* const stream = call.model().stream(handle, "cudaStreamSynchronize");
    if (stream == nullptr) return call.fail(cudaErrorInvalidResourceHandle);
    const VectorClock over = stream->after;
    call.sleep_until_over(call.model().end_of(*stream));
    call.model().observe(over);
    return call.runtime_state().sticky;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event_handle, unsigned /*flags*/) {
    Call call("cudaStreamWaitEvent", Kind::work);
    if (call.refused()) return call.refusal();
    StreamState* const stream = call.stream(handle);
    const EventState* const event = call.recorded_event(event_handle);
    if (stream == nullptr || event == nullptr) return call.fail(cudaErrorInvalidResourceHandle);
    call.model().wait(*stream, *event);
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
    Call call("cudaEventCreateWithFlags", Kind::work);
    if (call.refused()) return call.refusal();
    *event = reinterpret_cast<cudaEvent_t>(call.model().make_event(call.runtime_state().gpu(), flags));
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t handle) {
    Call call("cudaEventDestroy", Kind::cleanup);
    EventState* const event = call.model().event(handle, "cudaEventDestroy");
    if (event == nullptr) return call.fail(cudaErrorInvalidResourceHandle);
    event->alive = false;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t handle, cudaStream_t stream_handle) {
    Call call("cudaEventRecord", Kind::work);
    if (call.refused()) return call.refusal();
    StreamState* const stream = call.stream(stream_handle);
    EventState* const event = call.model().event(handle, "cudaEventRecord");
    if (stream == nullptr || event == nullptr) return call.fail(cudaErrorInvalidResourceHandle);
    call.model().record(*event, *stream);
    return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t handle) {
    Call call("cudaEventQuery", Kind::work);
    if (call.refused()) return call.refusal();
    const EventState* const event = call.recorded_event(handle);
    if (event == nullptr) return call.fail(cudaErrorInvalidResourceHandle);
    if (now_ns() < *event->time) {
        call.runtime_state().last_error[std::this_thread::get_id()] = cudaErrorNotReady;
        return cudaErrorNotReady;
    }
    if (const cudaError_t error = fault(call, *event); error != cudaSuccess) return call.fail(error);
    call.model().observe(event->after);
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
    Call call("cudaEventSynchronize", Kind::work);
    if (call.refused()) return call.refusal();
    const EventState* event = call.recorded_event(handle);
    if (event == nullptr) return call.fail(cudaErrorInvalidResourceHandle);
    if (!event->sleeps)
        call.model().violation(fmt::format("the host spins on event {}: no cudaEventBlockingSync", event->number));
    const VectorClock over = event->after;
    call.sleep_until_over(Moment(event->time));
    if (!event->alive)
        call.model().violation(fmt::format("event {} was destroyed under a waiting thread", event->number));
    if (const cudaError_t error = fault(call, *event); error != cudaSuccess) return call.fail(error);
    call.model().observe(over);
    return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t start_handle, cudaEvent_t end_handle) {
    Call call("cudaEventElapsedTime", Kind::work);
    if (call.refused()) return call.refusal();
    const EventState* const start = call.recorded_event(start_handle);
    const EventState* const end = call.recorded_event(end_handle);
    if (start == nullptr || end == nullptr) return call.fail(cudaErrorInvalidResourceHandle);
    if (now_ns() < std::max(*start->time, *end->time)) return call.fail(cudaErrorNotReady);
    const Nanoseconds resolution_ns = call.model().machine().event_resolution_ns;
    const Nanoseconds ticks = *end->time / resolution_ns - *start->time / resolution_ns;
    *ms = static_cast<float>(static_cast<double>(ticks * resolution_ns) * 1e-6);
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
    Call call("cudaMemcpyAsync", Kind::work);
    if (call.refused()) return call.refusal();
    return copy(call, to, from, bytes, kind, stream);
}

cudaError_t cudaMemsetAsync(void* data, int value, std::size_t bytes, cudaStream_t handle) {
    Call call("cudaMemsetAsync", Kind::work);
    if (call.refused()) return call.refusal();
    StreamState* const stream = call.stream(handle);
    if (stream == nullptr) return call.fail(cudaErrorInvalidResourceHandle);
    if (!call.model().inside_gpu_memory(data, bytes, "cudaMemsetAsync")) return call.fail(cudaErrorInvalidValue);
    Operation operation;
    operation.what = fmt::format("a fill of {} bytes", bytes);
    operation.accesses = {{static_cast<const std::byte*>(data), bytes, true}};
    operation.effect = [data, value, bytes] { std::memset(data, value, bytes); };
    call.model().submit(*stream, std::move(operation), {});
    return cudaSuccess;
}

cudaError_t cudaLaunchKernel(const void* function, dim3 /*grid*/, dim3 /*block*/, void** arguments,
                             std::size_t /*shared_bytes*/, cudaStream_t stream) {
    return launch("cudaLaunchKernel", function, arguments, stream);
}

cudaError_t cudaGetLastError() {
    Call call("cudaGetLastError", Kind::cleanup);
    cudaError_t& last = call.runtime_state().last_error[std::this_thread::get_id()];
    return std::exchange(last, cudaSuccess);
}

const char* cudaGetErrorString(cudaError_t error) {
    switch (error) {
        case cudaErrorMemoryAllocation: return "out of memory";
        case cudaErrorNotReady: return "device not ready";
        case cudaErrorNoDevice: return "no CUDA-capable device is detected";
        case cudaErrorLaunchFailure: return "unspecified launch failure";
        default: return "an injected or reported error";
    }
}

// What <<<>>> turns into. It drops the answer of the launch, so only cudaGetLastError() tells of a failure.
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared_bytes, cudaStream_t stream) {
    pushed = {grid, block, shared_bytes, stream};
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared_bytes, void* stream) {
    *grid = pushed.grid;
    *block = pushed.block;
    *shared_bytes = pushed.shared_bytes;
    *static_cast<cudaStream_t*>(stream) = pushed.stream;
    return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
    // Any handle that __cudaLaunchKernel understands will do.
    *kernel = static_cast<cudaKernel_t>(const_cast<void*>(function));
    return cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 /*grid*/, dim3 /*block*/, void** arguments,
                               std::size_t /*shared_bytes*/, cudaStream_t stream) {
    return launch("<<<>>>", kernel, arguments, stream);
}
}
// NOLINTEND(readability-identifier-naming)
