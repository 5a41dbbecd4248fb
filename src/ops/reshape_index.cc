// SPDX-License-Identifier: Apache-2.0
#include "ops/reshape.h"

namespace tessera::ops {
namespace {

// A run [from_begin, from_end) of one shape that holds as much as [to_begin, to_end) of the other.
struct Run {
  std::size_t from_begin = 0, from_end = 0, to_begin = 0, to_end = 0;
};

// Any shape with a size that is no literal is one run.
std::vector<Run> matching_runs(const std::vector<Expr>& from, const std::vector<Expr>& to) {
  for (const auto* shape : {&from, &to}) {
    for (const Expr& d : *shape) {
      const std::int64_t* n = tir::as_int(d);
      if (n == nullptr || *n == 0) return {{0, from.size(), 0, to.size()}};
    }
  }
  std::vector<Run> runs;
  Run run;
  while (run.from_end < from.size() || run.to_end < to.size()) {
    std::int64_t left = 1, right = 1;
    do {  // the side that lags behind takes its next dimension; ones at the end go to the last run
      const bool more_left = run.from_end < from.size();
      const bool more_right = run.to_end < to.size();
      if (more_left && (left <= right || !more_right)) {
        left *= *tir::as_int(from[run.from_end++]);
      } else if (more_right) {
        right *= *tir::as_int(to[run.to_end++]);
      }
    } while (left != right);
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
  Expr inner = 1;  // the product of the sizes behind
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

}  // namespace

Indices reshaped_index(const std::vector<Expr>& from, const std::vector<Expr>& to,
                       const Indices& at) {
  Indices out;
  for (const Run& run : matching_runs(from, to)) map_run(run, from, to, at, out);
  return out;
}

std::vector<Tensor> eval_reshape(const EvalArgs& args) {
  return {reshaped(args.operands[0], static_shape(args.result))};
}

Definitions compute_reshape(const ComputeArgs& args) {
  const std::vector<Expr> to = result_shape(args);
  return define(args, "y", [&](const Indices& i) {
    return args.operands[0](reshaped_index(args.operands[0].shape(), to, i));
  });
}

}  // namespace tessera::ops
