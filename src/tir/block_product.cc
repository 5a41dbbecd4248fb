// SPDX-License-Identifier: Apache-2.0
#include "tir/block_product.h"

#include <algorithm>

#include "tir/compare.h"
#include "tir/device_loops.h"
#include "tir/simplify.h"
#include "tir/walk.h"

namespace tessera::tir {
namespace {

const Load* narrow_load(const Expr& e) {
  const auto* wider = e.as<Cast>();
  return wider == nullptr ? nullptr : wider->value.as<Load>();
}

bool is_matrix_of_batches(const Buffer& b) {
  return b->shape.size() == 3 && b->strides.empty() &&
         std::all_of(b->shape.begin(), b->shape.end(),
                     [](const Expr& e) { return as_int(e) != nullptr; });
}

bool fits(const BlockProduct& p) {
  const DType type = p.a->dtype;
  for (const Buffer* b : {&p.a, &p.b, &p.sums}) {
    if (!is_matrix_of_batches(*b)) return false;
  }
  return (type == kFloat16 || type == kBFloat16) && p.b->dtype == type &&
         p.sums->dtype == kFloat32 && p.term_places() % kAlignedPlaces == 0 &&
         p.terms() <= p.term_places() && *as_int(p.b->shape[2]) == p.all_columns() &&
         p.all_rows() % p.rows == 0 && p.all_columns() % p.columns == 0;
}

// The operands and the target, with the place of the first of the loop's iterations.
std::optional<BlockProduct> look_into(const For& loop) {
  BlockProduct p;
  VarMap first{{loop.var.get(), Expr(0)}};
  const Store* result = nullptr;
  const Mul* term = nullptr;
  for_each_node(loop.body, [&](const Stmt& s) {
    if (const auto* let = s.as<LetStmt>()) {
      first[let->var.get()] = substitute(let->value, first);
    } else if (const auto* store = s.as<Store>()) {
      if (store->indices.size() == 3) result = store;
      const auto* sum = store->value.as<Add>();
      if (sum != nullptr) term = sum->b.as<Mul>();
    }
  });
  const Load* a = term == nullptr ? nullptr : narrow_load(term->a);
  const Load* b = term == nullptr ? nullptr : narrow_load(term->b);
  if (a == nullptr || b == nullptr || result == nullptr) return std::nullopt;
  p.a = a->buffer;
  p.b = b->buffer;
  p.sums = result->buffer;
  p.batch = substitute(result->indices[0], first);
  p.first_row = substitute(result->indices[1], first);
  p.first_column = substitute(result->indices[2], first);
  return p;
}

}  // namespace

std::int64_t BlockProduct::terms() const { return *as_int(b->shape[1]); }
std::int64_t BlockProduct::term_places() const { return *as_int(a->shape[2]); }
std::int64_t BlockProduct::all_rows() const { return *as_int(sums->shape[1]); }
std::int64_t BlockProduct::all_columns() const { return *as_int(sums->shape[2]); }

Stmt block_product(const BlockProduct& p) {
  const Expr e = make_var("e"), row = make_var("row"), column = make_var("column");
  const Expr k = make_var("k"), across(p.columns);
  const Buffer acc = make_buffer("acc", kFloat32, {}, MemoryScope::kStack);
  const Expr term = cast(load(p.a, {p.batch, row, k}), kFloat32) *
                    cast(load(p.b, {p.batch, k, column}), kFloat32);
  const std::vector<Expr> none;
  const Stmt sum = Allocate::make(
      acc, seq({Store::make(acc, none, float_imm(0)),
                For::make(k, Expr(0), Expr(p.terms()), ForKind::kSerial,
                          Store::make(acc, none, load(acc, {}) + term)),
                Store::make(p.sums, std::vector<Expr>{p.batch, row, column}, load(acc, {}))}));
  return For::make(
      e, Expr(0), Expr(p.rows * p.columns), ForKind::kThreads,
      LetStmt::make(row, p.first_row + floor_div(e, across),
                    LetStmt::make(column, p.first_column + floor_mod(e, across), sum)));
}

std::optional<BlockProduct> as_block_product(const For& loop, const Bounds& bounds) {
  const std::int64_t* extent = as_int(loop.extent);
  if (loop.loop != ForKind::kThreads || extent == nullptr) return std::nullopt;
  auto p = look_into(loop);
  if (!p) return std::nullopt;
  for (Expr* place : {&p->batch, &p->first_row, &p->first_column}) {
    *place = simplify(*place, bounds);
  }
  for (const BlockTile& tile : kBlockTiles) {
    if (tile.rows * tile.columns != *extent) continue;
    p->rows = tile.rows;
    p->columns = tile.columns;
    const Stmt again = simplify(block_product(*p), bounds);
    if (fits(*p) && equal(again, Stmt(Ref<const StmtNode>(&loop)))) return p;
  }
  return std::nullopt;
}

}  // namespace tessera::tir
