// SPDX-License-Identifier: Apache-2.0
// Computes 16-bit parts of a model in float32, for a machine that has no kernels of the type
// (passes/widening_plan.h): parameters and results keep their types, and what the model rounds on
// purpose, by a cast, stays rounded.
#include <algorithm>

#include "passes/pass.h"
#include "passes/widening_plan.h"

namespace tessera::passes {
namespace {

using Names = std::vector<std::string>;

const DType* sixteen_bits(std::string_view name) {
  static constexpr DType kTypes[] = {kFloat16, kBFloat16};
  const auto* found = std::ranges::find_if(kTypes, [&](DType t) { return to_string(t) == name; });
  return found == std::end(kTypes) ? nullptr : found;
}

constexpr relay::AttrRule kSixteenBits{
    "some of float16 and bfloat16", [](const relay::AttrValue& v) {
      return std::ranges::all_of(relay::AttrCodec<Names>::decode(v), [](const std::string& name) {
        return sixteen_bits(name) != nullptr;
      });
    }};

struct WidenPrecisionOptions {
  Names dtypes = {"float16", "bfloat16"};
  Names products;  // types whose products of matrices stay
  static constexpr auto fields =
      std::tuple{relay::attr("dtypes", &WidenPrecisionOptions::dtypes, kSixteenBits),
                 relay::attr("products", &WidenPrecisionOptions::products, kSixteenBits)};
};

std::vector<DType> types_of(const Names& names) {
  std::vector<DType> types;
  for (const std::string& name : names) types.push_back(*sixteen_bits(name));
  return types;
}

Result<Module> run_widen_precision(Module module, PassContext& context) {
  const auto options = relay::read_attrs<WidenPrecisionOptions>(context.options);
  const std::vector<DType> narrow = types_of(options.dtypes), products = types_of(options.products);
  return map_optimizable(
      std::move(module), [&](const relay::Function& f, const ConstantPool& pool) {
        return convert_precision(f, pool, plan_widening(f, pool, narrow, products));
      });
}

}  // namespace

extern const Pass widen_precision;
const Pass widen_precision{
    .name = "widen-precision",
    .summary = "computes in float32 what is of 16 bits, for machines without kernels of that type",
    .options = relay::attr_schema<WidenPrecisionOptions>,
    .run = run_widen_precision,
};

}  // namespace tessera::passes
