# SPDX-License-Identifier: Apache-2.0
# Headers of cuDNN 9.8 or later, which has descriptions of devices: beside the toolkit's, or those
# of PyPI's nvidia-cudnn-cu13.
#   CUDNN::headers   include directories only; who uses it opens the library with dlopen
#   CUDNN_LIBRARY    where the build found libcudnn.so.9; "": nowhere
file(GLOB cudnn_dirs ${TESSERA_PYTHON_ENV}/lib/python3*/site-packages/nvidia/cudnn)
find_path(CUDNN_INCLUDE_DIR cudnn_graph.h PATHS ${cudnn_dirs} PATH_SUFFIXES include NO_DEFAULT_PATH)
find_path(CUDNN_INCLUDE_DIR cudnn_graph.h HINTS ${CUDA_INCLUDE_DIR})
find_file(CUDNN_LIBRARY libcudnn.so.9 PATHS ${cudnn_dirs} PATH_SUFFIXES lib NO_DEFAULT_PATH)
find_file(CUDNN_LIBRARY libcudnn.so.9
  HINTS ${CUDNN_INCLUDE_DIR}/.. ${CUDA_INCLUDE_DIR}/.. PATH_SUFFIXES lib lib64
  PATHS /usr/lib/x86_64-linux-gnu /usr/lib64)
set(version_header ${CUDNN_INCLUDE_DIR}/cudnn_version.h)
if(EXISTS ${version_header})
  file(STRINGS ${version_header} version_lines
    REGEX "^#define CUDNN_(MAJOR|MINOR|PATCHLEVEL) +[0-9]+$")
  if(NOT version_lines AND EXISTS ${CUDNN_INCLUDE_DIR}/cudnn_version_v9.h)
    file(STRINGS ${CUDNN_INCLUDE_DIR}/cudnn_version_v9.h version_lines
      REGEX "^#define CUDNN_(MAJOR|MINOR|PATCHLEVEL) +[0-9]+$")
  endif()
  string(REGEX MATCHALL "[0-9]+" version_numbers "${version_lines}")
  list(JOIN version_numbers "." CUDNN_VERSION)
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CUDNN
  REQUIRED_VARS CUDNN_INCLUDE_DIR VERSION_VAR CUDNN_VERSION)
if(CUDNN_FOUND AND TARGET CUDA::headers AND NOT TARGET CUDNN::headers)
  add_library(CUDNN::headers INTERFACE IMPORTED)
  target_include_directories(CUDNN::headers SYSTEM INTERFACE ${CUDNN_INCLUDE_DIR})
  target_link_libraries(CUDNN::headers INTERFACE CUDA::headers)
endif()
if(NOT CUDNN_LIBRARY)
  set(CUDNN_LIBRARY "")
endif()
mark_as_advanced(CUDNN_INCLUDE_DIR CUDNN_LIBRARY)
