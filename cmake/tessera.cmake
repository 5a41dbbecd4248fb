# SPDX-License-Identifier: Apache-2.0
# What a folder can make: a library, an archive of the runtime, a command, tests. The DEPS edges are
# the layering, which scripts/check-includes.py compares with the #include lines.

# Where TESSERA_TOGETHER is on, the sources of a folder are compiled six at once, those of its
# tests twelve, so that their headers are read once. APART names those that are not: names of their
# anonymous namespaces stand in other sources of the folder too.

# tessera_library(NAME DEPS folder... [LIBS external-target...] [SOURCES generated-file...]
#                 [APART source...] [ROOMS sub-folder...])
# The *.cc of the folder and of its rooms, except *_test.cc, as the static library tessera::NAME. A
# folder that has only headers makes an interface library.
function(tessera_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "DEPS;LIBS;SOURCES;APART;ROOMS")
  tessera_sources_(sources tests ${arg_ROOMS})
  list(APPEND sources ${arg_SOURCES})
  set(scope PUBLIC)
  if(sources)
    add_library(tessera_${name} STATIC ${sources})
    target_compile_options(tessera_${name}
      PRIVATE ${TESSERA_WARNING_FLAGS} PUBLIC ${TESSERA_SANITIZE_FLAGS})
    target_link_options(tessera_${name} PUBLIC ${TESSERA_SANITIZE_FLAGS})
  else()
    set(scope INTERFACE)
    add_library(tessera_${name} INTERFACE)
  endif()
  target_include_directories(tessera_${name} ${scope}
    ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  tessera_link_(tessera_${name} ${scope} "${arg_DEPS}" "${arg_LIBS}")
  tessera_together_(tessera_${name} 6 ${arg_SOURCES} ${arg_APART})
  add_library(tessera::${name} ALIAS tessera_${name})
endfunction()

# tessera_runtime_library(NAME [DEPS runtime-library...] [LIBS header-target...])
# The folder's *.cc as an archive that travels in models' libraries: lib/tessera/libtessera_NAME.a.
# It sees include/tessera and its own folder, hides its symbols, and knows neither exceptions nor
# RTTI. Under sanitizers the shipped archive stays plain; tessera::NAME, which tests link, is a
# second, instrumented one. Elsewhere that one is made for libraries that are watched while they
# run (sanitized/lib/tessera, see tests/guard).
function(tessera_runtime_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "DEPS;LIBS")
  tessera_sources_(sources tests)
  add_library(tessera_${name} STATIC ${sources})
  set_target_properties(tessera_${name} PROPERTIES
    ARCHIVE_OUTPUT_DIRECTORY ${TESSERA_ARCHIVE_DIR})
  install(TARGETS tessera_${name} ARCHIVE DESTINATION lib/tessera)
  set_property(GLOBAL APPEND PROPERTY TESSERA_RUNTIME_ARCHIVES tessera_${name})
  add_library(tessera_${name}_sanitized STATIC EXCLUDE_FROM_ALL ${sources})
  target_compile_options(tessera_${name}_sanitized PUBLIC ${TESSERA_SANITIZE_FLAGS})
  target_link_options(tessera_${name}_sanitized PUBLIC ${TESSERA_SANITIZE_FLAGS})
  if(NOT TESSERA_SANITIZE_FLAGS)
    target_compile_options(tessera_${name}_sanitized PRIVATE ${TESSERA_WATCH_FLAGS})
    set_target_properties(tessera_${name}_sanitized PROPERTIES OUTPUT_NAME tessera_${name}
      ARCHIVE_OUTPUT_DIRECTORY ${TESSERA_SANITIZED_ROOT}/lib/tessera)
    set_property(GLOBAL APPEND PROPERTY TESSERA_SANITIZED_ARCHIVES tessera_${name}_sanitized)
  endif()
  foreach(target IN ITEMS tessera_${name} tessera_${name}_sanitized)
    set_target_properties(${target} PROPERTIES
      CXX_VISIBILITY_PRESET hidden C_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
    target_compile_options(${target} PRIVATE ${TESSERA_WARNING_FLAGS} -fno-exceptions -fno-rtti
      -ffunction-sections -fdata-sections)
    target_include_directories(${target} PUBLIC
      ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  endforeach()
  tessera_link_(tessera_${name} PUBLIC "" "${arg_LIBS}")
  foreach(dep IN LISTS arg_DEPS)
    target_link_libraries(tessera_${name} PUBLIC tessera_${dep})  # the plain one
  endforeach()
  tessera_link_(tessera_${name}_sanitized PUBLIC "${arg_DEPS}" "${arg_LIBS}")
  if(TESSERA_SANITIZE_FLAGS)
    add_library(tessera::${name} ALIAS tessera_${name}_sanitized)
  else()
    add_library(tessera::${name} ALIAS tessera_${name})
  endif()
endfunction()

# tessera_executable(NAME DEPS folder... [LIBS target...] [APART source...])
# The folder's *.cc as the command bin/NAME, with the runtime archives that it hands to the linker
# built before it.
function(tessera_executable name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "DEPS;LIBS;APART")
  tessera_sources_(sources tests)
  set(target tessera_${name}_command)
  add_executable(${target} ${sources})
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${TESSERA_BIN_DIR})
  install(TARGETS ${target} RUNTIME DESTINATION bin)
  target_compile_options(${target} PRIVATE ${TESSERA_WARNING_FLAGS} ${TESSERA_SANITIZE_FLAGS})
  target_link_options(${target} PRIVATE ${TESSERA_SANITIZE_FLAGS})
  target_include_directories(${target} PRIVATE
    ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  tessera_link_(${target} PRIVATE "${arg_DEPS}" "${arg_LIBS}")
  tessera_together_(${target} 6 ${arg_APART})
  get_property(archives GLOBAL PROPERTY TESSERA_RUNTIME_ARCHIVES)
  if(archives)
    add_dependencies(${target} ${archives})
  endif()
  add_executable(tessera::${name}_command ALIAS ${target})
endfunction()

# tessera_test(NAME DEPS folder... [LIBS target...] [LABELS label...] [SHARDS n]
#              [TIMEOUT seconds] [ON_DEMAND filter] [APART source...]
#              [ROOMS sub-folder...])
# The *_test.cc of the folder and its rooms as one GoogleTest program tessera_NAME_test, one ctest
# entry a shard, with the labels `unit` (or LABELS) and NAME. Those that ON_DEMAND names, a filter
# of GoogleTest, are an entry of their own, NAME-on-demand, that `make test` leaves. Tests find the
# source tree in TESSERA_SOURCE_DIR, the command and the archives below TESSERA_BUILD_DIR (bin/,
# lib/tessera/), Python in TESSERA_PYTHON.
function(tessera_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "SHARDS;TIMEOUT;ON_DEMAND"
    "DEPS;LIBS;LABELS;APART;ROOMS")
  tessera_sources_(sources tests ${arg_ROOMS})
  if(NOT tests)
    return()
  endif()
  set(target tessera_${name}_test)
  add_executable(${target} ${tests})
  target_compile_options(${target} PRIVATE ${TESSERA_WARNING_FLAGS} ${TESSERA_SANITIZE_FLAGS})
  target_link_options(${target} PRIVATE ${TESSERA_SANITIZE_FLAGS})
  target_include_directories(${target} PRIVATE
    ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_compile_definitions(${target} PRIVATE
    TESSERA_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
    TESSERA_BUILD_DIR="${CMAKE_BINARY_DIR}"
    TESSERA_PYTHON="${TESSERA_PYTHON}"
    ${TESSERA_TEST_DEFINITIONS})
  if(TARGET tessera::${name})
    target_link_libraries(${target} PRIVATE tessera::${name})
  endif()
  tessera_link_(${target} PRIVATE "${arg_DEPS}" "GTest::gtest_main;${arg_LIBS}")
  tessera_together_(${target} 12 ${arg_APART})
  if(CMAKE_BUILD_TYPE STREQUAL Release)
    # As quick to compile as -O0; the linker takes inline functions from a test, for libraries, too.
    target_compile_options(${target} PRIVATE -Og)
  endif()
  if(NOT arg_SHARDS)
    set(arg_SHARDS 1)
  endif()
  if(NOT arg_LABELS)
    set(arg_LABELS unit)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
    if("fuzz" IN_LIST arg_LABELS OR "slow" IN_LIST arg_LABELS)
      set(arg_TIMEOUT 86400)  # these have a budget of their own
    elseif(CMAKE_BUILD_TYPE STREQUAL Sanitize)
      set(arg_TIMEOUT 1200)
    endif()
  endif()
  math(EXPR last "${arg_SHARDS} - 1")
  foreach(shard RANGE ${last})
    set(test ${name})
    if(arg_SHARDS GREATER 1)
      set(test ${name}.${shard})
    endif()
    add_test(NAME ${test} COMMAND ${target} --gtest_brief=1)
    set_tests_properties(${test} PROPERTIES
      LABELS "${arg_LABELS};${name}" TIMEOUT ${arg_TIMEOUT}
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${arg_SHARDS};GTEST_SHARD_INDEX=${shard}")
    if(arg_ON_DEMAND)
      set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT "GTEST_FILTER=-${arg_ON_DEMAND}")
    endif()
  endforeach()
  if(arg_ON_DEMAND)
    add_test(NAME ${name}-on-demand COMMAND ${target} --gtest_brief=1)
    set_tests_properties(${name}-on-demand PROPERTIES
      LABELS "slow;on-demand;${name}" TIMEOUT 14400 ENVIRONMENT "GTEST_FILTER=${arg_ON_DEMAND}")
  endif()
endfunction()

# Splits the *.cc of the current folder into tests and the rest.
function(tessera_sources_ sources_var tests_var)
  set(patterns *.cc)
  foreach(room IN LISTS ARGN)
    list(APPEND patterns ${room}/*.cc)
  endforeach()
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  set(${sources_var} ${sources} PARENT_SCOPE)
  set(${tests_var} ${tests} PARENT_SCOPE)
endfunction()

# tessera_together_(target how-many-sources [source apart...])
function(tessera_together_ target count)
  get_target_property(kind ${target} TYPE)
  if(TESSERA_TOGETHER AND NOT kind STREQUAL INTERFACE_LIBRARY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${count})
    if(ARGN)
      set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endif()
endfunction()

function(tessera_link_ target scope deps libs)
  foreach(dep IN LISTS deps)
    if(TARGET tessera::${dep})
      target_link_libraries(${target} ${scope} tessera::${dep})
    else()
      message(FATAL_ERROR "${target}: there is no library tessera::${dep}; it must be added before")
    endif()
  endforeach()
  if(libs)
    target_link_libraries(${target} ${scope} ${libs})
  endif()
endfunction()
