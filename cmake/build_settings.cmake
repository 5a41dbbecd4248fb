# SPDX-License-Identifier: Apache-2.0
# Language level, flags of each build type, and where the build puts what it makes.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
foreach(lang IN ITEMS C CXX)
  # What is shipped, the archives that travel in libraries included, is hardened at no cost.
  set(CMAKE_${lang}_FLAGS_RELEASE
    "-O2 -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2")
  set(CMAKE_${lang}_FLAGS_DEBUG "-O0 -g1")
  set(CMAKE_${lang}_FLAGS_CHECK "-O1")
  set(CMAKE_${lang}_FLAGS_SANITIZE "-O1 -g1 -fno-omit-frame-pointer")
endforeach()

add_link_options(-Wl,-z,relro,-z,now)

# Sanitizers go to targets, not to CMAKE_CXX_FLAGS: the archives that travel in a model's library
# must stay free of them (see tessera_runtime_library).
set(TESSERA_SANITIZE_FLAGS "")
set(TESSERA_TEST_DEFINITIONS "")
if(CMAKE_BUILD_TYPE STREQUAL "Sanitize")
  set(TESSERA_SANITIZE_FLAGS -fsanitize=address,undefined -fno-sanitize-recover=undefined)
  set(TESSERA_TEST_DEFINITIONS TESSERA_SANITIZED)  # g++ and clang have no common macro for it
endif()

set(TESSERA_WARNING_FLAGS -Wall -Wextra -Werror)
if(CMAKE_BUILD_TYPE STREQUAL "Sanitize" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 sees uses of uninitialised variants in code that the sanitizers have instrumented.
  list(APPEND TESSERA_WARNING_FLAGS -Wno-maybe-uninitialized)
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
  # g++ 12 sees overlapping copies in the inlined assignment of std::string (GCC bug 105651).
  list(APPEND TESSERA_WARNING_FLAGS -Wno-restrict)
endif()

# Several sources in one run of the compiler: half the time from nothing, see cmake/tessera.cmake.
option(TESSERA_TOGETHER "compile several sources at once" OFF)

find_program(CCACHE_PROGRAM ccache)
mark_as_advanced(CCACHE_PROGRAM)
if(CCACHE_PROGRAM)
  set(launcher ${CCACHE_PROGRAM})
  string(FIND "${CMAKE_BINARY_DIR}" "${PROJECT_SOURCE_DIR}/" below)
  if(below EQUAL 0)
    # A build inside of the tree names files relative to it: another clone finds the same objects.
    set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
      ${CCACHE_PROGRAM})
  endif()
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()

# For libraries of models that are watched while they run: what CXX has for the command that makes
# them, and the flags of a second set of archives. Integers that a model computes may overflow, as
# it likes.
set(TESSERA_WATCH_FLAGS -fsanitize=address,undefined -fno-sanitize=vptr,signed-integer-overflow
  -fno-sanitize-recover=undefined)

# The build tree has the layout of an installation, and the command finds its archives and headers
# relative to itself in both:
#   bin/tessera   include/tessera/*.h   lib/tessera/*.a
#   lib/tessera/include/runtime/program.h    what emitted host programs include
set(TESSERA_BIN_DIR ${CMAKE_BINARY_DIR}/bin)
set(TESSERA_ARCHIVE_DIR ${CMAKE_BINARY_DIR}/lib/tessera)
file(MAKE_DIRECTORY ${TESSERA_BIN_DIR} ${TESSERA_ARCHIVE_DIR}/include/runtime
  ${CMAKE_BINARY_DIR}/include)
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/include/tessera ${CMAKE_BINARY_DIR}/include/tessera
  SYMBOLIC)
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/src/runtime/program.h
  ${TESSERA_ARCHIVE_DIR}/include/runtime/program.h SYMBOLIC)
# The same once more, with the second set of archives: TESSERA_ROOT for the command.
set(TESSERA_SANITIZED_ROOT ${CMAKE_BINARY_DIR}/sanitized)
file(MAKE_DIRECTORY ${TESSERA_SANITIZED_ROOT}/lib/tessera)
file(CREATE_LINK ${CMAKE_BINARY_DIR}/include ${TESSERA_SANITIZED_ROOT}/include SYMBOLIC)
file(CREATE_LINK ${TESSERA_ARCHIVE_DIR}/include ${TESSERA_SANITIZED_ROOT}/lib/tessera/include
  SYMBOLIC)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/tessera DESTINATION include)
install(FILES ${PROJECT_SOURCE_DIR}/src/runtime/program.h DESTINATION lib/tessera/include/runtime)
