// SPDX-License-Identifier: Apache-2.0
#include "emit/tile_product.h"

#include <algorithm>
#include <utility>

#include "emit/flat_offset.h"
#include "tir/compare.h"
#include "tir/expr_ops.h"
#include "tir/walk.h"

namespace tessera::emit {
namespace {

using tir::Expr;

constexpr std::int64_t kMostRows = 32, kMostColumns = 32;  // of the unit's tiles

std::vector<const tir::For*> nested_loops(const tir::For& outermost) {
  std::vector<const tir::For*> loops;
  for (const tir::For* l = &outermost; l != nullptr; l = l->body.as<tir::For>()) {
    loops.push_back(l);
  }
  return loops;
}

const tir::Load* read_of(const Expr& factor) {
  const auto* cast = factor.as<tir::Cast>();
  return cast != nullptr ? cast->value.as<tir::Load>() : nullptr;
}

bool are_types_of_the_unit(const tir::Load& a, const tir::Load& b, DType sums) {
  if (a.dtype == kBFloat16 && b.dtype == kBFloat16) return sums == kFloat32;
  return a.dtype.is_byte() && b.dtype.is_byte() && sums == kInt32;
}

// The innermost loops of a product by their roles; null: there is none, as it runs once.
struct Roles {
  const tir::For *k = nullptr, *row = nullptr, *column = nullptr;
};

class Recognition {
 public:
  Recognition(const tir::For& loop, const tir::Bounds& bounds)
      : loops_(nested_loops(loop)), bounds_(bounds) {
    for (const tir::For* l : loops_) bounds_.set_loop(l->var, l->min, l->extent);
  }

  std::optional<TileProduct> run() {
    if (!find_factors() || !give_roles()) return std::nullopt;
    TileProduct out;
    out.outer = loops_;
    out.terms = roles_.k->extent;
    out.rows = roles_.row != nullptr ? roles_.row->extent : Expr(1);
    out.columns = roles_.column != nullptr ? roles_.column->extent : Expr(1);
    if (!has_strides(out) || !fits_tiles(out)) return std::nullopt;
    out.sums = first(*sum_);
    out.a = first(*a_);
    out.b = first(*b_);
    return out;
  }

 private:
  // sums[..] = sums[..] + cast(a[..]) * cast(b[..])
  bool find_factors() {
    const auto* store = loops_.back()->body.as<tir::Store>();
    const auto* sum = store != nullptr ? store->value.as<tir::Add>() : nullptr;
    const auto* product = sum != nullptr ? sum->b.as<tir::Mul>() : nullptr;
    sum_ = sum != nullptr ? sum->a.as<tir::Load>() : nullptr;
    if (product == nullptr || sum_ == nullptr || sum_->buffer != store->buffer) return false;
    for (std::size_t i = 0; i < sum_->indices.size(); ++i) {
      if (!tir::equal(sum_->indices[i], store->indices[i])) return false;
    }
    a_ = read_of(product->a);
    b_ = read_of(product->b);
    return a_ != nullptr && b_ != nullptr && are_types_of_the_unit(*a_, *b_, sum_->dtype);
  }

  bool give_roles() {
    const auto take = [&](bool is_of_sums, const tir::Load& with) -> const tir::For* {
      const bool fits = !loops_.empty() && moves(*sum_, *loops_.back()) == is_of_sums &&
                        moves(with, *loops_.back());
      if (!fits) return nullptr;
      const tir::For* found = loops_.back();
      loops_.pop_back();
      return found;
    };
    roles_.column = take(true, *b_);
    roles_.row = take(true, *a_);
    roles_.k = take(false, *a_);
    const bool is_sum =
        std::ranges::none_of(loops_, [&](const tir::For* l) { return moves(*sum_, *l); });
    return roles_.k != nullptr && is_sum;
  }

  bool has_strides(TileProduct& out) const {
    const std::size_t rank = b_->indices.size();
    const std::int64_t n = 4 / b_->dtype.size_bytes();
    if (rank < 3 || !is_int(b_->buffer->shape[rank - 1], n)) return false;
    const Expr& k = roles_.k->var;
    const bool is_packed = tir::equal(b_->indices[rank - 1], tir::floor_mod(k, Expr(n))) &&
                           tir::equal(b_->indices[rank - 3], tir::floor_div(k, Expr(n)));
    const std::int64_t* width = tir::as_int(b_->buffer->shape[rank - 2]);
    if (!is_packed || width == nullptr) return false;
    out.b_stride = *width * n;
    const auto a_row = step(*a_, roles_.row), a_k = step(*a_, roles_.k);
    const auto b_row = step(*b_, roles_.row), b_column = step(*b_, roles_.column);
    const auto a_column = step(*a_, roles_.column);
    const auto sum_row = step(*sum_, roles_.row), sum_column = step(*sum_, roles_.column);
    out.a_stride = a_row.value_or(0);
    const std::int64_t* columns = tir::as_int(out.columns);
    return a_row && a_k == 1 && a_column == 0 && b_row == 0 && columns != nullptr &&
           (roles_.column == nullptr || (b_column == n && sum_column == 1)) &&
           (roles_.row == nullptr || sum_row == *columns);
  }

  bool fits_tiles(const TileProduct& out) const {
    const std::int64_t* columns = tir::as_int(out.columns);
    const tir::Interval rows = tir::range_of(tir::index_form(out.rows, bounds_), bounds_);
    return *columns <= kMostColumns && rows_are_few(out.rows, rows);
  }

  static bool rows_are_few(const Expr& rows, const tir::Interval& range) {
    if (range.has_max()) return range.max <= kMostRows;
    const auto* least = rows.as<tir::Min>();
    if (least == nullptr) return false;
    const std::int64_t *a = tir::as_int(least->a), *b = tir::as_int(least->b);
    return (a != nullptr && *a <= kMostRows) || (b != nullptr && *b <= kMostRows);
  }

  bool moves(const tir::Load& load, const tir::For& loop) const {
    const tir::IndexForm place = place_of(load);
    return place.hides(loop.var) || place.coefficient(loop.var) != 0;
  }

  // Elements from one iteration to the next; nothing where that is no number.
  std::optional<std::int64_t> step(const tir::Load& load, const tir::For* loop) const {
    if (loop == nullptr) return 0;
    const tir::IndexForm place = place_of(load);
    if (place.hides(loop->var)) return std::nullopt;
    return place.coefficient(loop->var);
  }

  tir::IndexForm place_of(const tir::Load& load) const {
    return tir::index_form(flat_offset(load.buffer, load.indices), bounds_);
  }

  TileProduct::Place first(const tir::Load& load) const {
    tir::VarMap zero;
    for (const tir::For* l : {roles_.k, roles_.row, roles_.column}) {
      if (l != nullptr) zero[l->var.get()] = Expr(0);
    }
    std::vector<Expr> indices;
    for (const Expr& e : load.indices) indices.push_back(tir::substitute(e, zero));
    return {load.buffer, std::move(indices)};
  }

  std::vector<const tir::For*> loops_;
  tir::Bounds bounds_;
  Roles roles_;
  const tir::Load *sum_ = nullptr, *a_ = nullptr, *b_ = nullptr;
};

}  // namespace

std::optional<TileProduct> as_tile_product(const tir::For& loop, const tir::Bounds& bounds) {
  return Recognition(loop, bounds).run();
}

bool is_zero_of(const tir::Stmt& s, const TileProduct& product) {
  const tir::Stmt* inside = &s;
  std::vector<Expr> extents, places;
  while (const auto* loop = inside->as<tir::For>()) {
    if (!is_int(loop->min, 0)) return false;
    extents.push_back(loop->extent);
    places.push_back(loop->var);
    inside = &loop->body;
  }
  const auto* store = inside->as<tir::Store>();
  if (store == nullptr || store->buffer != product.sums.buffer) return false;
  const auto* value = store->value.as<tir::FloatImm>();
  const bool is_zero = is_int(store->value, 0) || (value != nullptr && value->value == 0);
  std::vector<Expr> wanted;
  for (const Expr& e : {product.rows, product.columns}) {
    if (!is_int(e, 1)) wanted.push_back(e);
  }
  std::vector<Expr> indices = store->indices;
  std::erase_if(indices, [](const Expr& e) { return is_int(e, 0); });
  const auto are_equal = [](const std::vector<Expr>& x, const std::vector<Expr>& y) {
    return std::ranges::equal(x, y, [](const Expr& a, const Expr& b) { return tir::equal(a, b); });
  };
  return is_zero && are_equal(wanted, extents) && are_equal(indices, places);
}

}  // namespace tessera::emit
