# GoogleTest from the folder that scripts/gpu-check --stage fills: built from source, by the compiler that builds the tests.
set(stage_googletest "${CMAKE_CURRENT_LIST_DIR}/../../../googletest")
function(stage_googletest_library name source folder)
  add_library(stage_${name} STATIC "${stage_googletest}/${folder}/src/${source}")
  target_include_directories(stage_${name} SYSTEM
    PUBLIC "${stage_googletest}/googletest/include" "${stage_googletest}/googlemock/include"
    PRIVATE "${stage_googletest}/googletest" "${stage_googletest}/googlemock")
  target_link_libraries(stage_${name} PUBLIC Threads::Threads ${ARGN})
  add_library(GTest::${name} ALIAS stage_${name})
endfunction()
stage_googletest_library(gtest gtest-all.cc googletest)
stage_googletest_library(gmock gmock-all.cc googlemock stage_gtest)
stage_googletest_library(gtest_main gtest_main.cc googletest stage_gtest)
