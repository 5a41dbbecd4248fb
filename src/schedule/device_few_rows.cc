// SPDX-License-Identifier: Apache-2.0
// Products of few rows: time goes by the bytes of the matrix. A block makes some columns of all
// rows, and the sums are made in the form of tir/few_rows.h, which emitters have tensor cores for.
#include <algorithm>

#include "schedule/accumulator.h"
#include "schedule/contraction.h"
#include "schedule/device.h"
#include "tir/compare.h"
#include "tir/few_rows.h"
#include "tir/simplify.h"

namespace tessera::schedule {
namespace {

using tir::Buffer;
using tir::Expr;
using tir::ForKind;
using tir::Stmt;

constexpr std::int64_t kMinColumns = 64;  // of a matrix as it lies in memory; for fewer, and for
constexpr std::int64_t kMinTermsOfFewRows =
    128;                                   // shorter sums, a launch takes longer than reading it
constexpr std::int64_t kAlignedTerms = 8;  // rows of which begin where vectors do

struct RowsProduct {
  tir::FewRows matrix;
  std::vector<Loop> rows;
  Loop column;
  Reduction reduction;

  Expr num_rows() const { return iterations(rows); }
};

bool is_worth_it(const RowsProduct& p) {
  if (p.matrix.has_words()) return true;
  const Expr all = p.num_rows();
  const std::int64_t* rows = tir::as_int(all);
  return rows != nullptr && *rows >= 1 && *rows <= tir::kFewRows &&
         p.column.size() >= kMinColumns && p.matrix.terms() >= kMinTermsOfFewRows &&
         p.matrix.terms() % kAlignedTerms == 0;
}

// Are the rows of the product those of the data, in their order?
bool has_rows_of_data(const RowsProduct& p, const tir::Bounds& bounds) {
  const Buffer& data = p.matrix.data;
  const Expr row = tir::make_var("row");
  const tir::VarMap at = iteration(p.rows, row);
  tir::Bounds inside = bounds;
  inside.set_loop(row, Expr(0), p.num_rows());
  bool found = false, same = true;
  for (const Access& a : loads(p.reduction.value, bounds)) {
    if (a.buffer != data) continue;
    found = true;
    const std::vector<Expr> wanted = tir::row_indices(data, row);
    for (std::size_t d = 0; d < wanted.size(); ++d) {
      const Expr index = tir::substitute(a.indices[d], at);
      same &= tir::equal(tir::simplify(index, inside), tir::simplify(wanted[d], inside));
    }
  }
  return found && same && data->strides.empty() && p.matrix.weight->strides.empty();
}

std::optional<RowsProduct> recognise(const Nest& nest) {
  auto r = as_reduction(nest.body);
  if (!r || r->loops.size() != 1 || nest.loops.empty() || r->target->dtype != kFloat32 ||
      r->step.as<tir::Add>() == nullptr || r->update.as<tir::Store>() == nullptr) {
    return std::nullopt;
  }
  const Loop k = r->loops[0];
  const auto matrix = tir::as_few_rows_term(r->value, k.var);
  if (!matrix || k.size() != matrix->terms()) return std::nullopt;
  RowsProduct p{
      *matrix, {nest.loops.begin(), nest.loops.end() - 1}, nest.loops.back(), *std::move(r)};
  std::vector<Loop> all = nest.loops;
  all.push_back(k);
  const tir::Bounds bounds = bounds_of(all);
  std::vector<Expr> row;
  for (const Access& a : loads(p.reduction.value, bounds)) {
    if (a.buffer == p.matrix.data) row.assign(a.indices.begin(), a.indices.end() - 1);
  }
  const Expr again = tir::few_rows_term(p.matrix, row, p.column.var, k.var);
  const bool same =
      tir::equal(tir::simplify(again, bounds), tir::simplify(p.reduction.value, bounds));
  const bool fits = p.column.size() > 1 && p.column.size() <= p.matrix.columns();
  if (!same || !fits || !is_worth_it(p) || !has_rows_of_data(p, bounds)) return std::nullopt;
  return p;
}

class Blocks {
 public:
  Blocks(const RowsProduct& p, std::vector<Stmt> epilogue, bool keeps_target)
      : p_(p), epilogue_(std::move(epilogue)), keeps_target_(keeps_target) {
    columns_ = tir::few_rows_columns(p.matrix);
    across_ = p.matrix.columns() / columns_;
  }

  Stmt build() const {
    const Expr tile = tir::make_var("tile");
    const Expr all = p_.num_rows(), few(tir::kFewRows);
    const std::int64_t* known = tir::as_int(all);
    const bool is_one = known != nullptr && *known <= tir::kFewRows;
    const Expr down = is_one ? Expr(1) : tir::floor_div(all + (few - 1), few);
    tir::FewRowsSums sums{p_.matrix, {}, all, Expr(0), tile * Expr(columns_)};
    if (!is_one) {  // blocks that read the same columns follow each other
      sums.first_row = tir::floor_mod(tile, down) * few;
      sums.first_column = tir::floor_div(tile, down) * Expr(columns_);
      sums.rows = tir::min(all - sums.first_row, few);
    }
    sums.sums = tir::make_buffer(p_.reduction.target->name + "_sums", kFloat32,
                                 {Expr(tir::kFewRows), Expr(columns_)}, tir::MemoryScope::kShared);
    const Stmt body = tir::seq({tir::few_rows_sums(sums), finish(sums)});
    return tir::For::make(tile, Expr(0), Expr(across_) * down, ForKind::kBlocks,
                          tir::Allocate::make(sums.sums, body));
  }

 private:
  // What is made of the sums, an element a thread.
  Stmt finish(const tir::FewRowsSums& s) const {
    const Expr e = tir::make_var("e"), row = tir::make_var("row"), column = tir::make_var("column");
    const std::vector<Expr> at = {tir::floor_div(e, Expr(columns_)),
                                  tir::floor_mod(e, Expr(columns_))};
    tir::VarMap values = iteration(p_.rows, row);
    values[p_.column.var.get()] = column;
    const Reduction& r = p_.reduction;
    std::vector<Stmt> stores;
    if (keeps_target_) {
      stores.push_back(tir::Store::make(r.target, r.indices, tir::load(s.sums, at)));
    }
    ToAccumulator to(r.target, s.sums, at);
    for (const Stmt& each : epilogue_) stores.push_back(to.mutate(each));
    Stmt body = tir::substitute(tir::seq(std::move(stores)), values);
    if (p_.column.size() < p_.matrix.columns()) {
      body = tir::IfThenElse::make(tir::lt(column, p_.column.extent), body, Stmt());
    }
    return tir::For::make(
        e, Expr(0), s.rows * Expr(columns_), ForKind::kThreads,
        tir::LetStmt::make(row, s.first_row + at[0],
                           tir::LetStmt::make(column, s.first_column + at[1], body)));
  }

  const RowsProduct& p_;
  std::vector<Stmt> epilogue_;
  bool keeps_target_;
  std::int64_t columns_ = 0, across_ = 0;  // of a block; blocks of all columns
};

}  // namespace

std::optional<Contraction> device_few_rows(std::span<const Stmt> nests,
                                           const std::vector<Buffer>& temporaries) {
  const Nest nest = peel(nests[0]);
  const auto product = recognise(nest);
  if (!product) return std::nullopt;
  Contraction out;
  out.summary = "few rows";
  const DeviceEpilogue end = device_epilogue(nest, product->reduction, nests, temporaries);
  out.replaced = 1 + end.bodies.size();
  out.nests = {Blocks(*product, end.bodies, end.keeps_target).build()};
  return out;
}

}  // namespace tessera::schedule
