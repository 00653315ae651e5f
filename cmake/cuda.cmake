# CUDA sources are compiled by nvcc through plain custom commands: CMake 3.25 knows neither CUDA 13's libraries nor
# its C++20, and what is needed of both is little. Host code stays g++'s.
set(KVASIR_CUDA_ARCHITECTURES 90a CACHE STRING "Architectures of the device code: 80, 89, 90a, ...")
execute_process(COMMAND ${PROJECT_SOURCE_DIR}/scripts/cuda_toolkit.sh OUTPUT_VARIABLE KVASIR_CUDA_ROOT
  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
find_library(KVASIR_CUDART cudart_static REQUIRED NO_DEFAULT_PATH
  PATHS ${KVASIR_CUDA_ROOT}/lib ${KVASIR_CUDA_ROOT}/lib64 ${KVASIR_CUDA_ROOT}/targets/x86_64-linux/lib)

file(STRINGS cmake/nvcc_flags.txt flags)  # also scripts/cuda_check.sh's
separate_arguments(KVASIR_NVCC_FLAGS UNIX_COMMAND "${flags} -I${PROJECT_SOURCE_DIR}/src")
foreach(architecture ${KVASIR_CUDA_ARCHITECTURES})
  if(architecture STREQUAL 90)
    message(FATAL_ERROR "KVASIR_CUDA_ARCHITECTURES: say 90a; its kernels use what 90 lacks")
  endif()
  list(APPEND KVASIR_NVCC_FLAGS -gencode=arch=compute_${architecture},code=sm_${architecture})
endforeach()

# kvasir_cuda_sources(TARGET files...): compiles the .cu files, and lets the .cc files in cuda/ include the toolkit.
# cuBLAS is not linked: it is opened at run time, where it is there.
function(kvasir_cuda_sources target)
  foreach(source ${ARGN})
    file(RELATIVE_PATH name ${PROJECT_SOURCE_DIR}/src ${source})
    if(name MATCHES "/cuda/.*\\.cc$")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS -isystem${KVASIR_CUDA_ROOT}/include)
    elseif(name MATCHES "\\.cu$")
      set(object ${CMAKE_BINARY_DIR}/cuda/${name}.o)
      get_filename_component(folder ${object} DIRECTORY)
      file(MAKE_DIRECTORY ${folder})
      add_custom_command(OUTPUT ${object}
        COMMAND ${KVASIR_CUDA_ROOT}/bin/nvcc ${KVASIR_NVCC_FLAGS} -MD -MF ${object}.d -c ${source} -o ${object}
        DEPENDS ${source} DEPFILE ${object}.d COMMENT "Compiling ${name} for the device" VERBATIM)
      target_sources(${target} PRIVATE ${object})
    endif()
  endforeach()
  target_link_libraries(${target} PUBLIC ${KVASIR_CUDART} Threads::Threads ${CMAKE_DL_LIBS} rt)
endfunction()
