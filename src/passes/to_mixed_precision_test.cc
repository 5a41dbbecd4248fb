// SPDX-License-Identifier: Apache-2.0
// What goldens of to-mixed-precision cannot show: numbers, warnings, the report, and that the
// rules of the operators' records hold.
#include <limits>
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
#include "passes/precision_plan.h"
#include "passes/precision_report.h"
#include "passes/precision_rules.h"
#include "passes/testing/random_inputs.h"
#include "relay/structural_equal.h"

namespace tessera::passes {
namespace {

using relay::NodeId;

template <class T>
T value_of(Result<T> result) {
  if (!result) throw std::runtime_error(render(result.error()));
  return *std::move(result);
}

Module read(const std::string& text) {
  const auto file =
      std::make_shared<const SourceFile>(SourceFile{"m.relay", "#[version = \"0.0.5\"]\n" + text});
  return value_of(ops::infer_types(value_of(parse_module(file, ops::operators()))));
}

ManagerOutcome run(Module module, std::string_view passes) {
  const auto calls = parse_pipeline(passes, all_passes()).value();
  ManagerOutcome outcome = value_of(run_passes(std::move(module), calls, ops::operators()));
  outcome.module = value_of(ops::infer_types(std::move(outcome.module)));
  return outcome;
}

// One encoder of a transformer with weights as inputs; the norms as one operator each, or in
// pieces.
std::string encoder_block(bool norm_in_pieces) {
  const auto norm = [&](const std::string& x, const std::string& y) {
    if (!norm_in_pieces) return "  let " + y + " = nn.layer_norm(" + x + ", %g, %b);\n";
    return "  let " + y + "m = mean(" + x + ", axis=[-1], keepdims=True);\n" +  //
           "  let " + y + "d = subtract(" + x + ", " + y + "m);\n" +            //
           "  let " + y + "v = mean(power(" + y + "d, 2f), axis=[-1], keepdims=True);\n" +
           "  let " + y + " = add(multiply(divide(" + y + "d, sqrt(add(" + y +
           "v, 1e-12f))), %g), %b);\n";
  };
  return "def @main(%x: Tensor[(6, 16), float32], %wq: Tensor[(16, 16), float32], %wk: "
         "Tensor[(16, 16), float32], %wv: Tensor[(16, 16), float32], %w1: Tensor[(32, 16), "
         "float32], %w2: Tensor[(16, 32), float32], %g: Tensor[(16), float32], %b: Tensor[(16), "
         "float32]) {\n"
         "  let %q = reshape(nn.dense(%x, %wq, units=16), newshape=[1, 6, 16]);\n"
         "  let %k = reshape(nn.dense(%x, %wk, units=16), newshape=[1, 6, 16]);\n"
         "  let %v = reshape(nn.dense(%x, %wv, units=16), newshape=[1, 6, 16]);\n"
         "  let %s = nn.softmax(multiply(nn.batch_matmul(%q, %k, transpose_b=True), 0.25f));\n"
         "  let %a = reshape(nn.batch_matmul(%s, %v, transpose_b=False), newshape=[6, 16]);\n"
         "  let %r = add(%a, %x);\n" +
         norm("%r", "%n") +
         "  let %h = add(nn.dense(%n, %w1, units=32), 0.125f);\n"
         "  let %e = multiply(multiply(%h, add(erf(divide(%h, 1.4142135f)), 1f)), 0.5f);\n"
         "  let %o = add(nn.dense(%e, %w2, units=16), %n);\n" +
         norm("%o", "%y") + "  %y\n}\n";
}

std::vector<Tensor> inputs_of(const Module& module) {
  const relay::Function& main = module.functions.at("main");
  const auto by_name = testing::random_inputs(main);
  std::vector<Tensor> inputs;
  for (const NodeId p : main.params()) inputs.push_back(by_name.at(main.as<relay::Param>(p)->name));
  return inputs;
}

double error_of(const Module& found, const Module& wanted) {
  const std::vector<Tensor> inputs = inputs_of(wanted);
  const auto a = ops::evaluate(found, found.functions.at("main"), inputs);
  const auto b = ops::evaluate(wanted, wanted.functions.at("main"), inputs);
  return ops::relative_difference(a.at(0), b.at(0));
}

// The calls of an operator, with the type of their result.
std::vector<std::string> result_types(const Module& module, std::string_view op) {
  const relay::Function& f = module.functions.at("main");
  std::vector<std::string> types;
  for (std::size_t i = 0; i < f.num_nodes(); ++i) {
    const NodeId id(i);
    if (relay::is_call_of(f, id, op)) {
      types.push_back(to_string(f.type(id).dtype()));
    }
  }
  return types;
}

int casts_of_casts(const relay::Function& f) {
  int count = 0;
  const auto is_cast = [&](NodeId id) { return relay::is_call_of(f, id, "cast"); };
  for (std::size_t i = 0; i < f.num_nodes(); ++i) {
    if (is_cast(NodeId(i)) && is_cast(f.operands(NodeId(i))[0])) ++count;
  }
  return count;
}

using Types = std::vector<std::string>;

TEST(ToMixedPrecision, AnEncoderBlockKeepsItsNumbers) {
  for (const bool in_pieces : {false, true}) {
    const Module before = read(encoder_block(in_pieces));
    const Module half = run(before, "to-mixed-precision").module;
    EXPECT_EQ(result_types(half, "nn.dense"), Types(5, "float16"));
    EXPECT_EQ(result_types(half, "nn.batch_matmul"), Types(2, "float16"));
    EXPECT_EQ(result_types(half, "nn.softmax"), Types{"float16"});  // float32 inside
    EXPECT_EQ(result_types(half, "erf"), Types{"float32"});
    EXPECT_EQ(result_types(half, "mean"), Types(in_pieces ? 4 : 0, "float32"));
    EXPECT_EQ(result_types(half, "power"), Types(in_pieces ? 2 : 0, "float32"));
    EXPECT_EQ(result_types(half, "sqrt"), Types(in_pieces ? 2 : 0, "float32"));
    EXPECT_EQ(casts_of_casts(half.functions.at("main")), 0);
    EXPECT_LT(error_of(half, before), 4e-3);
    EXPECT_GT(error_of(half, before), 0);
    const Module brain = run(before, "to-mixed-precision{dtype=bfloat16}").module;
    EXPECT_EQ(result_types(brain, "nn.dense"), Types(5, "bfloat16"));
    EXPECT_LT(error_of(brain, before), 3e-2);
    EXPECT_EQ(print(run(half, "to-mixed-precision").module), print(half));
  }
}

TEST(ToMixedPrecision, ConvertsInputsAndOutputsIfAsked) {
  const Module before = read(
      "def @main(%x: Tensor[(2, 4), float32], %n: Tensor[(2), int32]) -> (Tensor[(2, 2), float32], "
      "Tensor[(2), int32]) {\n  (nn.dense(%x, meta[relay.Constant][0], units=2), %n)\n}\n"
      "#[metadata]\n" +
      [] {
        Module one;
        relay::FunctionBuilder b;
        one.functions["main"] =
            b.finish(b.constant(Tensor::of<float>({2, 4}, kFloat32, std::vector<float>(8, 0.5F))));
        const std::string text = print(one);
        return text.substr(text.find("#[metadata]\n") + 12);
      }());
  const relay::Function main =
      run(before, "to-mixed-precision{convert_io=true}").module.functions.at("main");
  EXPECT_EQ(to_string(relay::type_of_signature(main)),
            "fn (Tensor[(2, 4), float16], Tensor[(2), int32]) -> (Tensor[(2, 2), float16], "
            "Tensor[(2), int32])");
  for (std::size_t i = 0; i < main.num_nodes(); ++i) {
    EXPECT_TRUE(main.op(NodeId(i)) == nullptr || main.op(NodeId(i))->name != "cast");
  }
}

Module with_weight(std::vector<float> values) {
  relay::FunctionBuilder b;
  const NodeId x = b.param("x", tensor_type({Dim(1), Dim(2)}, kFloat32));
  const NodeId w = b.constant(Tensor::of<float>({1, 2}, kFloat32, values));
  b.at(model_node_location("m.onnx", "fc1"));
  Module module;
  module.functions["main"] = b.finish(b.call(ops::op("nn.dense"), {x, w}, {{"units", 1}}));
  return module;
}

TEST(ToMixedPrecision, NamesWeightsThatDoNotFit) {
  const ManagerOutcome kept = run(with_weight({1, -70000}), "to-mixed-precision");
  EXPECT_EQ(result_types(kept.module, "nn.dense"), Types{"float32"});
  ASSERT_EQ(kept.warnings.size(), 1u);
  EXPECT_EQ(kept.warnings[0].code, Code::kBadOption);
  EXPECT_EQ(to_string(kept.warnings[0].location), "m.onnx: node `fc1`");
  EXPECT_EQ(kept.warnings[0].message,
            "`nn.dense` stays in float32: a constant of it holds -70000, which float16 cannot");
  const PrecisionReport report = precision_report(kept.module, kFloat16);
  ASSERT_EQ(report.kept.size(), 1u);
  EXPECT_EQ(report.kept[0].reason, "a constant of it holds -70000");
  EXPECT_EQ(to_string(report), "0 operators in float16; float32 in 1 nn.dense");

  const ManagerOutcome brain = run(with_weight({1, -70000}), "to-mixed-precision{dtype=bfloat16}");
  EXPECT_EQ(result_types(brain.module, "nn.dense"), Types{"bfloat16"});
  EXPECT_TRUE(brain.warnings.empty());
}

TEST(ToMixedPrecision, ReportsWhatStayedAndWhy) {
  const Module half = run(read(encoder_block(true)), "to-mixed-precision").module;
  const PrecisionReport report = precision_report(half, kFloat16);
  EXPECT_GT(report.low, 10);
  std::map<std::string, std::set<std::string>> reasons;
  for (const auto& [op, reason, count] : report.kept) {
    reasons[op].insert(reason);
    EXPECT_GT(count, 0);
  }
  EXPECT_EQ(reasons["mean"], std::set<std::string>{"it gathers many terms"});
  EXPECT_EQ(reasons["power"], std::set<std::string>{"its values leave the range of 16 bits"});
  EXPECT_EQ(reasons["subtract"], std::set<std::string>{"it follows mean"});
  EXPECT_EQ(reasons["erf"], std::set<std::string>{"a library function of float32"});
  EXPECT_EQ(reasons["nn.softmax"],
            std::set<std::string>{"exponentials and their sum are float32 inside"});
  EXPECT_FALSE(reasons.contains("nn.dense"));
}

TEST(NarrowConstant, RoundsOnceAndKeepsBounds) {
  constexpr float kMax = std::numeric_limits<float>::max();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto tensor = [](std::vector<float> values) {
    return Tensor::of<float>({static_cast<std::int64_t>(values.size())}, kFloat32, values);
  };
  const Tensor half = narrowed(tensor({1.00048828125F, -kMax, kInfinity, 65519, 1e-9F}), kFloat16);
  EXPECT_EQ(half.dtype, kFloat16);
  EXPECT_EQ(element_as_double(half, 0), 1.0);  // a tie: to even
  EXPECT_EQ(element_as_double(half, 1), -65504);
  EXPECT_EQ(element_as_double(half, 2), kInfinity);
  EXPECT_EQ(element_as_double(half, 3), 65504);
  EXPECT_EQ(element_as_double(half, 4), 0);
  EXPECT_EQ(element_as_double(narrowed(tensor({kMax}), kBFloat16), 0), 0x1.fep127);

  EXPECT_FALSE(unrepresentable(tensor({65519, -kMax, kInfinity, 1e-9F}), kFloat16));
  EXPECT_EQ(unrepresentable(tensor({1, 65520}), kFloat16), 65520.0F);
  EXPECT_EQ(unrepresentable(tensor({1e-12F}), kFloat16), 1e-12F);  // an epsilon
  EXPECT_FALSE(unrepresentable(tensor({0}), kFloat16));
  EXPECT_FALSE(unrepresentable(tensor({65520, 1e-12F}), kBFloat16));
  EXPECT_FALSE(unrepresentable(tensor({1e-12F}), kBFloat16));
  EXPECT_FALSE(unrepresentable(tensor({}), kFloat16));
}

TEST(PrecisionRules, NameOperatorsAndSayWhy) {
  for (const PrecisionRule& rule : precision_rules()) {
    EXPECT_NE(ops::operators().find(rule.op), nullptr) << rule.op;
    const bool is_low = rule.kind == PrecisionRule::kLow || rule.kind == PrecisionRule::kLowRows;
    EXPECT_EQ(rule.reason.empty(), is_low) << rule.op;
    EXPECT_EQ(precision_rule(ops::op(rule.op)).kind, rule.kind);
  }
  EXPECT_EQ(precision_rule(ops::op("add")).kind, PrecisionRule::kFollows);
  EXPECT_EQ(precision_rule(ops::op("where")).kind, PrecisionRule::kFollows);
}

// A sample of float32 is also one of float16, except of operators that never get one.
TEST(PrecisionRules, HoldForWhatOperatorsTake) {
  for (const relay::Operator* op : ops::operators().all()) {
    const PrecisionRule::Kind kind = precision_rule(*op).kind;
    if (kind == PrecisionRule::kFloat32 || kind == PrecisionRule::kFloat32Inside ||
        kind == PrecisionRule::kRounds) {
      continue;
    }
    for (const std::string_view sample : op->samples) {
      std::string text(sample);
      bool changed = false;
      for (std::size_t at = 0; (at = text.find("float32", at)) != std::string::npos; ++at) {
        text.replace(at, 7, "float16");
        changed = true;
      }
      if (!changed) continue;
      EXPECT_NO_THROW(ops::parse_sample(text)) << text;  // as where inference refuses
    }
  }
}

}  // namespace
}  // namespace tessera::passes
