# Every external library by one name, so that a folder's CMakeLists says only what it needs.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
set(OPENSSL_USE_STATIC_LIBS ${KVASIR_PORTABLE})
find_package(OpenSSL REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET libutf8proc)
pkg_check_modules(SQLITE REQUIRED IMPORTED_TARGET sqlite3)
include(cmake/grpc.cmake)
if(KVASIR_TESTS)
  find_package(GTest REQUIRED)
  find_path(RAPIDCHECK_INCLUDE rapidcheck.h REQUIRED)
  find_library(RAPIDCHECK_LIBRARY rapidcheck REQUIRED)
  add_library(kvasir_rapidcheck INTERFACE)
  target_include_directories(kvasir_rapidcheck SYSTEM INTERFACE ${RAPIDCHECK_INCLUDE})
  target_link_libraries(kvasir_rapidcheck INTERFACE ${RAPIDCHECK_LIBRARY})
endif()

# Used header-only.
add_library(kvasir_xxhash INTERFACE)
find_path(XXHASH_INCLUDE xxhash.h REQUIRED)
target_include_directories(kvasir_xxhash SYSTEM INTERFACE ${XXHASH_INCLUDE})

# Boost is header-only here: each library's sources are compiled once, in src/base/boost_json.cc
# (Boost.JSON) and src/net/boost_asio.cc (Asio and Beast). kvasir_asio is for net and what stands above it.
add_library(kvasir_boost INTERFACE)
find_path(BOOST_INCLUDE boost/asio.hpp REQUIRED)
target_include_directories(kvasir_boost SYSTEM INTERFACE ${BOOST_INCLUDE})
add_library(kvasir_asio INTERFACE)
target_compile_definitions(kvasir_asio INTERFACE BOOST_ASIO_SEPARATE_COMPILATION BOOST_BEAST_SEPARATE_COMPILATION
  BOOST_ASIO_NO_DEPRECATED BOOST_ASIO_DISABLE_BOOST_DATE_TIME)
target_link_libraries(kvasir_asio INTERFACE kvasir_boost Threads::Threads)

# A program for other machines: Debian has fmt as shared libraries or headers, the others as archives too.
if(KVASIR_PORTABLE)
  add_compile_definitions(FMT_HEADER_ONLY)
  add_link_options(-static-libstdc++ -static-libgcc -Wl,--as-needed)
  foreach(name PCRE2 UTF8PROC SQLITE)
    get_target_property(library PkgConfig::${name} INTERFACE_LINK_LIBRARIES)
    string(REGEX REPLACE "\\.so$" ".a" library ${library})
    set_target_properties(PkgConfig::${name} PROPERTIES INTERFACE_LINK_LIBRARIES ${library})
  endforeach()
endif()
