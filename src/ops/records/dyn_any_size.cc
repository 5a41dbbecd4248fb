// SPDX-License-Identifier: Apache-2.0
#include "ops/records/dynamic_shape.h"
#include "ops/records/reshape.h"

namespace tessera::ops {
namespace {

struct AnySizeAttrs {
  Ints axes;
  static constexpr auto fields = std::tuple{relay::required_attr("axes", &AnySizeAttrs::axes)};
};

// Branches whose results differ in their sizes have results of one type after it.
Result<Type> infer_dyn_any_size(const InferArgs& args) {
  TESSERA_TRY_VOID(expect_rank(args, 1, 0));
  const Type& data = args.operands[0];
  const auto p = relay::read_attrs<AnySizeAttrs>(args.attrs);
  TESSERA_TRY(const std::vector<bool> open, chosen_axes(args, p.axes, false, data.rank()));
  if (args.values[1] != nullptr) return data;
  Shape shape = data.shape();
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (open[d]) shape[d] = Dim::unknown();
  }
  return tensor_type(std::move(shape), data.dtype());
}

Definitions shape_of_dyn_any_size(const ComputeArgs& args) {
  return define_sizes(args.result.rank(),
                      [&](std::size_t k) { return args.operands[0].shape()[k]; });
}

}  // namespace

constexpr Operator kDynAnySize{
    .name = "dyn.any_size",
    .doc =
        "The data, whose sizes along `axes` the type leaves open as long as `decision` is not "
        "known, on which they depend   data: T[d...], decision: bool[] -> T[d...]",
    .operands = {"data", "decision"},
    .keeps_order = true,
    .attrs = relay::attr_schema<AnySizeAttrs>,
    .pattern = OpPattern::kOpaque,
    .infer = infer_dyn_any_size,
    .eval = [](const EvalArgs& args) { return std::vector<Tensor>{args.operands[0]}; },
    .compute = compute_reshape,
    .shape = shape_of_dyn_any_size,
    .shape_need = {ShapeNeed::kShape, ShapeNeed::kNothing},
    .samples = {"dyn.any_size(float32[2,3], bool[]=[1], axes=[0])",
                "dyn.any_size(int64[4], bool[]=[0], axes=[0])",
                "dyn.any_size(float16[2,1,3], bool[]=[1], axes=[0, -1])"},
};

}  // namespace tessera::ops
