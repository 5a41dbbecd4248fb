# SPDX-License-Identifier: Apache-2.0
# The CUDA toolkit's headers, of 13.0 or later.
#   CUDA::headers          include directory only
#   CUDA_STATIC_RUNTIME    libcudart_static.a, with which the command measures vendors' libraries
find_program(CUDA_NVCC nvcc PATHS ENV CUDA_HOME /usr/local/cuda PATH_SUFFIXES bin)
get_filename_component(cuda_real_nvcc "${CUDA_NVCC}" REALPATH)
get_filename_component(cuda_bin "${cuda_real_nvcc}" DIRECTORY)
find_path(CUDA_INCLUDE_DIR cuda_runtime_api.h
  HINTS ${cuda_bin}/../include ${cuda_bin}/../targets/x86_64-linux/include ENV CUDA_HOME
  PATH_SUFFIXES include)
find_library(CUDA_STATIC_RUNTIME libcudart_static.a
  HINTS ${CUDA_INCLUDE_DIR}/../lib ${cuda_bin}/../lib64 ${cuda_bin}/../targets/x86_64-linux/lib)
if(CUDA_INCLUDE_DIR)
  file(STRINGS ${CUDA_INCLUDE_DIR}/cuda_runtime_api.h cuda_version REGEX "define CUDART_VERSION")
  string(REGEX MATCH "[0-9]+" cuda_version "${cuda_version}")
  math(EXPR CUDAHeaders_VERSION "${cuda_version} / 1000")
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CUDAHeaders
  REQUIRED_VARS CUDA_INCLUDE_DIR VERSION_VAR CUDAHeaders_VERSION)
if(CUDAHeaders_FOUND AND NOT TARGET CUDA::headers)
  add_library(CUDA::headers INTERFACE IMPORTED)
  target_include_directories(CUDA::headers SYSTEM INTERFACE ${CUDA_INCLUDE_DIR})
endif()
mark_as_advanced(CUDA_NVCC CUDA_INCLUDE_DIR CUDA_STATIC_RUNTIME)
