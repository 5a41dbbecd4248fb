// SPDX-License-Identifier: Apache-2.0
// The goldens of testdata/passes/: passes/testing/golden.h says what they are.
#include "passes/testing/golden_suite.h"
#include "plan/passes.h"

namespace tessera::plan {
namespace {

using passes::testing::NamedGolden;

class Golden : public ::testing::TestWithParam<NamedGolden> {};

TEST_P(Golden, Holds) { passes::testing::check_golden(GetParam(), all_passes()); }

INSTANTIATE_TEST_SUITE_P(Plan, Golden,
                         ::testing::ValuesIn(passes::testing::goldens_of(
                             std::string(TESSERA_SOURCE_DIR) + "/src/plan/testdata/passes")),
                         passes::testing::golden_name);

}  // namespace
}  // namespace tessera::plan
