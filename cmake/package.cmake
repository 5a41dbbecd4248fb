# SPDX-License-Identifier: Apache-2.0
# What find_package(tessera) finds: in an installation, in a wheel, and in the build folder, which
# has the same layout.
include(CMakePackageConfigHelpers)
set(TESSERA_PACKAGE_DIR ${CMAKE_BINARY_DIR}/lib/cmake/tessera)
foreach(file IN ITEMS tessera-config.cmake TesseraModel.cmake)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/${file} ${TESSERA_PACKAGE_DIR}/${file} COPYONLY)
endforeach()
# Before 1.0 each minor version may change what an earlier one had.
write_basic_package_version_file(${TESSERA_PACKAGE_DIR}/tessera-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(DIRECTORY ${TESSERA_PACKAGE_DIR} DESTINATION lib/cmake)
