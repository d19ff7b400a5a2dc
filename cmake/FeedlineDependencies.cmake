# What Feedline builds with. {fmt}, CLI11, nlohmann-json (and GoogleTest for the tests) are required; everything else is
# found or switched off by itself, and the summary says which and what that means.
#
# FEEDLINE_WITH_X = AUTO (default), ON (missing is an error), OFF.

function(feedline_summary_line state name text)
  set_property(GLOBAL APPEND_STRING PROPERTY FEEDLINE_SUMMARY "  [${state}] ${name}: ${text}\n")
endfunction()

# feedline_optional(X found "what it is and its version" "what is missing without it"): defines FEEDLINE_HAVE_X.
function(feedline_optional name found with without)
  if(FEEDLINE_WITH_${name} STREQUAL "OFF")
    set(found FALSE)
    set(without "switched off (FEEDLINE_WITH_${name}=OFF); ${without}")
  elseif(NOT found AND FEEDLINE_WITH_${name} STREQUAL "ON")
    message(FATAL_ERROR "FEEDLINE_WITH_${name}=ON, but it was not found: ${without}")
  elseif(NOT found)
    set(without "not found; ${without}")
  endif()
  if(found)
    set(FEEDLINE_HAVE_${name} TRUE CACHE INTERNAL "")
    feedline_summary_line("on " ${name} "${with}")
  else()
    set(FEEDLINE_HAVE_${name} FALSE CACHE INTERNAL "")
    feedline_summary_line("off" ${name} "${without}")
  endif()
endfunction()

foreach(part URING JPEG ISAL HDF5 LMDB PROTOBUF ZLIB BENCHMARK CUDA CUBLAS)
  set(FEEDLINE_WITH_${part} AUTO CACHE STRING "AUTO, ON or OFF")
  set_property(CACHE FEEDLINE_WITH_${part} PROPERTY STRINGS AUTO ON OFF)
endforeach()

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)

find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(URING QUIET IMPORTED_TARGET liburing>=2.3)
  pkg_check_modules(TURBOJPEG QUIET IMPORTED_TARGET libturbojpeg)
  pkg_check_modules(ISAL QUIET IMPORTED_TARGET libisal)
  pkg_check_modules(HDF5 QUIET IMPORTED_TARGET hdf5)
  pkg_check_modules(LMDB QUIET IMPORTED_TARGET lmdb)
endif()
feedline_optional(URING "${URING_FOUND}" "liburing ${URING_VERSION}: engines uring and uring-direct"
                  "engines uring and uring-direct are not built, pread and mmap are (Debian: liburing-dev)")
feedline_optional(JPEG "${TURBOJPEG_FOUND}" "libjpeg-turbo ${TURBOJPEG_VERSION}: generate --content jpeg, bench --decode jpeg"
                  "no JPEG content and no JPEG decoding (Debian: libturbojpeg0-dev)")
feedline_optional(ISAL "${ISAL_FOUND}" "isa-l ${ISAL_VERSION}: CRC32C at the speed of memory, bench --decode crc"
                  "bench --decode crc is refused, other checksums are slow (Debian: libisal-dev)")

feedline_optional(HDF5 "${HDF5_FOUND}" "HDF5 ${HDF5_VERSION}: reading and writing HDF5"
                  "HDF5 files are recognised and refused (Debian: libhdf5-dev)")
feedline_optional(LMDB "${LMDB_FOUND}" "LMDB ${LMDB_VERSION}: pack --format lmdb, engine native of LMDB files"
                  "LMDB files are read all the same, by every engine but native; pack --format lmdb is refused (Debian: liblmdb-dev)")
find_package(Protobuf QUIET)
feedline_optional(PROTOBUF "${Protobuf_FOUND}" "protobuf ${Protobuf_VERSION}: looking into tf.train.Example"
                  "TFRecord payloads are taken whole, Examples are not looked into (Debian: libprotobuf-dev protobuf-compiler)")
find_package(ZLIB QUIET)
feedline_optional(ZLIB "${ZLIB_FOUND}" "zlib ${ZLIB_VERSION_STRING}: compressed TFRecord shards and tar archives"
                  "compressed TFRecord shards and tar archives are refused (Debian: zlib1g-dev)")
find_package(benchmark QUIET)
feedline_optional(BENCHMARK "${benchmark_FOUND}" "Google Benchmark ${benchmark_VERSION}: bench/micro"
                  "bench/micro is not built (Debian: libbenchmark-dev)")

include(CheckLanguage)
if(NOT FEEDLINE_WITH_CUDA STREQUAL "OFF")
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX} AND EXISTS /usr/local/cuda/bin/nvcc)
    set(CMAKE_CUDA_COMPILER /usr/local/cuda/bin/nvcc)
  endif()
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 90)
  endif()
  check_language(CUDA)
endif()
if(CMAKE_CUDA_COMPILER AND NOT FEEDLINE_WITH_CUDA STREQUAL "OFF")
  enable_language(CUDA)
  set(CMAKE_CUDA_STANDARD 17)  # the newest that CMake 3.25 knows of nvcc 13; kernels need no more
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  set(CMAKE_CUDA_RUNTIME_LIBRARY None)  # linked by name: tests put a stand-in in its place
  find_package(CUDAToolkit QUIET)
endif()
feedline_optional(CUDA "${CUDAToolkit_FOUND}" "CUDA ${CUDAToolkit_VERSION}, sm_${CMAKE_CUDA_ARCHITECTURES}: the CUDA device"
                  "only the emulated accelerator is built")
set(cublas_found FALSE)
if(FEEDLINE_HAVE_CUDA AND TARGET CUDA::cublas AND EXISTS "${CUDAToolkit_INCLUDE_DIRS}/cublas_api.h")
  set(cublas_found TRUE)
endif()
feedline_optional(CUBLAS "${cublas_found}" "cuBLAS, loaded when used: bench --step-kernel gemm"
                  "bench --step-kernel gemm is refused (it comes with the CUDA toolkit)")

function(feedline_print_summary)
  get_property(summary GLOBAL PROPERTY FEEDLINE_SUMMARY)
  message(STATUS "Feedline ${PROJECT_VERSION}, ${CMAKE_BUILD_TYPE}, ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}\n${summary}")
endfunction()
