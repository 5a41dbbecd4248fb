// SPDX-License-Identifier: Apache-2.0
// A program that stands in for the one that measures.
#pragma once

namespace tessera::driver::testing {

// It keeps a request under its number, and prints the answer of that number.
inline constexpr const char* kMeasuringProgram = R"sh(#!/bin/sh
cd "$(dirname "$0")" || exit 2
n=0
while [ -e request.$n ]; do n=$((n + 1)); done
cp "$2" request.$n
exec cat answer.$n
)sh";

}  // namespace tessera::driver::testing
