# One folder of src/ is one static library, kvasir_<folder>, and one test program,
# <folder>_test, made of the x_test.cc files that stand beside the code. A main.cc is left to the folder.
# A folder's cuda/ is built with the CUDA device alone; without it a no_cuda.cc takes its place.

# g++ 12 warns of overlapping copies and of uninitialised strings inside its own std::string, and does not see that
# Asio frees a coroutine's frame the way it was allocated.
set(KVASIR_WARNINGS -Wall -Wextra -Wno-missing-field-initializers -Wno-restrict -Wno-maybe-uninitialized
  -Wno-mismatched-new-delete -Wno-subobject-linkage -Werror=return-type -Werror=unused-result)

set(KVASIR_COLD $<$<CONFIG:Release>:-O1>)  # for folders that nothing waits for: a quarter less time to build
set(KVASIR_TEST_OPTIONS $<$<CONFIG:Release>:-O1>)  # tests build in half the time

# Which sources are compiled together: scripts/units.py says it, here and before each build of scripts/build.sh.
file(GLOB_RECURSE kvasir_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*.cc)  # a new file configures anew
find_package(Python3 REQUIRED COMPONENTS Interpreter)
execute_process(COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/scripts/units.py ${CMAKE_BINARY_DIR}/units
  COMMAND_ERROR_IS_FATAL ANY)
include(${CMAKE_BINARY_DIR}/units/units.cmake)

if(KVASIR_TESTS)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/tests_dir.cc.in ${CMAKE_BINARY_DIR}/tests_dir.cc @ONLY)
  add_library(kvasir_tests_dir STATIC ${CMAKE_BINARY_DIR}/tests_dir.cc)
  target_include_directories(kvasir_tests_dir PRIVATE ${PROJECT_SOURCE_DIR}/src)
endif()

# kvasir_folder(NAME DEPS folders... EXTERNAL libraries... TEST_DEPS folders... OPTIONS compiler flags of its own...)
function(kvasir_folder name)
  cmake_parse_arguments(ARG "" "" "DEPS;EXTERNAL;TEST_DEPS;OPTIONS" ${ARGN})
  set(alone ${KVASIR_ALONE_${name}})
  list(FILTER alone EXCLUDE REGEX "/main\\.cc$")
  if(KVASIR_CUDA)
    list(FILTER alone EXCLUDE REGEX "/no_cuda\\.cc$")
  else()
    list(FILTER alone EXCLUDE REGEX "/cuda/")
  endif()
  set(sources ${alone})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(APPEND sources ${KVASIR_UNITS_${name}})
  set(tests ${alone})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  set(gpu_tests ${tests})
  list(FILTER tests EXCLUDE REGEX "/cuda/")
  list(FILTER gpu_tests INCLUDE REGEX "/cuda/")
  list(APPEND tests ${KVASIR_TEST_UNITS_${name}})
  list(TRANSFORM ARG_DEPS PREPEND kvasir_)
  list(TRANSFORM ARG_TEST_DEPS PREPEND kvasir_)
  set(kind PUBLIC)
  if(sources)
    add_library(kvasir_${name} STATIC ${sources})
    target_compile_options(kvasir_${name} PRIVATE ${KVASIR_WARNINGS} ${ARG_OPTIONS})
  else()
    add_library(kvasir_${name} INTERFACE)
    set(kind INTERFACE)
  endif()
  target_include_directories(kvasir_${name} ${kind} ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(kvasir_${name} ${kind} ${ARG_DEPS} ${ARG_EXTERNAL})
  if(KVASIR_CUDA)
    file(GLOB_RECURSE device_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/cuda/*.cu)
    if(device_sources)
      kvasir_cuda_sources(kvasir_${name} ${sources} ${device_sources})
    endif()
  endif()
  if(KVASIR_TESTS AND tests)
    add_executable(${name}_test ${tests})
    target_compile_options(${name}_test PRIVATE ${KVASIR_WARNINGS} ${KVASIR_TEST_OPTIONS})
    target_link_libraries(${name}_test PRIVATE kvasir_${name} ${ARG_TEST_DEPS} kvasir_tests_dir GTest::gtest_main)
    add_test(NAME ${name} COMMAND ${name}_test)
  endif()
  if(KVASIR_TESTS AND gpu_tests)
    set_property(GLOBAL APPEND PROPERTY KVASIR_GPU_TESTS ${gpu_tests})
    set_property(GLOBAL APPEND PROPERTY KVASIR_GPU_LIBRARIES kvasir_${name})
  endif()
endfunction()

# The tests of every folder's cuda/ as one program, gpu_test, for a machine with a GPU.
function(kvasir_gpu_test)
  get_property(tests GLOBAL PROPERTY KVASIR_GPU_TESTS)
  get_property(libraries GLOBAL PROPERTY KVASIR_GPU_LIBRARIES)
  if(NOT tests)
    return()
  endif()
  add_executable(gpu_test ${tests})
  target_compile_options(gpu_test PRIVATE ${KVASIR_WARNINGS} ${KVASIR_TEST_OPTIONS})
  target_link_libraries(gpu_test PRIVATE ${libraries} kvasir_tests_dir GTest::gtest_main)
endfunction()
