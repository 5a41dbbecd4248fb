#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What `make check` adds to `make test`. Cheap checks first; all of them run, and the failures are
# named together at the end.
#   TESSERA_TIDY_SECONDS   time for clang-tidy; files that it did not reach are counted
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

# One build serves as clang's build without a warning, as what clang-tidy reads, and for the tests
# under the sanitizers.
clang_build() {
  cmake --preset asan -DCMAKE_CXX_COMPILER="$clangxx" -DCMAKE_C_COMPILER="$clang" >/dev/null &&
    cmake --build build/asan --parallel "$jobs"
}

tidy() {
  scripts/run-tidy.py --build build/asan --seconds "${TESSERA_TIDY_SECONDS:-480}" --jobs "$jobs"
}

# OpenVINO is not there under sanitizers (cmake/dependencies.cmake).
without_openvino() { TESSERA_TESTS_REQUIRE=${TESSERA_TESTS_REQUIRE/,openvino/} "$@"; }

sanitizers() {
  without_openvino ctest --test-dir build/asan --parallel "$jobs" --output-on-failure -L '^unit$' \
    --label-exclude '^slow$'
}

# Libraries of models that have sanitizers in their own code; made by g++'s build of the command.
sanitized_libraries() {
  cmake --preset release >/dev/null &&
    cmake --build build/release --parallel "$jobs" --target tessera_sanitized &&
    ctest --test-dir build/release --output-on-failure -L '^sanitized$'
}

fuzz() {
  without_openvino ctest --test-dir build/asan --parallel "$jobs" --output-on-failure -L '^fuzz$'
}

stage "include layering" scripts/check-includes.py
stage "source text" scripts/check-source-text.py
stage "sizes" scripts/size-report.py
stage "site" site
stage "format" format
stage "clang build" clang_build
stage "header lines" scripts/header-lines.py --build build/asan
stage "sanitizers" sanitizers
stage "fuzz" fuzz
stage "sanitized libraries" sanitized_libraries
stage "headers" scripts/check-headers.py --build build/asan --jobs "$jobs"
stage "clang-tidy" tidy

if [ "${#failed[@]}" -gt 0 ]; then
  printf 'make check: failed: %s\n' "${failed[@]}"
  exit 1
fi
echo "make check: all passed in $SECONDS s"
