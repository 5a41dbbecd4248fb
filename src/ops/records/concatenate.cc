// SPDX-License-Identifier: Apache-2.0
#include "ops/attrs/shape.h"
#include "ops/evaluation/evaluate.h"
#include "ops/records/definition.h"
#include "ops/records/part_choice.h"
#include "ops/records/record.h"

namespace tessera::ops {
namespace {

Result<Type> infer_concatenate(const InferArgs& args) {
  if (!args.operands[0].is_tuple() || args.operands[0].fields().empty()) {
    return refuse(args, Code::kTypeMismatch, "needs a tuple of tensors, found {}",
                  to_string(args.operands[0]));
  }
  const std::vector<Type>& fields = args.operands[0].fields();
  const auto p = relay::read_attrs<ConcatenateAttrs>(args.attrs);
  for (const Type& t : fields) {
    if (!t.is_tensor() || t.rank() != fields[0].rank()) {
      return refuse(args, Code::kShapeMismatch, "operands differ in rank: {} vs {}",
                    to_string(fields[0]), to_string(t));
    }
    if (t.dtype() != fields[0].dtype()) {
      return refuse(args, Code::kDtypeMismatch, "operand types differ: {} vs {}",
                    to_string(fields[0].dtype()), to_string(t.dtype()));
    }
  }
  TESSERA_TRY(const std::int64_t axis, normal_axis(args, p.axis, fields[0].rank()));
  Shape shape = fields[0].shape();
  for (std::size_t f = 1; f < fields.size(); ++f) {
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const Dim& d = fields[f].shape()[i];
      if (static_cast<std::int64_t>(i) == axis) {
        shape[i] = shape[i] + d;
      } else {
        TESSERA_TRY(shape[i], agreed(args, shape[i], d, "operand sizes beside the axis"));
      }
    }
  }
  return tensor_type(std::move(shape), fields[0].dtype());
}

std::vector<Tensor> eval_concatenate(const EvalArgs& args) {
  const Ints shape = static_shape(args.result);
  const std::int64_t axis =
      front_axis(relay::read_attrs<ConcatenateAttrs>(args.attrs).axis, shape.size());
  const std::int64_t outer = count_of(std::span(shape).first(axis));
  const std::int64_t size = args.result.dtype().size_bytes();
  std::vector<std::byte> bytes;
  bytes.reserve(static_cast<std::size_t>(count_of(shape) * size));
  for (std::int64_t row = 0; row < outer; ++row) {
    for (const Tensor& t : args.operands) {
      const std::int64_t run = count_of(std::span(t.shape).subspan(axis)) * size;
      const std::byte* from = t.blob->bytes().data() + row * run;
      bytes.insert(bytes.end(), from, from + run);
    }
  }
  return {Tensor(shape, args.result.dtype(), Blob::adopt(std::move(bytes)))};
}

// A chain of selects from the last operand to the first; lower/ may write the operands one by one.
Definitions compute_concatenate(const ComputeArgs& args) {
  const auto& parts = args.operands;
  const std::int64_t axis =
      front_axis(relay::read_attrs<ConcatenateAttrs>(args.attrs).axis, parts[0].rank());
  std::vector<Expr> begins{Expr(0)};
  for (const TensorExpr& t : parts) begins.push_back(begins.back() + t.shape()[axis]);
  return define(
      args, "y",
      [&](const Indices& i) {
        const auto part = [&](std::size_t k) {
          Indices at = i;
          if (k > 0) at[axis] = i[axis] - begins[k];
          return parts[k](at);
        };
        const auto is_before = [&](std::size_t k) { return tir::lt(i[axis], begins[k]); };
        return chosen_part(0, parts.size(), is_before, part);
      },
      "concatenate");
}

}  // namespace

constexpr Operator kConcatenate{
    .name = "concatenate",
    .doc =
        "The tensors of a tuple one after the other along `axis`"
        "   data: (T[a..., n0, b...], T[a..., n1, b...], ...) -> T[a..., n0 + n1 + ..., b...]",
    .operands = {"data"},
    .takes_tuples = true,
    .attrs = relay::attr_schema<ConcatenateAttrs>,
    .pattern = OpPattern::kInjective,
    .infer = infer_concatenate,
    .eval = eval_concatenate,
    .compute = compute_concatenate,
    .samples = {"concatenate((float32[2,3], float32[4,3]))",
                // Parts whose neighbours devices read together, and parts of which they cannot.
                "concatenate((float16[3,5,16], float16[3,5,8], float16[3,5,24]), axis=2)",
                "concatenate((float16[3,5,12], float16[3,5,20]), axis=2)",
                "concatenate((float32[2,4,6,8], float32[2,1,6,8], float32[2,3,6,8]), axis=1)",
                "concatenate((int64[2], int64[1], int64[3]), axis=-1)",
                "concatenate((float16[2,1,3], float16[2,2,3]), axis=1)", "concatenate((bool[3]))",
                "concatenate((float32[0,2], float32[3,2]))"},
};

}  // namespace tessera::ops
