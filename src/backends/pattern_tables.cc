// SPDX-License-Identifier: Apache-2.0
#include "backends/pattern_tables.h"

#include "backends/table.h"

#define PATTERN_TABLE(name)                        \
  namespace tessera::backends::name {              \
  std::vector<relay::CompositePattern> patterns(); \
  }
#include "backends/pattern_tables.def"
#undef PATTERN_TABLE

namespace tessera::backends {

std::vector<relay::PatternTable> pattern_tables() {
  std::vector<relay::PatternTable> tables = {
#define PATTERN_TABLE(name) {#name, name::patterns()},
#include "backends/pattern_tables.def"
#undef PATTERN_TABLE
  };
  for (const byoc::Backend* backend : all_backends()) {
    const std::string name(backend->name());
    tables.push_back({name, backend->patterns(Target(name))});
  }
  return tables;
}

}  // namespace tessera::backends
