// SPDX-License-Identifier: Apache-2.0
// The goldens of testdata/: passes/testing/golden.h says what they are.
#include "byoc/passes.h"
#include "passes/testing/golden_suite.h"

namespace tessera::byoc {
namespace {

using passes::testing::NamedGolden;

// Chains of passes begin with those of the graph.
std::vector<const passes::Pass*> known_passes() {
  const auto graph = passes::all_passes(), own = byoc::all_passes();
  std::vector<const passes::Pass*> known(graph.begin(), graph.end());
  known.insert(known.end(), own.begin(), own.end());
  return known;
}

class Golden : public ::testing::TestWithParam<NamedGolden> {};

TEST_P(Golden, Holds) { passes::testing::check_golden(GetParam(), known_passes()); }

INSTANTIATE_TEST_SUITE_P(Byoc, Golden,
                         ::testing::ValuesIn(passes::testing::goldens_of(
                             std::string(TESSERA_SOURCE_DIR) + "/src/byoc/testdata")),
                         passes::testing::golden_name);

}  // namespace
}  // namespace tessera::byoc
