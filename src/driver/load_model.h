// SPDX-License-Identifier: Apache-2.0
// A model file as a module with inferred types.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "module/module.h"
#include "relay/pattern_table.h"

namespace tessera::driver {

// `--dim NAME=...`: a size, or a range with the size to optimise for.
struct DimBinding {
  std::string name;
  std::optional<std::int64_t> size;  // fixed
  Symbol range;                      // otherwise
};
// Reads "seq=128", "seq=1..512", "seq=8..512:128".
Result<DimBinding> parse_dim_binding(const std::string& text);

// Relay text; "-" is standard input. Types are not inferred.
Result<Module> load_module_text(const std::string& path);

// The tables of patterns that there are, and those of the files; docs/patterns.md has the syntax.
Result<std::vector<relay::PatternTable>> load_pattern_tables(const std::vector<std::string>& paths);

// Relay text if the name ends in .relay or .txt or is "-", else ONNX. Types are inferred.
Result<Module> load_model(const std::string& path, const std::vector<DimBinding>& dims);

}  // namespace tessera::driver
