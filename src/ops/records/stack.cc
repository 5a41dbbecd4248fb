// SPDX-License-Identifier: Apache-2.0
#include "ops/attrs/shape.h"
#include "ops/evaluation/evaluate.h"
#include "ops/records/definition.h"
#include "ops/records/part_choice.h"
#include "ops/records/record.h"

namespace tessera::ops {
namespace {

Result<Type> infer_stack(const InferArgs& args) {
  if (!args.operands[0].is_tuple() || args.operands[0].fields().empty()) {
    return refuse(args, Code::kTypeMismatch, "needs a tuple of tensors, found {}",
                  to_string(args.operands[0]));
  }
  const std::vector<Type>& fields = args.operands[0].fields();
  for (const Type& t : fields) {
    if (!t.is_tensor() || t.rank() != fields[0].rank() || t.dtype() != fields[0].dtype()) {
      return refuse(args, Code::kShapeMismatch, "operands differ in type: {} vs {}",
                    to_string(fields[0]), to_string(t));
    }
  }
  Shape shape = fields[0].shape();
  for (const Type& t : fields) {
    for (std::size_t i = 0; i < shape.size(); ++i) {
      TESSERA_TRY(shape[i], agreed(args, shape[i], t.shape()[i], "operand sizes"));
    }
  }
  const auto p = relay::read_attrs<StackAttrs>(args.attrs);
  TESSERA_TRY(const std::int64_t axis, normal_axis(args, p.axis, shape.size() + 1));
  shape.insert(shape.begin() + axis, Dim(static_cast<std::int64_t>(fields.size())));
  return tensor_type(std::move(shape), fields[0].dtype());
}

std::int64_t stack_axis(const relay::Attrs& attrs, std::size_t rank) {
  return front_axis(relay::read_attrs<StackAttrs>(attrs).axis, rank);
}

std::vector<Tensor> eval_stack(const EvalArgs& args) {
  const Ints shape = static_shape(args.result);
  const std::int64_t axis = stack_axis(args.attrs, shape.size());
  const std::int64_t run =
      count_of(std::span(shape).subspan(axis + 1)) * args.result.dtype().size_bytes();
  const std::int64_t outer = count_of(std::span(shape).first(axis));
  std::vector<std::byte> bytes;
  for (std::int64_t row = 0; row < outer; ++row) {
    for (const Tensor& t : args.operands) {
      const std::byte* from = t.blob->bytes().data() + row * run;
      bytes.insert(bytes.end(), from, from + run);
    }
  }
  return {Tensor(shape, args.result.dtype(), Blob::adopt(std::move(bytes)))};
}

Definitions compute_stack(const ComputeArgs& args) {
  const auto& parts = args.operands;
  const std::int64_t axis = stack_axis(args.attrs, parts[0].rank() + 1);
  return define(args, "y", [&](const Indices& i) {
    Indices at = i;
    at.erase(at.begin() + axis);
    const auto part = [&](std::size_t k) { return parts[k](at); };
    const auto is_before = [&](std::size_t k) {
      return tir::lt(i[axis], static_cast<std::int64_t>(k));
    };
    return chosen_part(0, parts.size(), is_before, part);
  });
}

}  // namespace

constexpr Operator kStack{
    .name = "stack",
    .doc =
        "n tensors of one shape as the n slices of a new dimension `axis`"
        "   data: (T[a..., b...], ...) -> T[a..., n, b...]",
    .operands = {"data"},
    .takes_tuples = true,
    .attrs = relay::attr_schema<StackAttrs>,
    .pattern = OpPattern::kInjective,
    .infer = infer_stack,
    .eval = eval_stack,
    .compute = compute_stack,
    .samples = {"stack((float32[2,3], float32[2,3]))",
                "stack((int64[2], int64[2], int64[2]), axis=-1)", "stack((float16[2,3]), axis=1)",
                "stack((bool[], bool[]))", "stack((float32[0], float32[0]))"},
};

}  // namespace tessera::ops
