# SPDX-License-Identifier: Apache-2.0
# find_package(tessera)
include(${CMAKE_CURRENT_LIST_DIR}/TesseraModel.cmake)
