# Compiler settings shared by every target, and the two helpers that every folder's CMakeLists.txt uses.

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release or RelWithDebInfo" FORCE)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

option(FEEDLINE_WERROR "Treat warnings as errors" ON)
option(FEEDLINE_FUZZ "Build the fuzzers of tests/fuzz; with clang and FEEDLINE_SANITIZE=fuzzer-no-link,... (preset fuzz)" OFF)
set(FEEDLINE_SANITIZE "" CACHE STRING "Sanitizers, as -fsanitize= takes them: address,undefined or thread")

# -Wrestrict: g++ 12 reports std::string::insert and operator+ falsely (GCC bugs 105329, 105651).
add_library(feedline_settings INTERFACE)
target_include_directories(feedline_settings INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(
  feedline_settings
  INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion;-Wnon-virtual-dtor;-Woverloaded-virtual>
            $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict>
            $<$<AND:$<BOOL:${FEEDLINE_WERROR}>,$<COMPILE_LANGUAGE:CXX>>:-Werror>)
if(FEEDLINE_SANITIZE)
  target_compile_options(feedline_settings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${FEEDLINE_SANITIZE};-fno-omit-frame-pointer;-fno-sanitize-recover=all>)
  target_link_options(feedline_settings INTERFACE -fsanitize=${FEEDLINE_SANITIZE})
endif()

# feedline_library(NAME SOURCES... DEPENDS...): a static library of one folder.
function(feedline_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC feedline_settings ${ARG_DEPENDS})
  # Large objects live on the heap, for stacks may be small (`ulimit -s`). Sanitizers and -O0 make every frame larger.
  target_compile_options(${name} PRIVATE $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release>>:-Wframe-larger-than=16384>)
endfunction()

# The programs that hold tests marked CONCURRENT: all that the thread sanitizer needs.
add_custom_target(feedline_concurrent_tests)

# feedline_test(NAME SOURCES... DEPENDS... [CONCURRENT] [LABELS...]): one GoogleTest program whose cases ctest lists one by one.
# CONCURRENT marks it for the thread sanitizer: `ctest -L concurrent`.
function(feedline_test name)
  cmake_parse_arguments(ARG "CONCURRENT" "TIMEOUT" "SOURCES;DEPENDS;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} feedline_testutil GTest::gmock GTest::gtest GTest::gtest_main)
  # What is tested is optimised as the preset says; the tests themselves need not be, and instrumented they are most of the build.
  if(FEEDLINE_SANITIZE)
    target_compile_options(${name} PRIVATE -O0)
  else()
    target_compile_options(${name} PRIVATE $<$<NOT:$<CONFIG:Debug>>:-O1>)
  endif()
  set(labels ${ARG_LABELS})
  if(ARG_CONCURRENT)
    list(APPEND labels concurrent)
    add_dependencies(feedline_concurrent_tests ${name})
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  gtest_discover_tests(${name} TEST_PREFIX "${name}." DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${labels}")
endfunction()
