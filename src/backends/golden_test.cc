// SPDX-License-Identifier: Apache-2.0
// The goldens of testdata/: what the tables of patterns match.
#include "backends/pattern_tables.h"
#include "byoc/passes.h"
#include "ops/table.h"
#include "passes/testing/golden_suite.h"
#include "relay/pattern_text.h"

namespace tessera::backends {
namespace {

using passes::testing::NamedGolden;

class Golden : public ::testing::TestWithParam<NamedGolden> {};

TEST_P(Golden, Holds) {
  passes::testing::check_golden(GetParam(), byoc::all_passes(), pattern_tables());
}

INSTANTIATE_TEST_SUITE_P(Backends, Golden,
                         ::testing::ValuesIn(passes::testing::goldens_of(
                             std::string(TESSERA_SOURCE_DIR) + "/src/backends/testdata")),
                         passes::testing::golden_name);

// What `tessera backends --patterns NAME` prints is what --patterns reads.
TEST(PatternTables, ReadBackEqual) {
  for (const relay::PatternTable& table : pattern_tables()) {
    const std::string text = relay::print(table);
    const auto read = relay::parse_patterns(
        std::make_shared<const SourceFile>(SourceFile{table.name, text}), ops::operators());
    ASSERT_TRUE(read) << render(read.error());
    ASSERT_EQ(read->size(), 1u);
    const relay::PatternTable& again = read->front();
    EXPECT_EQ(again.name, table.name);
    ASSERT_EQ(again.composites.size(), table.composites.size());
    for (std::size_t i = 0; i < again.composites.size(); ++i) {
      EXPECT_EQ(again.composites[i].name, table.composites[i].name);
      EXPECT_TRUE(relay::structural_equal(again.composites[i].pattern, table.composites[i].pattern))
          << table.composites[i].name;
    }
    EXPECT_EQ(relay::print(again), text);
  }
}

}  // namespace
}  // namespace tessera::backends
