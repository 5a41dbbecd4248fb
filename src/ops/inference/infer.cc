// SPDX-License-Identifier: Apache-2.0
#include "ops/inference/infer.h"

#include "types/dim_broadcast.h"

namespace tessera::ops {

using relay::InferArgs;

Unexpected<Diagnostics> refusal(const InferArgs& args, Code code, std::string text) {
  return fail(error(code, args.location, "`{}` {}", args.op_name, text));
}

Result<std::int64_t> normal_axis(const InferArgs& args, std::int64_t axis, std::size_t rank) {
  const auto n = static_cast<std::int64_t>(rank);
  if (axis < -n || axis >= n) {
    return refuse(args, Code::kWrongAttribute, "axis {} is outside of a tensor of rank {}", axis,
                  rank);
  }
  return front_axis(axis, rank);
}

std::int64_t front_axis(std::int64_t axis, std::size_t rank) {
  return axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis;
}

Result<std::vector<bool>> chosen_axes(const InferArgs& args, const std::optional<Ints>& axes,
                                      bool exclude, std::size_t rank) {
  if (axes) {
    std::vector<bool> seen(rank, false);
    for (std::int64_t axis : *axes) {
      TESSERA_TRY(const std::int64_t i, normal_axis(args, axis, rank));
      if (seen[i]) return refuse(args, Code::kWrongAttribute, "names axis {} twice", i);
      seen[i] = true;
    }
  }
  return accepted_axes(axes, exclude, rank);
}

std::vector<bool> accepted_axes(const std::optional<Ints>& axes, bool exclude, std::size_t rank) {
  std::vector<bool> chosen(rank, !axes.has_value());
  if (!axes) return chosen;
  for (std::int64_t axis : *axes) chosen[front_axis(axis, rank)] = true;
  if (exclude) chosen.flip();
  return chosen;
}

Result<void> expect_rank(const InferArgs& args, std::size_t operand, std::size_t rank) {
  const Type& t = args.operands[operand];
  if (t.rank() == rank) return {};
  return refuse(args, Code::kShapeMismatch, "needs operand {} of rank {}, found {}", operand + 1,
                rank, to_string(t));
}

Result<void> expect_min_rank(const InferArgs& args, std::size_t operand, std::size_t rank) {
  const Type& t = args.operands[operand];
  if (t.rank() >= rank) return {};
  return refuse(args, Code::kShapeMismatch, "needs operand {} of rank {} or more, found {}",
                operand + 1, rank, to_string(t));
}

Result<void> expect_float(const InferArgs& args, std::size_t operand) {
  const DType dtype = args.operands[operand].dtype();
  if (dtype.is_float()) return {};
  return refuse(args, Code::kDtypeMismatch, "needs a floating-point operand, found {}",
                to_string(dtype));
}

Result<void> expect_int(const InferArgs& args, std::size_t operand) {
  const DType dtype = args.operands[operand].dtype();
  if (dtype.is_int()) return {};
  return refuse(args, Code::kDtypeMismatch, "needs integers as operand {}, found {}", operand + 1,
                to_string(dtype));
}

Result<void> expect_same_dtype(const InferArgs& args) {
  for (const Type& t : args.operands) {
    if (t.dtype() != args.operands[0].dtype()) {
      return refuse(args, Code::kDtypeMismatch, "operand types differ: {} vs {}",
                    to_string(args.operands[0].dtype()), to_string(t.dtype()));
    }
  }
  return {};
}

Result<void> expect_covered(const InferArgs& args, std::int64_t axis, std::size_t of,
                            std::string_view what) {
  const Shape &whole = args.operands[0].shape(), &part = args.operands[of].shape();
  const std::int64_t except = front_axis(axis, whole.size());
  for (std::size_t d = 0; d < whole.size(); ++d) {
    const auto size = whole[d].as_constant(), wanted = part[d].as_constant();
    if (static_cast<std::int64_t>(d) == except || !size || !wanted || *wanted <= *size) continue;
    return refuse(args, Code::kShapeMismatch,
                  "has {} of the shape {} for a tensor of the shape {}: dimension {} is larger",
                  what, to_string(part), to_string(whole), d);
  }
  return {};
}

Result<Dim> agreed(const InferArgs& args, const Dim& a, const Dim& b, std::string_view what) {
  const Tri equal = provably_equal(a, b);
  if (equal == Tri::kNo) {
    return refuse(args, Code::kShapeMismatch, "{} differ: {} vs {}", what, to_string(a),
                  to_string(b));
  }
  if (equal == Tri::kMaybe && args.agreements != nullptr) {
    args.agreements->push_back({a, b, std::string(what)});
  }
  if (a.is_constant()) return a;
  return b.is_constant() || a.is_unknown() ? b : a;
}

Result<Dim> broadcast_dim(const InferArgs& args, const Dim& a, const Dim& b, const Shape& left,
                          const Shape& right) {
  if (a == Dim(1)) return b;
  if (b == Dim(1) || (a.is_symbolic() && a == b)) return a;
  if (a.is_constant() && b.is_constant() && !(a == b)) {
    return refuse(args, Code::kShapeMismatch, "shapes do not broadcast: {} vs {}", to_string(left),
                  to_string(right));
  }
  if (a.is_constant()) return a;  // the other is 1 or the same at run time
  if (b.is_constant()) return b;
  if (broadcasts_to(b, a)) return a;
  if (broadcasts_to(a, b)) return b;
  return Dim::unknown();
}

Result<Shape> broadcast_shapes(const InferArgs& args, const Shape& a, const Shape& b) {
  const std::size_t rank = std::max(a.size(), b.size());
  Shape out(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    const Dim x = i < rank - a.size() ? Dim(1) : a[i - (rank - a.size())];
    const Dim y = i < rank - b.size() ? Dim(1) : b[i - (rank - b.size())];
    TESSERA_TRY(out[i], broadcast_dim(args, x, y, a, b));
  }
  return out;
}

Result<Type> same_as_first(const InferArgs& args) { return args.operands[0]; }

Result<Type> float_as_first(const InferArgs& args) {
  TESSERA_TRY_VOID(expect_float(args, 0));
  return args.operands[0];
}

std::optional<Ints> constant_ints(const InferArgs& args, std::size_t operand) {
  if (operand >= args.values.size() || args.values[operand] == nullptr) return std::nullopt;
  const Tensor& t = *args.values[operand];
  Ints values(static_cast<std::size_t>(t.num_elements()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = element_as_int(t, static_cast<std::int64_t>(i));
  }
  return values;
}

Result<Type> infer_mark(const relay::InferArgs& args) { return args.operands[0]; }
bool is_mark(const relay::Operator& op) { return op.infer == infer_mark; }

}  // namespace tessera::ops
