# One folder of src/ is one static library, kvasir_<folder>, and one test program,
# <folder>_test, made of the x_test.cc files that stand beside the code. A main.cc is left to the folder.

# g++ 12 warns of overlapping copies and of uninitialised strings inside its own std::string, and does not see that
# Asio frees a coroutine's frame the way it was allocated.
set(KVASIR_WARNINGS -Wall -Wextra -Wno-missing-field-initializers -Wno-restrict -Wno-maybe-uninitialized
  -Wno-mismatched-new-delete -Werror=return-type -Werror=unused-result)

set(KVASIR_TEST_OPTIONS $<$<CONFIG:Release>:-O1>)  # tests build in half the time

# kvasir_folder(NAME DEPS folders... EXTERNAL libraries... TEST_DEPS folders... OPTIONS compiler flags of its own...)
function(kvasir_folder name)
  cmake_parse_arguments(ARG "" "" "DEPS;EXTERNAL;TEST_DEPS;OPTIONS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "(_test|/main)\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  set(precompiled kvasir_precompiled)
  if(name STREQUAL net OR ARG_DEPS MATCHES "net|wire")
    set(precompiled kvasir_precompiled_asio)
  endif()
  list(TRANSFORM ARG_DEPS PREPEND kvasir_)
  list(TRANSFORM ARG_TEST_DEPS PREPEND kvasir_)
  set(kind PUBLIC)
  if(sources)
    add_library(kvasir_${name} STATIC ${sources})
    target_compile_options(kvasir_${name} PRIVATE ${KVASIR_WARNINGS} ${ARG_OPTIONS})
    if(NOT ARG_OPTIONS)
      target_precompile_headers(kvasir_${name} REUSE_FROM ${precompiled})
    endif()
  else()
    add_library(kvasir_${name} INTERFACE)
    set(kind INTERFACE)
  endif()
  target_include_directories(kvasir_${name} ${kind} ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(kvasir_${name} ${kind} ${ARG_DEPS} ${ARG_EXTERNAL})
  if(KVASIR_TESTS AND tests)
    add_executable(${name}_test ${tests})
    target_compile_options(${name}_test PRIVATE ${KVASIR_WARNINGS} ${KVASIR_TEST_OPTIONS})
    target_precompile_headers(${name}_test REUSE_FROM ${precompiled}_tests)
    target_compile_definitions(${name}_test PRIVATE KVASIR_TESTS_DIR="${PROJECT_SOURCE_DIR}/tests")
    target_link_libraries(${name}_test PRIVATE kvasir_${name} ${ARG_TEST_DEPS} GTest::gtest_main)
    add_test(NAME ${name} COMMAND ${name}_test)
  endif()
endfunction()
