# SPDX-License-Identifier: Apache-2.0
# oneDNN >= 3: the project-local environment's, which has its threads from oneTBB, else the
# system's, which may have them from libgomp.
#   OneDNN::headers   include directory only (dnnl.h); who uses it opens the library with dlopen
#   OneDNN::dnnl      the shared library, for code that may link it
#   OneDNN_VERSION, OneDNN_LIBRARY
find_path(OneDNN_INCLUDE_DIR oneapi/dnnl/dnnl.h
  PATHS ${TESSERA_PYTHON_ENV}/include NO_DEFAULT_PATH)
find_path(OneDNN_INCLUDE_DIR oneapi/dnnl/dnnl.h)
find_library(OneDNN_LIBRARY NAMES libdnnl.so.3 dnnl PATHS ${TESSERA_PYTHON_ENV}/lib NO_DEFAULT_PATH)
find_library(OneDNN_LIBRARY NAMES libdnnl.so.3 dnnl)

set(version_header ${OneDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h)
if(EXISTS ${version_header})
  file(STRINGS ${version_header} version_lines
    REGEX "^#define DNNL_VERSION_(MAJOR|MINOR|PATCH) +[0-9]+$")
  string(REGEX MATCHALL "[0-9]+" version_numbers "${version_lines}")
  list(JOIN version_numbers "." OneDNN_VERSION)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OneDNN
  REQUIRED_VARS OneDNN_LIBRARY OneDNN_INCLUDE_DIR VERSION_VAR OneDNN_VERSION)
if(OneDNN_FOUND AND OneDNN_VERSION VERSION_LESS 3)
  set(OneDNN_FOUND FALSE)
endif()
if(OneDNN_FOUND AND NOT TARGET OneDNN::dnnl)
  add_library(OneDNN::headers INTERFACE IMPORTED)
  target_include_directories(OneDNN::headers SYSTEM INTERFACE ${OneDNN_INCLUDE_DIR})
  add_library(OneDNN::dnnl UNKNOWN IMPORTED)
  set_target_properties(OneDNN::dnnl PROPERTIES IMPORTED_LOCATION ${OneDNN_LIBRARY})
  target_link_libraries(OneDNN::dnnl INTERFACE OneDNN::headers)
endif()
mark_as_advanced(OneDNN_INCLUDE_DIR OneDNN_LIBRARY)
