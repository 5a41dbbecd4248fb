// SPDX-License-Identifier: Apache-2.0
// Whatever a node is given, its converter answers with a graph or with an error.
//   TESSERA_FUZZ_MODELS   so many models of each operator and opset
//   TESSERA_FUZZ_SEED     of a run, or one to be repeated
#include <algorithm>

#include <gtest/gtest.h>

#include "import/testing/any_node.h"
#include "support/testing/environment.h"

namespace tessera::import {
namespace {

// What is wrong with the answer, which is to be a module or errors that say something.
std::string complaint(const Result<Module>& answer) {
  if (answer) return "";
  const auto& list = answer.error().list;
  const bool says_nothing =
      std::any_of(list.begin(), list.end(), [](const Diagnostic& d) { return d.message.empty(); });
  return list.empty() || says_nothing ? "an error that says nothing" : "";
}

std::string complaint_of(TestModel& m) {
  try {
    return complaint(AnyNode::answer(m, [&] { return m.import(); }));
  } catch (const std::exception& e) {
    return e.what();
  }
}

// Tries models of each operator in two opsets, with what `change` makes of them.
void try_all(std::uint64_t models, void (*change)(TestModel&)) {
  const ImporterWords words = words_of_importer();
  const std::uint64_t seed = testing::number_of("TESSERA_FUZZ_SEED", 18);
  TestModel m;
  for (std::uint64_t k = 0; k < models; ++k) {
    AnyNode any(words, seed + k);
    for (const auto& [name, own] : words.operators) {
      for (const int opset : {18, kNewestOpset}) {
        any.write(m, name, opset);
        change(m);
        ASSERT_EQ(complaint_of(m), "") << name << " of opset " << opset << ", seed " << seed + k;
      }
    }
  }
}

TEST(AnyInput, OfAnyKind) {
  try_all(testing::number_of("TESSERA_FUZZ_MODELS", 5), [](TestModel&) {});
}

// Inputs without a shape fail; then the converter is tried on stand-ins of every rank.
TEST(AnyInput, OfNoShape) {
  try_all(1, [](TestModel& m) {
    for (auto& x : *m.proto.mutable_graph()->mutable_input()) {
      x.mutable_type()->mutable_tensor_type()->clear_shape();
    }
  });
}

// The words are found: else nothing above has attributes.
TEST(AnyInput, AttributesAreThoseOfTheSources) {
  const ImporterWords words = words_of_importer();
  const OperatorWords& attention = words.operators.at("com.microsoft.GroupQueryAttention");
  const std::pair<std::string, AttributeType> heads{"kv_num_heads", onnx::AttributeProto::INT};
  EXPECT_EQ(std::count(attention.attributes.begin(), attention.attributes.end(), heads), 1);
  const std::pair<std::string, AttributeType> pads{"pads", onnx::AttributeProto::INTS};
  EXPECT_GE(std::count(words.shared.attributes.begin(), words.shared.attributes.end(), pads), 1);
  const auto& rules = words.operators.at("LinearAttention").words;
  EXPECT_NE(std::find(rules.begin(), rules.end(), "gated_delta"), rules.end());
}

}  // namespace
}  // namespace tessera::import
