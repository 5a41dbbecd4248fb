// SPDX-License-Identifier: Apache-2.0
#include "import/dim_names.h"

#include <gtest/gtest.h>

#include "import/testing/model.h"
#include "module/symbol_names.h"

namespace tessera::import {
namespace {

// One input, one dimension a name; "": none.
TestModel model_of(const std::vector<std::string>& names) {
  TestModel m;
  m.input("x", std::vector<std::int64_t>(names.size(), 1));
  auto* type = m.proto.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type();
  for (std::size_t d = 0; d < names.size(); ++d) {
    auto* dim = type->mutable_shape()->mutable_dim(static_cast<int>(d));
    dim->clear_value();
    if (!names[d].empty()) dim->set_dim_param(names[d]);
  }
  m.node("Relu", {"x"}, {"y"});
  m.output("y");
  return m;
}

std::string shape_of(const std::vector<std::string>& names, const ImportOptions& options = {}) {
  const TestModel m = model_of(names);
  const auto module = m.import(options);
  if (!module) return "refused";
  const relay::Function& main = module->functions.at("main");
  return to_string(main.type(main.params()[0]).shape());
}

TEST(DimNames, EachNameIsASymbolOfItsOwn) {
  EXPECT_EQ(shape_of({"seq.len", "seq_len", "seq-len", "seq len"}),
            "(?seq_len_1, ?seq_len, ?seq_len_2, ?seq_len_3)");
  EXPECT_EQ(shape_of({"seq-len", "seq-len"}), "(?seq_len, ?seq_len)");
  EXPECT_EQ(shape_of({"1st", "\xc3\xa9", "a\nb", "?"}), "(?v1st, ?__, ?a_b, ?_)");
}

TEST(DimNames, ADimensionWithoutANameIsNoneOfThose) {
  EXPECT_EQ(shape_of({"", "x_0", "x.1", ""}), "(?x_0_1, ?x_0, ?x_1, ?x_3)");
}

// An expression is one of names that inputs have by themselves.
TEST(DimNames, Expressions) {
  EXPECT_EQ(shape_of({"past", "seq", "past + seq", "2*seq"}),
            "(?past, ?seq, ?(past+seq), ?(2*seq))");
  EXPECT_EQ(shape_of({"past + seq", "seq", "past"}), "(?(past+seq), ?seq, ?past)");
  EXPECT_EQ(shape_of({"past + seq", "seq"}), "(?past___seq, ?seq)") << "nobody says what past is";
  EXPECT_EQ(shape_of({"seq-len", "seq"}), "(?seq_len, ?seq)");
  EXPECT_EQ(shape_of({"floor(seq/2)", "seq"}), "(?floor_seq_2_, ?seq)");
  EXPECT_EQ(shape_of({"2", "1+1"}), "(?v2, ?v1_1)") << "no operand is a dimension";
}

TEST(DimNames, SizesAreGivenByTheFilesNames) {
  ImportOptions options;
  options.sizes["seq.len"] = 7;
  EXPECT_EQ(shape_of({"seq.len", "seq_len"}, options), "(7, ?seq_len)");
  options.sizes = {{"past", 5}};
  EXPECT_EQ(shape_of({"past", "seq", "past + seq"}, options), "(5, ?seq, ?(seq+5))");
  options.sizes = {{"seq_len_1", 7}};
  EXPECT_EQ(shape_of({"seq.len", "seq_len"}, options), "refused") << "no name of the file";
}

TEST(DimNames, TheModuleKeepsTheFilesNames) {
  const TestModel m = model_of({"seq.len", "seq_len", "batch"});
  const auto module = m.import();
  ASSERT_TRUE(module);
  EXPECT_EQ(symbol_names(module->functions.at("main")),
            (std::map<std::string, std::string>{{"seq_len_1", "seq.len"}}));
}

}  // namespace
}  // namespace tessera::import
