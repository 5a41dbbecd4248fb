# SPDX-License-Identifier: Apache-2.0
# Libraries whose own code, emitted and of the runtime, has the address and undefined-behaviour
# sanitizers in it. The program that loads them is linked with the sanitizers, so that nothing has
# to be loaded before it; the compiler in it is plain. `make check` takes a share, `make sanitized`
# all.
list(JOIN TESSERA_WATCH_FLAGS " " watch_flags)
set(sanitized_environment
  "CXX=${CMAKE_CXX_COMPILER} ${watch_flags}"
  TESSERA_ROOT=${TESSERA_SANITIZED_ROOT}
  TESSERA_CACHE_DIR=${CMAKE_CURRENT_BINARY_DIR}/cache)
get_property(sanitized_archives GLOBAL PROPERTY TESSERA_SANITIZED_ARCHIVES)
add_custom_target(tessera_sanitized_archives DEPENDS ${sanitized_archives})

# sanitized_program(NAME MAIN library...)
function(sanitized_program name main)
  set(target tessera_${name}_sanitized_command)
  add_executable(${target} EXCLUDE_FROM_ALL ${main} command/sanitizer_options.cc)
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME tessera_${name}_sanitized RUNTIME_OUTPUT_DIRECTORY ${TESSERA_BIN_DIR})
  target_link_libraries(${target} PRIVATE ${ARGN} CLI11::CLI11)
  target_link_options(${target} PRIVATE ${TESSERA_WATCH_FLAGS})
  add_dependencies(${target} tessera_sanitized_archives)
endfunction()
sanitized_program(guard command/main.cc tessera::guard)
sanitized_program(fuzz ${PROJECT_SOURCE_DIR}/tests/fuzz/command/main.cc tessera::fuzz)
# For `make`: all that the tests below need.
add_custom_target(tessera_sanitized
  DEPENDS tessera_guard_sanitized_command tessera_fuzz_sanitized_command)

# Kernels at -O1: what they access is the same, and they compile in half the time.
set(guard tessera_guard_sanitized_command --heap --target "cpu -opt=1")
set(fuzz tessera_fuzz_sanitized_command --jobs 2 --failures ${CMAKE_CURRENT_BINARY_DIR}/failures)
guard_run(sanitized-models "sanitized" 600 ${guard} --share 4 ${made})
guard_run(sanitized-today "sanitized" 600 ${guard} --share 60 ${cases} ${zoo})
guard_run(sanitized-fuzz "sanitized" 600 ${fuzz} --graphs 50)
guard_run(sanitized-open-fuzz "sanitized" 600 ${fuzz} --open --graphs 20)
guard_run(sanitized-all "slow;sanitized-all" 14400 ${guard} --rounds 24 ${made} ${cases} ${zoo})
guard_run(sanitized-all-fuzz "slow;sanitized-all" 14400 ${fuzz} --graphs 1000)
guard_run(sanitized-all-open-fuzz "slow;sanitized-all" 14400 ${fuzz} --open --graphs 500)
set_tests_properties(sanitized-models sanitized-today sanitized-fuzz sanitized-open-fuzz
  sanitized-all sanitized-all-fuzz sanitized-all-open-fuzz
  PROPERTIES ENVIRONMENT "${sanitized_environment}")
