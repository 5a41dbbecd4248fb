// SPDX-License-Identifier: Apache-2.0
#include "ops/attrs/shape.h"
#include "ops/evaluation/evaluate.h"
#include "ops/records/definition.h"
#include "ops/records/record.h"
#include "ops/records/size_rules.h"

namespace tessera::ops {
namespace {

// Sums of it and an index do not overflow.
constexpr std::int64_t kFarthestPad = std::int64_t{1} << 61;

Result<Type> infer_pad(const InferArgs& args) {
  const Type& data = args.operands[0];
  const auto p = relay::read_attrs<PadAttrs>(args.attrs);
  if (p.pad_width.size() != data.rank()) {
    return refuse(args, Code::kShapeMismatch, "has {} pad_width pairs for a tensor of rank {}",
                  p.pad_width.size(), data.rank());
  }
  if (p.pad_mode != "constant" && p.pad_mode != "edge" && p.pad_mode != "reflect") {
    return refuse(args, Code::kWrongAttribute,
                  "has pad_mode \"{}\"; it is constant, edge or reflect", p.pad_mode);
  }
  Shape shape;
  for (std::size_t i = 0; i < data.rank(); ++i) {
    const Dim& d = data.shape()[i];
    if (p.pad_width[i].size() != 2)
      return refuse(args, Code::kWrongAttribute, "needs pairs as pad_width");
    const std::int64_t before = p.pad_width[i][0], after = p.pad_width[i][1];
    if (before < -kFarthestPad || before > kFarthestPad || after < -kFarthestPad ||
        after > kFarthestPad) {
      return refuse(args, Code::kBadDimension, "pads {} elements by {} and {}, beyond 62 bits",
                    to_string(d), before, after);
    }
    const bool needs_data = p.pad_mode != "constant" && (before > 0 || after > 0);
    const std::int64_t most =
        p.pad_mode == "reflect" ? d.as_constant().value_or(INT64_MAX) - 1 : INT64_MAX;
    if (needs_data && (d == Dim(0) || before > most || after > most)) {
      return refuse(args, Code::kShapeMismatch, "cannot pad {} elements by {} and {} in mode {}",
                    to_string(d), before, after, p.pad_mode);
    }
    if (needs_data) {
      // If a size is open, only the run can tell that there is what is repeated.
      const std::int64_t read = p.pad_mode == "reflect" ? std::max(before, after) + 1 : 1;
      TESSERA_TRY_VOID(
          at_least(args, d, Dim(read), "elements of a dimension and what padding needs"));
    }
    shape.push_back(d + Dim(before) + Dim(after));
    if (shape.back().is_unknown() && !d.is_unknown()) {
      return refuse(args, Code::kBadDimension, "pads {} elements by {} and {}, beyond 64 bits",
                    to_string(d), before, after);
    }
  }
  // Front ends pass an int32 zero whatever the data are.
  if (args.operands.size() > 1) TESSERA_TRY_VOID(expect_rank(args, 1, 0));
  return tensor_type(std::move(shape), data.dtype());
}

// Where the element at i of the padded dimension comes from; outside of [0, size) only in mode
// constant.
std::int64_t source(std::int64_t i, std::int64_t size, const std::string& mode) {
  if (mode == "edge") return i < 0 ? 0 : i >= size ? size - 1 : i;
  if (mode == "reflect") return i < 0 ? -i : i >= size ? 2 * (size - 1) - i : i;
  return i;
}

std::vector<Tensor> eval_pad(const EvalArgs& args) {
  const auto p = relay::read_attrs<PadAttrs>(args.attrs);
  const Tensor& data = args.operands[0];
  const Ints strides = row_major_strides(data.shape);
  return in_domain(data.dtype, [&]<class T>(T) -> std::vector<Tensor> {
    const Elements<T> x = values_of<T>(data);
    const T value = args.operands.size() > 1 ? values_of<T>(args.operands[1])[0] : T(0);
    std::vector<T> out;
    for (Counter c(static_shape(args.result)); c; ++c) {
      std::int64_t at = 0;
      bool inside = true;
      for (std::size_t d = 0; d < strides.size(); ++d) {
        const std::int64_t i = source(c[d] - p.pad_width[d][0], data.shape[d], p.pad_mode);
        inside = inside && i >= 0 && i < data.shape[d];
        if (inside) at += i * strides[d];
      }
      out.push_back(inside ? x[at] : value);
    }
    return {tensor_of(args.result, out)};
  });
}

Definitions compute_pad(const ComputeArgs& args) {
  const auto p = relay::read_attrs<PadAttrs>(args.attrs);
  const TensorExpr& x = args.operands[0];
  return define(
      args, "padded",
      [&](const Indices& i) {
        Indices at;
        std::vector<Expr> inside;
        for (std::size_t d = 0; d < i.size(); ++d) {
          const std::int64_t before = p.pad_width[d][0], after = p.pad_width[d][1];
          const Expr size = x.shape()[d];
          Expr j = before == 0 ? i[d] : i[d] - before;
          if (p.pad_mode == "edge") {
            j = tir::max(tir::min(j, size - 1), 0);
          } else if (p.pad_mode == "reflect") {
            j = tir::select(tir::lt(j, 0), 0 - j,
                            tir::select(tir::ge(j, size), (size - 1) * 2 - j, j));
          } else {
            if (before != 0) inside.push_back(tir::ge(j, 0));
            if (after != 0) inside.push_back(tir::lt(j, size));
          }
          at.push_back(j);
        }
        const Expr value =
            args.operands.size() > 1 ? tir::cast(args.operands[1]({}), x.dtype()) : zero(x.dtype());
        return tir::select(all_of(std::move(inside)), x(at), value);
      },
      "pad");
}

}  // namespace

constexpr Operator kPad{
    .name = "nn.pad",
    .doc =
        "data with pad_width elements before and after each dimension: pad_value, the nearest "
        "element "
        "(edge), or the mirror image (reflect); negative widths cut; the value is converted to T   "
        "data: T[d...], pad_value: U[] -> "
        "T[before + d + after...]",
    .operands = {"data", "pad_value"},
    .optional_operands = 1,
    .attrs = relay::attr_schema<PadAttrs>,
    .pattern = OpPattern::kInjective,
    .infer = infer_pad,
    .eval = eval_pad,
    .compute = compute_pad,
    .samples = {"nn.pad(float32[2,3], float32[]=1.5, pad_width=[[1,0],[0,2]])",
                "nn.pad(int64[4], pad_width=[[2,3]])",
                "nn.pad(float32[3], int32[]=2, pad_width=[[1,1]])",
                "nn.pad(float16[2,3], float16[], pad_width=[[1,1],[2,1]], pad_mode=\"edge\")",
                "nn.pad(float32[3,4], float32[], pad_width=[[2,1],[0,3]], pad_mode=\"reflect\")",
                "nn.pad(float32[5,3], float32[], pad_width=[[-1,-2],[1,0]])",
                "nn.pad(bool[0], bool[], pad_width=[[1,1]])"},
};

}  // namespace tessera::ops
