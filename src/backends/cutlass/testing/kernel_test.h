// SPDX-License-Identifier: Apache-2.0
// For tests that compile kernels: is there what that takes?
#pragma once

#include <algorithm>
#include <string>

#include "backends/cutlass/cutlass.h"
#include "link/archive_symbols.h"
#include "link/cuda_compiler.h"
#include "support/testing/requirement.h"

namespace tessera::backends::cutlass::testing {

inline bool has_nvcc() {
  return tessera::testing::is_there("nvcc", link::find_cuda_compiler().has_value());
}

// nvcc, and CUTLASS's headers.
inline bool can_compile() {
  const bool has_headers = !cutlass_backend().available(Target("cutlass"));
  return has_nvcc() && tessera::testing::is_there("cutlass", has_headers);
}

// In an archive, whose symbols begin so: launchers, each with the image of its code beside it.
inline std::ptrdiff_t kernels_in(std::string_view archive, const std::string& prefix) {
  const auto symbols = link::archive_symbols(archive);
  if (!symbols) return 0;
  return std::count_if(symbols->begin(), symbols->end(), [&](const std::string& s) {
    return s.starts_with(prefix) && !s.ends_with("_image");
  });
}

}  // namespace tessera::backends::cutlass::testing
