#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What `make check` adds to `make test`. Cheap checks first; all of them run, and the failures are
# named together at the end.
#   TESSERA_CHECK_SECONDS  time for all of it, of which the long stages get shares: what they did
#                          not reach is counted or named; without it they take what they need, and
#                          clang-tidy eight minutes
#   TESSERA_FUZZ_SECONDS   time for each parser, and for each fuzz test
#   TESSERA_CHECKS         names of stages to run, separated by commas; all without it
set -uo pipefail
cd "$(dirname "$0")/.."
jobs=$(nproc)
clangxx=$(command -v clang++-14 || command -v clang++-18)
clang=${clangxx/++/}
export TESSERA_FUZZ_SECONDS=${TESSERA_FUZZ_SECONDS:-10}
# Where thread-local storage of a loaded library happens to begin 16 bytes after a page,
# AddressSanitizer takes what is before it for its bounds, and the search for leaks faults.
export ASAN_OPTIONS=intercept_tls_get_addr=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}

failed=()
stage() {
  local name=$1 started=$SECONDS
  shift
  [[ -z ${TESSERA_CHECKS:-} || ",$TESSERA_CHECKS," == *",$name,"* ]] || return 0
  echo "== $name"
  "$@" || failed+=("$name")
  echo "-- $name: $((SECONDS - started)) s"
}

format() {
  git ls-files '*.h' '*.cc' '*.c' ':!*/testdata/*' | xargs -r clang-format-14 --dry-run --Werror
}

# Of the command that `make build` has left; seconds.
site() {
  [ -x build/tessera ] || make command
  .deps/python/bin/python3 scripts/site/build.py
}

# share PERCENT OPTION: OPTION and that part of the time that is left, if there is an end.
share() {
  [ -n "${TESSERA_CHECK_SECONDS:-}" ] || return 0
  local left=$((TESSERA_CHECK_SECONDS - SECONDS))
  echo "$2" $(((left > 60 ? left : 60) * $1 / 100))
}

# clang's options for each source of its own, for those who read sources one by one; nothing is
# built but what is generated.
clang_options() {
  cmake --preset clang -DCMAKE_CXX_COMPILER="$clangxx" -DCMAKE_C_COMPILER="$clang" >/dev/null &&
    cmake --build build/clang --target tessera_generated
}

# A build that serves as clang's without a warning, too. OpenVINO is not there under sanitizers
# (cmake/dependencies.cmake).
sanitizers() {
  # shellcheck disable=SC2046
  cmake --preset asan -DCMAKE_CXX_COMPILER="$clangxx" -DCMAKE_C_COMPILER="$clang" >/dev/null &&
    TESSERA_TESTS_REQUIRE=${TESSERA_TESTS_REQUIRE/,openvino/} \
      scripts/sanitizers.py --build build/asan --jobs "$jobs" $(share 55 --seconds)
}

# Libraries of models that have sanitizers in their own code; made by g++'s build of the command.
sanitized_libraries() {
  cmake --preset release >/dev/null &&
    cmake --build build/release --parallel "$jobs" --target tessera_sanitized &&
    ctest --test-dir build/release --output-on-failure -L '^sanitized$'
}

alone() {
  # shellcheck disable=SC2046
  scripts/check-alone.py --build build/clang --jobs "$jobs" $(share 60 --seconds)
}

tidy() {
  # shellcheck disable=SC2046
  scripts/run-tidy.py --build build/clang --jobs "$jobs" $(share 100 --seconds)
}

stage "include layering" scripts/check-includes.py
stage "source text" scripts/check-source-text.py
stage "sizes" scripts/size-report.py
stage "site" site
stage "format" format
stage "clang options" clang_options
stage "header lines" scripts/header-lines.py --build build/clang
stage "sanitized libraries" sanitized_libraries
stage "sanitizers" sanitizers
stage "each alone" alone
stage "clang-tidy" tidy

if [ "${#failed[@]}" -gt 0 ]; then
  printf 'make check: failed: %s\n' "${failed[@]}"
  exit 1
fi
echo "make check: all passed in $SECONDS s"
