// SPDX-License-Identifier: Apache-2.0
// What goldens of widen-precision cannot show: that its rules hold for what operators do, numbers,
// and the report.
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "module/text.h"
#include "ops/evaluation/compare.h"
#include "ops/evaluation/evaluate_function.h"
#include "ops/inference/infer_types.h"
#include "ops/records/table.h"
#include "ops/samples/samples.h"
#include "passes/manager.h"
#include "passes/narrow_constant.h"
#include "passes/testing/random_inputs.h"
#include "passes/widening_report.h"
#include "passes/widening_rules.h"

namespace tessera::passes {
namespace {

using relay::NodeId;

Module module_of(const std::string& text) {
  const auto file =
      std::make_shared<const SourceFile>(SourceFile{"m.relay", "#[version = \"0.0.5\"]\n" + text});
  return ops::infer_types(parse_module(file, ops::operators()).value()).value();
}

Module passed(Module module, std::string_view passes) {
  const auto calls = parse_pipeline(passes, all_passes()).value();
  ManagerOptions options;
  options.verify_each = true;
  auto outcome = run_passes(std::move(module), calls, ops::operators(), options);
  return ops::infer_types(std::move(outcome.value().module)).value();
}

// The call of a sample.
NodeId call_of(const relay::Function& f) {
  for (std::size_t i = f.num_nodes(); i-- > 0;) {
    if (f.op(NodeId(i)) != nullptr) return NodeId(i);
  }
  return {};
}

TEST(WideningRules, NameOperatorsAndSayWhy) {
  for (const WideningRule& rule : widening_rules()) {
    EXPECT_NE(ops::operators().find(rule.op), nullptr) << rule.op;
    EXPECT_FALSE(rule.reason.empty()) << rule.op;
  }
}

// Odd numbers in the operands: no sum, product or mean of them is one of them by chance.
TEST(WideningRules, WhatMovesMakesNoNumbers) {
  int seen = 0;
  for (const relay::Operator* op : ops::operators().all()) {
    for (const std::string_view text : op->samples) {
      const ops::Sample sample = ops::parse_sample(text);
      const relay::Function& f = sample.function;
      if (widening_kind(f, call_of(f)) != WideningRule::kMoves) continue;
      const bool adds = text.find("reduction=") != text.npos || text.find("mode=") != text.npos;
      if (adds && op->name.starts_with("scatter")) continue;  // in what the model says
      std::set<double> given = {0, 1};                        // of pads, and of `eye`
      const std::vector<Tensor> inputs = ops::random_inputs(sample, 7);
      Module module;
      module.functions["main"] = f;
      const auto add = [&](const Tensor& t) {
        for (std::int64_t i = 0; i < t.num_elements(); ++i) given.insert(element_as_double(t, i));
      };
      for (const Tensor& t : inputs) add(t);
      for (std::size_t i = 0; i < f.num_nodes(); ++i) {
        const auto* constant = f.as<relay::Constant>(NodeId(i));
        if (constant != nullptr) add(module.constants.resolve(constant->value));
      }
      for (const Tensor& t : ops::evaluate(module, f, inputs)) {
        if (!t.dtype.is_float()) continue;
        ++seen;
        for (std::int64_t i = 0; i < t.num_elements(); ++i) {
          const double value = element_as_double(t, i);
          EXPECT_TRUE(std::isnan(value) || given.contains(value)) << text << ": " << value;
        }
      }
    }
  }
  EXPECT_GT(seen, 50);
}

TEST(WidenConstant, IsExact) {
  for (const DType dtype : {kFloat16, kBFloat16}) {
    const Tensor given = tensor_from_doubles({5}, dtype, std::vector{1.5, -0.0, 1e30, 6e-8, 0.1});
    const Tensor wide = widened(given);
    EXPECT_EQ(wide.dtype, kFloat32);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(element_as_double(wide, i), element_as_double(given, i));
    EXPECT_TRUE(narrowed(wide, dtype) == given);
    EXPECT_EQ(widened(tensor_from_doubles({0}, dtype, {})).num_elements(), 0);
  }
}

// As exact as the model in float32, but for the operands and the result.
TEST(WidenPrecision, IsMoreExactThanTheModel) {
  const std::string text =
      "def @main(%x: Tensor[(4, 16), T], %w: Tensor[(16, 16), T]) {\n"
      "  let %a = nn.softmax(nn.dense(nn.dense(%x, %w, units=16), %w, units=16));\n"
      "  let %b = split(transpose(%a, axes=[1, 0]), indices_or_sections=2, axis=0);\n"
      "  sum(multiply(%b.0, %b.1), axis=[1])\n}\n";
  const auto in = [&](const std::string& type) {
    std::string t = text;
    for (std::size_t at = 0; (at = t.find("), T]", at)) != t.npos;) t.replace(at + 3, 1, type);
    return module_of(t);
  };
  for (const DType dtype : {kFloat16, kBFloat16}) {
    const Module narrow = in(to_string(dtype)), wide = passed(narrow, "widen-precision");
    const Module full = in("float32");
    std::vector<Tensor> inputs, exact;
    const auto by_name = testing::random_inputs(full.functions.at("main"));
    for (const char* name : {"x", "w"}) {
      inputs.push_back(narrowed(by_name.at(name), dtype));
      exact.push_back(widened(inputs.back()));
    }
    const auto result = [](const Module& m, const std::vector<Tensor>& given) {
      return ops::evaluate(m, m.functions.at("main"), given).at(0);
    };
    const Tensor wanted = narrowed(result(full, exact), dtype);
    EXPECT_TRUE(result(wide, inputs) == wanted);
    EXPECT_GT(ops::relative_difference(result(narrow, inputs), wanted), 0);
    EXPECT_EQ(print(passed(wide, "widen-precision")), print(wide));
  }
}

TEST(WidenPrecision, ReportsWhatItFinds) {
  const Module module = module_of(
      "def @main(%x: Tensor[(2, 4), float16], %y: Tensor[(2, 4), float32]) {\n"
      "  %0 = nn.relu(reshape(%x, newshape=[4, 2]));\n"
      "  (add(%0, 1f16), exp(%y), cast(%x, dtype=\"float32\"), equal(%x, %x))\n}\n");
  const std::vector<DType> both = {kFloat16, kBFloat16};
  const WideningReport found = widening_report(module, both);
  EXPECT_EQ(found.operators, 2);
  EXPECT_EQ(found.dtypes, std::vector<DType>{kFloat16});
  EXPECT_EQ(found.constant_bytes, 2);
  const WideningReport after = widening_report(passed(module, "widen-precision"), both);
  EXPECT_EQ(after.operators, 0);
  EXPECT_EQ(after.constant_bytes, 4);
  EXPECT_EQ(widening_report(module, std::vector<DType>{kBFloat16}).operators, 0);
}

}  // namespace
}  // namespace tessera::passes
