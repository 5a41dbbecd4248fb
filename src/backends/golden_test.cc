// SPDX-License-Identifier: Apache-2.0
// The goldens of testdata/: what the tables of patterns match.
#include "backends/pattern_tables.h"
#include "byoc/passes.h"
#include "collage/passes.h"
#include "ops/records/table.h"
#include "passes/testing/golden_suite.h"
#include "relay/patterns/pattern_text.h"

namespace tessera::backends {
namespace {

using passes::testing::NamedGolden;

class Golden : public ::testing::TestWithParam<NamedGolden> {};

std::vector<const passes::Pass*> known_passes() {
  std::vector<const passes::Pass*> known;
  for (const auto folder : {byoc::all_passes(), collage::all_passes()}) {
    known.insert(known.end(), folder.begin(), folder.end());
  }
  return known;
}

TEST_P(Golden, Holds) {
  passes::testing::check_golden(GetParam(), known_passes(), pattern_tables());
}

INSTANTIATE_TEST_SUITE_P(Backends, Golden,
                         ::testing::ValuesIn(passes::testing::goldens_of(
                             std::string(TESSERA_SOURCE_DIR) + "/src/backends/testdata")),
                         passes::testing::golden_name);

// Which composites of a table collage may put together.
TEST(PatternTables, SayWhatMayBeCombined) {
  for (const relay::PatternTable& table : pattern_tables()) {
    const bool alone = table.name == "cutlass" || table.name == "cublas" || table.name == "cudnn";
    EXPECT_EQ(table.combining, alone ? relay::Combining::kNone : relay::Combining::kAny)
        << table.name;
  }
}

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

// `merge-composite` claims in this order.
TEST(PatternTables, CutlassHasTheOrderOfRelay) {
  const std::string conv = "cutlass.conv2d_bias",
                    activations[] = {"_hardswish", "_silu", "_relu", "_sigmoid", ""};
  std::vector<std::string> wanted;
  for (const char* end : {"_relu", ""}) {
    for (const std::string& activation : activations) {
      for (const char* op : {"_residual_add", "_residual_multiply"}) {
        wanted.push_back(conv + activation + op + end);
      }
    }
  }
  for (const char* product : {"dense_bias_gelu_fp16", "dense_bias_gelu_fp32", "dense_bias_relu",
                              "dense_bias", "dense", "batch_matmul"}) {
    wanted.push_back(std::string("cutlass.") + product);
  }
  for (const std::string& activation : activations) wanted.push_back(conv + activation);
  for (const char* kind : {"", "_transpose", "_backward_weight"}) {
    wanted.push_back(std::string("cutlass.conv2d") + kind);
  }
  std::vector<std::string> names;
  for (const relay::PatternTable& table : pattern_tables()) {
    if (table.name != "cutlass") continue;
    for (const relay::CompositePattern& c : table.composites) names.push_back(c.name);
  }
  EXPECT_EQ(names, wanted);
}

}  // namespace
}  // namespace tessera::backends
