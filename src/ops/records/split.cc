// SPDX-License-Identifier: Apache-2.0
#include "ops/attrs/shape.h"
#include "ops/evaluation/evaluate.h"
#include "ops/records/definition.h"
#include "ops/records/record.h"
#include "ops/records/size_rules.h"

namespace tessera::ops {
namespace {

// A part is a value of the graph.
constexpr std::int64_t kMostParts = 1 << 16;

// Where each part begins; the last place is the end, which may be unknown for equal parts.
Result<std::vector<Dim>> cuts(const InferArgs& args, const SplitAttrs& p, const Dim& whole) {
  std::vector<Dim> places{Dim(0)};
  if (const auto* n = p.indices_or_sections.as<std::int64_t>()) {
    if (*n <= 0 || *n > kMostParts) {
      return refuse(args, Code::kWrongAttribute, "cannot make {} parts; 1 to {} is right", *n,
                    kMostParts);
    }
    if (provably_equal(floor_mod(whole, Dim(*n)), Dim(0)) == Tri::kNo) {
      return refuse(args, Code::kShapeMismatch, "cannot split {} elements into {} equal parts",
                    to_string(whole), *n);
    }
    TESSERA_TRY_VOID(none_left(args, whole, Dim(*n), "elements left over and none"));
    const Dim part = floor_div(whole, Dim(*n));
    for (std::int64_t i = 1; i <= *n; ++i) places.push_back(Dim(i) * part);
    return places;
  }
  const auto* list = p.indices_or_sections.as<relay::AttrArray>();
  if (list == nullptr) {
    return refuse(args, Code::kWrongAttribute, "needs an integer or a list as indices_or_sections");
  }
  std::int64_t last = 0;
  for (const relay::AttrValue& v : *list) {
    const auto* at = v.as<std::int64_t>();
    if (at == nullptr || *at < last || (whole.is_constant() && *at > whole.constant())) {
      return refuse(args, Code::kWrongAttribute,
                    "needs ascending places within {} as indices_or_sections", to_string(whole));
    }
    last = *at;
    places.emplace_back(last);
  }
  places.push_back(whole);
  return places;
}

Result<Type> infer_split(const InferArgs& args) {
  const Type& data = args.operands[0];
  const auto p = relay::read_attrs<SplitAttrs>(args.attrs);
  TESSERA_TRY(const std::int64_t axis, normal_axis(args, p.axis, data.rank()));
  TESSERA_TRY(const std::vector<Dim> places, cuts(args, p, data.shape()[axis]));
  std::vector<Type> parts;
  for (std::size_t k = 0; k + 1 < places.size(); ++k) {
    Shape shape = data.shape();
    shape[axis] = places[k + 1] - places[k];
    parts.push_back(tensor_type(std::move(shape), data.dtype()));
  }
  return tuple_type(std::move(parts));
}

std::vector<Tensor> eval_split(const EvalArgs& args) {
  const Tensor& data = args.operands[0];
  const std::int64_t axis =
      front_axis(relay::read_attrs<SplitAttrs>(args.attrs).axis, data.shape.size());
  const Ints strides = row_major_strides(data.shape);
  std::vector<Tensor> parts;
  std::int64_t begin = 0;
  for (const Type& t : args.result.fields()) {
    const Ints shape = static_shape(t);
    parts.push_back(strided_copy(data, shape, strides, begin * strides[axis]));
    begin += shape[axis];
  }
  return parts;
}

Definitions compute_split(const ComputeArgs& args) {
  const TensorExpr& data = args.operands[0];
  const std::int64_t axis = front_axis(relay::read_attrs<SplitAttrs>(args.attrs).axis, data.rank());
  Definitions parts;
  Expr begin = 0;
  for (std::size_t k = 0; k < args.result.fields().size(); ++k) {
    const std::vector<Expr> shape = result_shape(args, k);
    parts.push_back(tir::compute("part", shape, [&](const Indices& i) {
      Indices at = i;
      if (k > 0) at[axis] = i[axis] + begin;
      return data(at);
    }));
    begin = begin + shape[axis];
  }
  return parts;
}

}  // namespace

constexpr Operator kSplit{
    .name = "split",
    .doc =
        "Cuts along `axis` into equal parts, or at the places given"
        "   data: T[a..., n, b...] -> (T[a..., n0, b...], T[a..., n1, b...], ...)",
    .operands = {"data"},
    .attrs = relay::attr_schema<SplitAttrs>,
    .pattern = OpPattern::kInjective,
    .infer = infer_split,
    .eval = eval_split,
    .compute = compute_split,
    .samples = {"split(float32[6,2], indices_or_sections=3)",
                "split(int64[2,7], indices_or_sections=[2,5], axis=1)",
                "split(float16[4], indices_or_sections=[0,4], axis=-1)",
                "split(bool[0,2], indices_or_sections=2, axis=1)"},
};

}  // namespace tessera::ops
