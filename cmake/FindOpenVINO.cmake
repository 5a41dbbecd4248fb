# SPDX-License-Identifier: Apache-2.0
# OpenVINO of the project-local environment's wheel, else of the system.
#   OpenVINO::headers   include directory only (openvino/c/openvino.h); who uses it opens the
#                       libraries with dlopen, under names that end in TESSERA_OPENVINO_SUFFIX
#   OpenVINO_LIBRARY    libopenvino_c.so.NNNN, whose number is that of a release: names of values
#                       change with it
file(GLOB wheels ${TESSERA_PYTHON_ENV}/lib/python3*/site-packages/openvino)
find_path(OpenVINO_INCLUDE_DIR openvino/c/openvino.h PATHS ${wheels} PATH_SUFFIXES include)
if(OpenVINO_INCLUDE_DIR)
  file(GLOB libraries
    ${OpenVINO_INCLUDE_DIR}/../libs/libopenvino_c.so.*
    ${OpenVINO_INCLUDE_DIR}/../lib/libopenvino_c.so.*
    ${OpenVINO_INCLUDE_DIR}/../lib/${CMAKE_LIBRARY_ARCHITECTURE}/libopenvino_c.so.*)
  list(FILTER libraries INCLUDE REGEX "\\.so\\.[0-9]+$")
  if(libraries)
    list(GET libraries 0 library)
    get_filename_component(OpenVINO_LIBRARY ${library} ABSOLUTE)
    string(REGEX REPLACE ".*\\.so\\.([0-9]+)$" "\\1" OpenVINO_SUFFIX ${OpenVINO_LIBRARY})
  endif()
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OpenVINO REQUIRED_VARS OpenVINO_LIBRARY OpenVINO_INCLUDE_DIR)
if(OpenVINO_FOUND AND NOT TARGET OpenVINO::headers)
  add_library(OpenVINO::headers INTERFACE IMPORTED)
  target_include_directories(OpenVINO::headers SYSTEM INTERFACE ${OpenVINO_INCLUDE_DIR})
  target_compile_definitions(OpenVINO::headers INTERFACE
    TESSERA_OPENVINO_SUFFIX=".so.${OpenVINO_SUFFIX}")
endif()
mark_as_advanced(OpenVINO_INCLUDE_DIR)
