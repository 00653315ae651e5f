# gRPC and protobuf, for src/remote alone. Debian has both as shared libraries and as archives; kvasir_grpc links
# whichever the build wants. protoc and its plugin run on this machine, also when another one is built for.
find_program(KVASIR_PROTOC protoc REQUIRED)
find_program(KVASIR_GRPC_PLUGIN grpc_cpp_plugin REQUIRED)

add_library(kvasir_grpc INTERFACE)
target_compile_definitions(kvasir_grpc INTERFACE GRPC_USE_PROTO_LITE)
if(KVASIR_PORTABLE)
  # pkg-config lists the archives in the linker's order, some of them many times. It takes a second for each answer
  # about gRPC, and pkg_check_modules asks a dozen times.
  execute_process(COMMAND ${PKG_CONFIG_EXECUTABLE} --libs-only-l grpc++ protobuf-lite
    OUTPUT_VARIABLE archives OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "-l[^ ]+" archives "${archives}")
  foreach(option ${archives})
    string(SUBSTRING ${option} 2 -1 name)
    if(name STREQUAL ssl OR name STREQUAL crypto)
      target_link_libraries(kvasir_grpc INTERFACE OpenSSL::SSL OpenSSL::Crypto)
    elseif(NOT name MATCHES "^(atomic|rt|dl|pthread)$")
      find_library(KVASIR_ARCHIVE_${name} lib${name}.a REQUIRED)
      mark_as_advanced(KVASIR_ARCHIVE_${name})
      target_link_libraries(kvasir_grpc INTERFACE ${KVASIR_ARCHIVE_${name}})
    endif()
  endforeach()
  target_link_libraries(kvasir_grpc INTERFACE Threads::Threads ${CMAKE_DL_LIBS} rt)
else()
  foreach(name grpc++ grpc gpr protobuf-lite absl_synchronization)
    find_library(KVASIR_LIBRARY_${name} ${name} REQUIRED)
    mark_as_advanced(KVASIR_LIBRARY_${name})
    target_link_libraries(kvasir_grpc INTERFACE ${KVASIR_LIBRARY_${name}})
  endforeach()
  target_link_libraries(kvasir_grpc INTERFACE Threads::Threads)
endif()

# kvasir_protocol(TARGET NAME): a library of the messages and the service in NAME.proto of this folder, whose headers
# are included as "NAME.pb.h" and "NAME.grpc.pb.h".
function(kvasir_protocol target name)
  set(outputs ${CMAKE_CURRENT_BINARY_DIR}/${name})
  set(proto ${CMAKE_CURRENT_SOURCE_DIR}/${name}.proto)
  add_custom_command(
    OUTPUT ${outputs}.pb.cc ${outputs}.pb.h ${outputs}.grpc.pb.cc ${outputs}.grpc.pb.h
    COMMAND ${KVASIR_PROTOC} --proto_path=${CMAKE_CURRENT_SOURCE_DIR} --cpp_out=${CMAKE_CURRENT_BINARY_DIR}
            --plugin=protoc-gen-grpc=${KVASIR_GRPC_PLUGIN} --grpc_out=${CMAKE_CURRENT_BINARY_DIR} ${proto}
    DEPENDS ${proto} COMMENT "Generating the messages of ${name}.proto" VERBATIM)
  add_library(${target} STATIC ${outputs}.pb.cc ${outputs}.grpc.pb.cc)
  target_include_directories(${target} SYSTEM PUBLIC ${CMAKE_CURRENT_BINARY_DIR})
  target_link_libraries(${target} PUBLIC kvasir_grpc)
endfunction()
