// SPDX-License-Identifier: Apache-2.0
// The goldens of testdata/passes/: passes/testing/golden.h says what they are.
#include "lower/passes.h"
#include "passes/testing/golden_suite.h"

namespace tessera::lower {
namespace {

using passes::testing::NamedGolden;

class Golden : public ::testing::TestWithParam<NamedGolden> {};

TEST_P(Golden, Holds) { passes::testing::check_golden(GetParam(), all_passes()); }

INSTANTIATE_TEST_SUITE_P(Lower, Golden,
                         ::testing::ValuesIn(passes::testing::goldens_of(
                             std::string(TESSERA_SOURCE_DIR) + "/src/lower/testdata/passes")),
                         passes::testing::golden_name);

}  // namespace
}  // namespace tessera::lower
