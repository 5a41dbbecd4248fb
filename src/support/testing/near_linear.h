// SPDX-License-Identifier: Apache-2.0
// For tests of near-linear time: how large a graph is, and how long a stage may take over it. On
// one free core they take a tenth of that; the rest is for busy machines and unoptimised builds.
// What is quadratic takes minutes.
#pragma once

namespace tessera::testing {

#ifdef TESSERA_SANITIZED
inline constexpr int kLargeGraphNodes = 9000;  // deep enough for a stack; time is not the question
#else
inline constexpr int kLargeGraphNodes = 90000;
#endif
inline constexpr double kLargeGraphSeconds = 30;

}  // namespace tessera::testing
