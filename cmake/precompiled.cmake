# The headers that most files read, parsed once: for the folders and for their tests, each with and without Asio,
# since a program that reads Asio's headers has to link it. Sources still include what they use: clang-tidy reads
# them without these.
set(KVASIR_HEADERS
  <algorithm> <array> <atomic> <chrono> <cmath> <condition_variable> <filesystem> <fstream> <functional> <map> <memory>
  <mutex> <optional> <random> <set> <span> <sstream> <stop_token> <string> <string_view> <thread> <unordered_map>
  <utility> <variant> <vector> <fmt/format.h> <fmt/ranges.h> <boost/json.hpp>)
set(KVASIR_ASIO_HEADERS
  <boost/asio/any_io_executor.hpp> <boost/asio/awaitable.hpp> <boost/asio/co_spawn.hpp> <boost/asio/detached.hpp>
  <boost/asio/io_context.hpp> <boost/asio/ip/tcp.hpp> <boost/asio/redirect_error.hpp> <boost/asio/steady_timer.hpp>
  <boost/asio/use_awaitable.hpp>)

function(kvasir_precompile name)
  cmake_parse_arguments(ARG "" "" "HEADERS;OPTIONS;LIBRARIES" ${ARGN})
  file(WRITE ${CMAKE_BINARY_DIR}/${name}.cc "")
  add_library(${name} STATIC ${CMAKE_BINARY_DIR}/${name}.cc)
  target_compile_options(${name} PRIVATE ${KVASIR_WARNINGS} ${ARG_OPTIONS})
  target_link_libraries(${name} PRIVATE fmt::fmt kvasir_boost ${ARG_LIBRARIES})
  target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
endfunction()

kvasir_precompile(kvasir_precompiled HEADERS ${KVASIR_HEADERS})
kvasir_precompile(kvasir_precompiled_asio HEADERS ${KVASIR_HEADERS} ${KVASIR_ASIO_HEADERS})
if(KVASIR_TESTS)
  set(for_tests OPTIONS ${KVASIR_TEST_OPTIONS} LIBRARIES GTest::gtest)
  kvasir_precompile(kvasir_precompiled_tests HEADERS ${KVASIR_HEADERS} <gtest/gtest.h> ${for_tests})
  kvasir_precompile(kvasir_precompiled_asio_tests HEADERS ${KVASIR_HEADERS} ${KVASIR_ASIO_HEADERS} <gtest/gtest.h> ${for_tests})
endif()
