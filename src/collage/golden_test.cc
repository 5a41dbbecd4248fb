// SPDX-License-Identifier: Apache-2.0
// The goldens of testdata/: passes/testing/golden.h says what they are.
#include "collage/passes.h"
#include "passes/testing/golden_suite.h"

namespace tessera::collage {
namespace {

using passes::testing::NamedGolden;

class Golden : public ::testing::TestWithParam<NamedGolden> {};

TEST_P(Golden, Holds) { passes::testing::check_golden(GetParam(), all_passes()); }

INSTANTIATE_TEST_SUITE_P(Collage, Golden,
                         ::testing::ValuesIn(passes::testing::goldens_of(
                             std::string(TESSERA_SOURCE_DIR) + "/src/collage/testdata")),
                         passes::testing::golden_name);

}  // namespace
}  // namespace tessera::collage
