// SPDX-License-Identifier: Apache-2.0
// The goldens of testdata/: passes/testing/golden.h says what they are.
#include "passes/testing/golden_suite.h"

namespace tessera::passes::testing {
namespace {

class Golden : public ::testing::TestWithParam<NamedGolden> {};

TEST_P(Golden, Holds) { check_golden(GetParam(), all_passes()); }

INSTANTIATE_TEST_SUITE_P(Passes, Golden,
                         ::testing::ValuesIn(goldens_of(std::string(TESSERA_SOURCE_DIR) +
                                                        "/src/passes/testdata")),
                         golden_name);

}  // namespace
}  // namespace tessera::passes::testing
