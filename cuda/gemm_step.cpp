// cuBLAS is loaded when a step wants it and not linked: it maps some 700 MB, which every other run would pay for when
// the program starts, and a machine without it can still use everything else.
#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "cuda/step_work.h"

#ifdef FEEDLINE_HAVE_CUBLAS

#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <dlfcn.h>

#include <fmt/format.h>

#include "cuda/spin_kernel.h"

namespace feedline {
namespace {

// The few entry points that are used. The library stays loaded until the program ends: it may run code of its own then.
class Cublas {
public:
    Cublas() {
        void* library = dlopen(FEEDLINE_CUBLAS_NAME, RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) library = dlopen(FEEDLINE_CUBLAS_PATH, RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr)
            throw Error(ErrorKind::unsupported, fmt::format("cuBLAS cannot be loaded: {}", dlerror()))
                .advise("use --step-kernel spin, or put it on LD_LIBRARY_PATH");
        load(library, "cublasCreate_v2", create_);
        load(library, "cublasDestroy_v2", destroy_);
        load(library, "cublasSetStream_v2", set_stream_);
        load(library, "cublasGemmEx", gemm_);
        load(library, "cublasGetStatusString", describe_);
        check(create_(&handle_), "cannot start cuBLAS");
    }
    ~Cublas() { static_cast<void>(destroy_(handle_)); }
    Cublas(const Cublas&) = delete;
    Cublas& operator=(const Cublas&) = delete;

    // c = a * b, square, bf16 with sums in fp32.
    void multiply(const Stream& stream, int order, const std::byte* a, const std::byte* b, std::byte* c) {
        const float one = 1;
        const float zero = 0;
        check(set_stream_(handle_, stream.get()), "cannot choose a stream for cuBLAS");
        check(gemm_(handle_, CUBLAS_OP_N, CUBLAS_OP_N, order, order, order, &one, a, CUDA_R_16BF, order, b, CUDA_R_16BF,
                    order, &zero, c, CUDA_R_16BF, order, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
              "cannot launch a product of matrices");
    }

private:
    template <typename Function>
    static void load(void* library, const char* name, Function& function) {
        function = reinterpret_cast<Function>(dlsym(library, name));
        if (function == nullptr)
            throw Error(ErrorKind::unsupported, fmt::format("this cuBLAS has no {}", name))
                .advise("use --step-kernel spin");
    }

    void check(cublasStatus_t status, const char* what) const {
        if (status != CUBLAS_STATUS_SUCCESS)
            throw Error(ErrorKind::io, fmt::format("the GPU failed: {}: {}", what, describe_(status)));
    }

    decltype(&cublasCreate_v2) create_ = nullptr;
    decltype(&cublasDestroy_v2) destroy_ = nullptr;
    decltype(&cublasSetStream_v2) set_stream_ = nullptr;
    // Spelled out, because the header overloads the name for C++.
    cublasStatus_t (*gemm_)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const void*,
                            const void*, cudaDataType, int, const void*, cudaDataType, int, const void*, void*,
                            cudaDataType, int, cublasComputeType_t, cublasGemmAlgo_t) = nullptr;
    decltype(&cublasGetStatusString) describe_ = nullptr;
    cublasHandle_t handle_ = nullptr;
};

constexpr int kSmallestOrder = 1024;
constexpr int kLargestOrder = 8192;
constexpr int kProductsWanted = 32;  // a step of so many products meets its length within about 2 %
constexpr int kCalibrations = 5;

class GemmStep final : public StepWork {
public:
    GemmStep(Nanoseconds step_ns, const Stream& stream) : sum_(sizeof(unsigned)) {
        const auto wanted_ns = static_cast<double>(step_ns);
        choose_order(kSmallestOrder);
        double product_ns = time_of(stream, 1);
        // The larger the matrices, the more like training; small ones for short steps only.
        while (order_ < kLargestOrder && 8 * product_ns * kProductsWanted <= wanted_ns) {
            choose_order(order_ * 2);
            product_ns = time_of(stream, 1);
        }
        products_ = rounded(wanted_ns / product_ns);
        // Many in a row run faster than one alone: its launch hides behind the one before.
        if (products_ > 1) products_ = rounded(products_ * wanted_ns / time_of(stream, products_));
    }

    void launch(const Stream& stream, const std::byte* batch, std::uint64_t bytes) override {
        check_cuda(
            launch_spin_kernel(stream.get(), reinterpret_cast<const unsigned char*>(batch), bytes, 0, nullptr, sum()),
            "cannot launch a step");
        multiply(stream, products_);
    }

private:
    // Constant, small and not zero: products of zeros draw less power and run faster than any training does.
    static constexpr int kFillByte = 0x3c;  // as bf16: 0.0115

    unsigned* sum() const { return reinterpret_cast<unsigned*>(sum_.data()); }

    static int rounded(double count) { return std::max(1, static_cast<int>(std::lround(count))); }

    std::uint64_t matrix_bytes() const {
        return static_cast<std::uint64_t>(order_) * static_cast<std::uint64_t>(order_) * sizeof(__nv_bfloat16);
    }

    void choose_order(int order) {
        order_ = order;
        filled_ = false;
        matrices_ = GpuMemory();
        matrices_ = GpuMemory(3 * matrix_bytes());
    }

    double time_of(const Stream& stream, int products) {
        return shortest_length_ns(stream, sum(), kCalibrations, [&] { multiply(stream, products); });
    }

    void multiply(const Stream& stream, int products) {
        if (!filled_)
            check_cuda(cudaMemsetAsync(matrices_.data(), kFillByte, matrices_.bytes(), stream.get()),
                       "cannot fill matrices");
        filled_ = true;
        const std::byte* a = matrices_.data();
        for (int k = 0; k < products; ++k)
            cublas_.multiply(stream, order_, a, a + matrix_bytes(), matrices_.data() + 2 * matrix_bytes());
    }

    Cublas cublas_;
    GpuMemory sum_;
    GpuMemory matrices_;
    bool filled_ = false;
    int order_ = 0;
    int products_ = 0;
};

}  // namespace

std::unique_ptr<StepWork> make_gemm_step(Nanoseconds step_ns, const Stream& idle_stream) {
    return std::make_unique<GemmStep>(step_ns, idle_stream);
}

}  // namespace feedline

#else

namespace feedline {

std::unique_ptr<StepWork> make_gemm_step(Nanoseconds /*step_ns*/, const Stream& /*idle_stream*/) {
    throw Error(ErrorKind::unsupported, "this build has no cuBLAS").advise("use --step-kernel spin");
}

}  // namespace feedline

#endif
