#include "loaders/pth/torch_globals.h"

#include <array>

namespace feedline::pth {
namespace {

using pickle::Global;

// What torch.load(weights_only=True) admits for plain tensors (torch/_weights_only_unpickler.py), by the names of all
// versions; and by name what PyTorch writes beside.
constexpr std::array kGlobals = {
    Global{"torch._utils", "_rebuild_tensor"},
    Global{"torch._utils", "_rebuild_tensor_v2"},
    Global{"torch._utils", "_rebuild_tensor_v3"},
    Global{"torch._utils", "_rebuild_parameter"},
    Global{"torch._utils", "_rebuild_parameter_with_state"},
    Global{"torch._tensor", "_rebuild_from_type_v2"},
    Global{"torch", "Tensor"},
    Global{"torch", "Size"},
    Global{"torch", "device"},
    Global{"torch.nn.parameter", "Parameter"},
    Global{"torch.nn", "Parameter"},
    Global{"torch", "ByteStorage"},
    Global{"torch", "CharStorage"},
    Global{"torch", "ShortStorage"},
    Global{"torch", "IntStorage"},
    Global{"torch", "LongStorage"},
    Global{"torch", "BoolStorage"},
    Global{"torch", "HalfStorage"},
    Global{"torch", "BFloat16Storage"},
    Global{"torch", "FloatStorage"},
    Global{"torch", "DoubleStorage"},
    Global{"torch", "ComplexFloatStorage"},
    Global{"torch", "ComplexDoubleStorage"},
    Global{"torch", "UntypedStorage"},
    Global{"torch.storage", "UntypedStorage"},
    Global{"torch", "uint8"},
    Global{"torch", "int8"},
    Global{"torch", "int16"},
    Global{"torch", "int32"},
    Global{"torch", "int64"},
    Global{"torch", "bool"},
    Global{"torch", "float16"},
    Global{"torch", "bfloat16"},
    Global{"torch", "float32"},
    Global{"torch", "float64"},
    Global{"torch", "complex32"},
    Global{"torch", "complex64"},
    Global{"torch", "complex128"},
    Global{"torch", "uint16"},
    Global{"torch", "uint32"},
    Global{"torch", "uint64"},
    Global{"torch", "float8_e4m3fn"},
    Global{"torch", "float8_e5m2"},
    Global{"torch", "float8_e4m3fnuz"},
    Global{"torch", "float8_e5m2fnuz"},
    Global{"torch", "float8_e8m0fnu"},
    Global{"torch", "QUInt8Storage", "a quantized tensor"},
    Global{"torch", "QInt8Storage", "a quantized tensor"},
    Global{"torch", "QInt32Storage", "a quantized tensor"},
    Global{"torch", "QUInt4x2Storage", "a quantized tensor"},
    Global{"torch", "QUInt2x4Storage", "a quantized tensor"},
    Global{"torch._utils", "_rebuild_qtensor", "a quantized tensor"},
    Global{"torch._utils", "_rebuild_sparse_tensor", "a sparse tensor"},
    Global{"torch._utils", "_rebuild_sparse_csr_tensor", "a sparse tensor"},
    Global{"torch._utils", "_rebuild_nested_tensor", "a nested tensor"},
    Global{"torch._utils", "_rebuild_meta_tensor_no_storage", "a tensor without data, of the meta device"},
    Global{"torch._utils", "_rebuild_device_tensor_from_numpy", "a tensor of a device that saves arrays of NumPy"},
    Global{"torch._utils", "_rebuild_device_tensor_from_cpu_tensor", "a tensor of a device of its own kind"},
    Global{"torch._utils", "_rebuild_wrapper_subclass", "a tensor of a class of its own"},
    Global{"numpy.core.multiarray", "_reconstruct", "an array of NumPy"},
    Global{"numpy._core.multiarray", "_reconstruct", "an array of NumPy"},
    Global{"numpy.core.multiarray", "scalar", "a number of NumPy"},
    Global{"numpy._core.multiarray", "scalar", "a number of NumPy"},
    Global{"torch.utils.data.dataset", "TensorDataset", "a TensorDataset instead of its tensors"},
};

}  // namespace

std::span<const Global> torch_globals() {
    return kGlobals;
}

}  // namespace feedline::pth
