// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "ops/records/reshape.h"

namespace tessera::ops {
namespace {

// A run [from_begin, from_end) of one shape that holds as much as [to_begin, to_end) of the other.
struct Run {
  std::size_t from_begin = 0, from_end = 0, to_begin = 0, to_end = 0;
};

// Which of two products of sizes takes the next dimension so that they meet; nothing where that is
// not known.
enum class Side : std::uint8_t { kLeft, kRight };
std::optional<Side> side_behind(const Dim& left, const Dim& right) {
  if (left.is_constant() && right.is_constant()) {
    if (left == Dim(0) || right == Dim(0)) return std::nullopt;
    return left.constant() <= right.constant() ? Side::kLeft : Side::kRight;
  }
  if (left == right || floor_mod(right, left) == Dim(0)) return Side::kLeft;
  if (floor_mod(left, right) == Dim(0)) return Side::kRight;
  return std::nullopt;
}

// The shortest runs; what cannot be told apart is one run with all that follows.
std::vector<Run> matching_runs(const Shape& from, const Shape& to) {
  std::vector<Run> runs;
  Run run;
  while (run.from_end < from.size() || run.to_end < to.size()) {
    Dim left = 1, right = 1;
    do {  // ones at the end go to the last run
      const bool more_left = run.from_end < from.size(), more_right = run.to_end < to.size();
      const auto behind = side_behind(left, right);
      if (!behind || (!more_left && !more_right)) {
        runs.push_back({run.from_begin, from.size(), run.to_begin, to.size()});
        return runs;
      }
      if (more_left && (*behind == Side::kLeft || !more_right)) {
        left = left * from[run.from_end++];
      } else {
        right = right * to[run.to_end++];
      }
    } while (!(left == right) || left == Dim(0));
    runs.push_back(run);
    run = {run.from_end, run.from_end, run.to_end, run.to_end};
  }
  return runs;
}

// Appends the indices of from[run] for the element at[run].
void map_run(const Run& run, const std::vector<Expr>& from, const std::vector<Expr>& to,
             const Indices& at, Indices& out) {
  Expr flat = 0;
  for (std::size_t i = run.to_begin; i < run.to_end; ++i) {
    if (!tir::is_int(to[i], 1)) flat = tir::is_int(flat, 0) ? at[i] : flat * to[i] + at[i];
  }
  Expr inner = 1;  // the product of the sizes that follow
  std::vector<Expr> inners(run.from_end - run.from_begin);
  for (std::size_t i = run.from_end; i-- > run.from_begin;) {
    inners[i - run.from_begin] = inner;
    inner = inner * from[i];
  }
  bool first = true;
  for (std::size_t i = run.from_begin; i < run.from_end; ++i) {
    if (tir::is_int(from[i], 1)) {
      out.push_back(0);
      continue;
    }
    const Expr& step = inners[i - run.from_begin];
    Expr index = tir::is_int(step, 1) ? flat : tir::floor_div(flat, step);
    out.push_back(first ? index : tir::floor_mod(index, from[i]));
    first = false;
  }
}

// Literals as numbers; of other expressions nothing is known.
Shape known_sizes(const std::vector<Expr>& shape) {
  Shape dims;
  for (const Expr& e : shape) {
    const std::int64_t* n = tir::as_int(e);
    dims.push_back(n != nullptr ? Dim(*n) : Dim::unknown());
  }
  return dims;
}

Indices indices_by(const std::vector<Run>& runs, const std::vector<Expr>& from,
                   const std::vector<Expr>& to, const Indices& at) {
  Indices out;
  for (const Run& run : runs) map_run(run, from, to, at, out);
  return out;
}

}  // namespace

Indices reshaped_index(const std::vector<Expr>& from, const std::vector<Expr>& to,
                       const Indices& at) {
  return indices_by(matching_runs(known_sizes(from), known_sizes(to)), from, to, at);
}

std::vector<Tensor> eval_reshape(const EvalArgs& args) {
  return {reshaped(args.operands[0], static_shape(args.result))};
}

Definitions compute_reshape(const ComputeArgs& args) {
  const std::vector<Expr>& from = args.operands[0].shape();
  const std::vector<Expr> to = result_shape(args);
  const std::vector<Run> runs = matching_runs(args.operand_types[0].shape(), args.result.shape());
  return define(args, "y",
                [&](const Indices& i) { return args.operands[0](indices_by(runs, from, to, i)); });
}

}  // namespace tessera::ops
