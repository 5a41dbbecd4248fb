// SPDX-License-Identifier: Apache-2.0
// Computes a float32 model in a 16-bit type where that costs no accuracy worth having
// (passes/precision_plan.h); casts stand between the two, constants are converted here.
#include "passes/narrow_constant.h"
#include "passes/pass.h"
#include "passes/precision_converter.h"
#include "passes/precision_plan.h"
#include "passes/precision_rules.h"

namespace tessera::passes {
namespace {

constexpr relay::AttrRule kSixteenBits{"float16 or bfloat16", [](const relay::AttrValue& v) {
                                         const DType dtype = relay::AttrCodec<DType>::decode(v);
                                         return dtype == kFloat16 || dtype == kBFloat16;
                                       }};

struct ToMixedPrecisionOptions {
  DType dtype = kFloat16;
  bool convert_io = false;
  static constexpr auto fields =
      std::tuple{relay::attr("dtype", &ToMixedPrecisionOptions::dtype, kSixteenBits),
                 relay::attr("convert_io", &ToMixedPrecisionOptions::convert_io)};
};

ConversionPlan conversion_plan(const relay::Function& f, const PrecisionRequest& request,
                               const std::vector<Precision>& computed) {
  ConversionPlan plan{.from = {kFloat32},
                      .to = request.low,
                      .calls = std::vector<Conversion>(f.num_nodes(), Conversion::kNone),
                      .converted = [to = request.low](const Tensor& t) { return narrowed(t, to); },
                      .convert_io = request.convert_io};
  for (std::size_t i = 0; i < f.num_nodes(); ++i) {
    if (computed[i] == Precision::kEither) plan.calls[i] = Conversion::kFollows;
    if (computed[i] != Precision::kLow) continue;
    const PrecisionRule::Kind rule = precision_rule(*f.op(relay::NodeId(i))).kind;
    plan.calls[i] = rule == PrecisionRule::kFloat32Inside ? Conversion::kResult
                    : rule == PrecisionRule::kLowRows     ? Conversion::kFirst
                                                          : Conversion::kWhole;
  }
  return plan;
}

Result<Module> run_to_mixed_precision(Module module, PassContext& context) {
  const auto options = relay::read_attrs<ToMixedPrecisionOptions>(context.options);
  for (auto& [name, function] : module.functions) {
    if (!relay::is_optimizable(function)) continue;
    CheckContext check("in @" + name);
    const PrecisionRequest request{options.dtype, options.convert_io && name == "main"};
    PrecisionPlan plan = plan_precision(function, module.constants, request);
    for (Diagnostic& w : plan.warnings) context.warnings.push_back(std::move(w));
    function = convert_precision(function, module.constants,
                                 conversion_plan(function, request, plan.computed));
  }
  return module;
}

}  // namespace

extern const Pass to_mixed_precision;
const Pass to_mixed_precision{
    .name = "to-mixed-precision",
    .summary =
        "computes products and what lies between them in a 16-bit type, sums, exponentials "
        "and norms in float32",
    .options = relay::attr_schema<ToMixedPrecisionOptions>,
    .run = run_to_mixed_precision,
};

}  // namespace tessera::passes
