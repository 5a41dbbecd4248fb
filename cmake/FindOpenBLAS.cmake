# SPDX-License-Identifier: Apache-2.0
# OpenBLAS, the OpenMP build: our thread pool and its share libgomp.
#   OpenBLAS::headers   include directory only (cblas.h); who uses it opens the library with dlopen
#   OpenBLAS_LIBRARY
find_path(OpenBLAS_INCLUDE_DIR cblas.h
  PATH_SUFFIXES ${CMAKE_LIBRARY_ARCHITECTURE}/openblas-openmp openblas-openmp)
find_library(OpenBLAS_LIBRARY openblas
  PATH_SUFFIXES ${CMAKE_LIBRARY_ARCHITECTURE}/openblas-openmp openblas-openmp)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OpenBLAS REQUIRED_VARS OpenBLAS_LIBRARY OpenBLAS_INCLUDE_DIR)
if(OpenBLAS_FOUND AND NOT TARGET OpenBLAS::headers)
  add_library(OpenBLAS::headers INTERFACE IMPORTED)
  target_include_directories(OpenBLAS::headers SYSTEM INTERFACE ${OpenBLAS_INCLUDE_DIR})
endif()
mark_as_advanced(OpenBLAS_INCLUDE_DIR OpenBLAS_LIBRARY)
