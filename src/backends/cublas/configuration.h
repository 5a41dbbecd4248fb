// SPDX-License-Identifier: Apache-2.0
// An algorithm as records have it: what people may want to know of it, and the library's bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "backends/cublas/runtime/product.h"

namespace tessera::backends::cublas {

// "algorithm66_tile20_stages36_splits1 4194304 0123...": the bytes of workspace, then the opaque
// ones.
std::string configuration_text(const Api& api, const Algorithm& algorithm);

struct Configuration {
  std::uint64_t opaque[8] = {};
  std::int64_t workspace_bytes = 0;
};
std::optional<Configuration> parse_configuration(std::string_view text);

}  // namespace tessera::backends::cublas
