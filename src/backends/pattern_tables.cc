// SPDX-License-Identifier: Apache-2.0
#include "backends/pattern_tables.h"

#include <algorithm>

#include "backends/table.h"

#define PATTERN_TABLE(name, combining)             \
  namespace tessera::backends::name {              \
  std::vector<relay::CompositePattern> patterns(); \
  }
#include "backends/backends.def"

namespace tessera::backends {

std::vector<relay::PatternTable> pattern_tables() {
  std::vector<relay::PatternTable> tables = {
#define PATTERN_TABLE(name, combining) {#name, name::patterns(), relay::Combining::combining},
#include "backends/backends.def"
  };
  for (const byoc::Backend* backend : all_backends()) {
    std::string name(backend->name());
    const bool is_taken = std::any_of(tables.begin(), tables.end(),
                                      [&](const auto& table) { return table.name == name; });
    if (is_taken) name += "_fused";  // beside Relay's table of that name
    tables.push_back({name, backend->patterns(Target(backend->name())), backend->combining()});
  }
  return tables;
}

}  // namespace tessera::backends
