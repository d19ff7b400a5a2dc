# {fmt} from the folder that scripts/gpu-check --stage fills: headers only, so that no library of another system is linked.
add_library(fmt::fmt INTERFACE IMPORTED)
set_target_properties(fmt::fmt PROPERTIES
  INTERFACE_INCLUDE_DIRECTORIES "${CMAKE_CURRENT_LIST_DIR}/../../../include" INTERFACE_COMPILE_DEFINITIONS FMT_HEADER_ONLY=1)
