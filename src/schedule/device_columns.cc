// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "schedule/device.h"
#include "schedule/element_sum.h"
#include "tir/device_loops.h"
#include "tir/walk.h"

namespace tessera::schedule {
namespace {

using tir::Buffer;
using tir::Expr;
using tir::ForKind;
using tir::Stmt;

constexpr std::int64_t kMinTerms = 64;

// Of what differs between the results of the innermost loop: are neighbours along it so in memory,
// and terms of one sum nowhere?
bool runs_along_results(const ElementSum& s) {
  std::vector<Loop> all = s.loops;
  all.insert(all.end(), s.reduction.loops.begin(), s.reduction.loops.end());
  bool some = false;
  for (const Access& a : loads(s.reduction.value, bounds_of(all))) {
    const auto runs = [&](const Loop& l) { return a.offset.coefficient(l.var) == 1; };
    if (a.offset.hides(s.loops.back().var)) return false;
    if (a.offset.coefficient(s.loops.back().var) == 0) continue;
    if (std::any_of(s.reduction.loops.begin(), s.reduction.loops.end(), runs)) return false;
    some |= runs(s.loops.back());
  }
  return some;
}

bool can_be_shared(const tir::Expr& step) {
  return step.as<tir::Add>() != nullptr || step.as<tir::Mul>() != nullptr ||
         step.as<tir::Max>() != nullptr || step.as<tir::Min>() != nullptr;
}

// How many neighbours a block sums: a vector's, of the widest element.
std::int64_t columns_of(const ElementSum& s) {
  std::int64_t bytes = 2;
  for (const Access& a : loads(s.reduction.value, {})) {
    bytes = std::max<std::int64_t>(bytes, a.buffer->dtype.size_bytes());
  }
  std::int64_t columns = 16 / bytes;
  while (s.loops.back().size() % columns != 0) columns /= 2;
  return columns;
}

// The threads of a block go through the terms, each with a vector of neighbouring columns.
Stmt block_of_columns(const ElementSum& s, std::int64_t columns) {
  std::vector<Loop> blocks = s.loops;
  Loop& last = blocks.back();
  last = {tir::make_var("columns"), last.size() / columns};
  const Expr &own = s.loops.back().var, t = tir::make_var("t"), v = tir::make_var("v");
  const Reduction& r = s.reduction;
  const Buffer terms =
      tir::make_buffer("terms", r.value.dtype(), {Expr(columns)}, tir::MemoryScope::kStack);
  tir::VarMap at = iteration(r.loops, t);
  at[own.get()] = last.var * columns + v;
  std::vector<Stmt> each = {
      tir::For::make(v, Expr(0), Expr(columns), ForKind::kVectorized,
                     tir::Store::make(terms, std::vector<Expr>{v}, tir::substitute(r.value, at)))};
  std::vector<Buffer> sums;
  std::vector<Stmt> start, finish;
  const std::vector<Expr> none;
  for (std::int64_t c = 0; c < columns; ++c) {
    const Buffer sum =
        tir::make_buffer(r.target->name + "_sum", r.target->dtype, {}, tir::MemoryScope::kStack);
    sums.push_back(sum);
    start.push_back(tir::Store::make(sum, none, r.identity));
    each.push_back(tir::Store::make(
        sum, none, tir::binary(r.step.kind(), tir::load(sum, {}), tir::load(terms, {Expr(c)}))));
    finish.push_back(tir::with_fresh_definitions(
        tir::substitute(s.results(sum, {}), {{own.get(), last.var * columns + c}})));
  }
  Stmt body = tir::seq({tir::seq(start),
                        tir::For::make(t, Expr(0), iterations(r.loops), ForKind::kThreads,
                                       tir::Allocate::make(terms, tir::seq(each))),
                        tir::seq(finish)});
  for (const Buffer& b : sums) body = tir::Allocate::make(b, body);
  const Expr block = tir::make_var("block");
  return tir::For::make(block, Expr(0), iterations(blocks), ForKind::kBlocks,
                        tir::substitute(body, iteration(blocks, block)));
}

}  // namespace

std::optional<Stmt> device_columns(const Nest& nest, const Device& device) {
  const auto s = as_element_sum(nest);
  if (!s || s->loops.empty() || s->loops.back().size() < 1) return std::nullopt;
  if (!runs_along_results(*s) || !can_be_shared(s->reduction.step)) return std::nullopt;
  const Expr results = iterations(s->loops), terms = iterations(s->reduction.loops);
  const std::int64_t *many = tir::as_int(results), *length = tir::as_int(terms);
  if (length == nullptr || *length < kMinTerms) return std::nullopt;
  if (many != nullptr && *many >= device.threads * 2) return std::nullopt;
  return block_of_columns(*s, columns_of(*s));
}

}  // namespace tessera::schedule
