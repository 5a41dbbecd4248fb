// SPDX-License-Identifier: Apache-2.0
#include "schedule/winograd_convolution.h"

#include <algorithm>

#include "tir/walk.h"

namespace tessera::schedule {
namespace {

using tir::Expr;
using tir::Stmt;

constexpr std::int64_t kWindow = 3;

bool has_known_sizes(const std::vector<Loop>& loops) {
  return std::all_of(loops.begin(), loops.end(), [](const Loop& l) { return l.size() > 0; });
}

bool is_sum_from_zero(const Reduction& r) {
  const auto* start = r.identity.as<tir::FloatImm>();
  return is_sum_of_products(r) && r.target->dtype == kFloat32 && start != nullptr &&
         start->value == 0;
}

// The loops of a convolution find their roles.
class RoleFinder {
 public:
  // `data`, `weight`: loads.
  RoleFinder(const Nest& nest, const Reduction& r, const Expr& data, const Expr& weight)
      : nest_(nest),
        r_(r),
        data_of_(data),
        weight_of_(weight),
        data_(*data.as<tir::Load>()),
        weight_(*weight.as<tir::Load>()) {
    std::vector<Loop> all = nest.loops;
    all.insert(all.end(), r.loops.begin(), r.loops.end());
    bounds_ = bounds_of(all);
    weight_place_ = offset_form(weight_.buffer, weight_.indices, bounds_);
  }

  std::optional<WinogradConvolution> run() {
    if (!find_windows() || !find_channels()) return std::nullopt;
    const auto axis = [&](const Loop& l) {
      return Axis{l.size(), weight_place_.coefficient(l.var)};
    };
    c_.places = {weight_place_.constant, axis(c_.out), axis(c_.in), axis(c_.window_row),
                 axis(c_.window_column)};
    // Nothing else moves the weight.
    for (const tir::IndexTerm& term : weight_place_.terms) {
      const auto is = [&](const Loop& l) { return term.atom.same_as(l.var); };
      if (!is(c_.out) && !is(c_.in) && !is(c_.window_row) && !is(c_.window_column)) {
        return std::nullopt;
      }
    }
    c_.weight = weight_.buffer;
    return std::move(c_);
  }

 private:
  // The dimensions of the data that a window moves over: `row + r` and no more.
  bool find_windows() {
    int found = 0;
    for (const Expr& index : data_.indices) {
      const tir::IndexForm form = tir::index_form(index, bounds_);
      if (form.terms.size() != 2 || form.constant != 0) continue;
      const Loop *step = nullptr, *place = nullptr;
      for (const Loop& k : r_.loops) {
        if (k.size() == kWindow && form.coefficient(k.var) == 1) step = &k;
      }
      for (const Loop& l : nest_.loops) {
        if (form.coefficient(l.var) == 1) place = &l;
      }
      if (step == nullptr || place == nullptr || found == 2) continue;
      (found == 0 ? c_.window_row : c_.window_column) = *step;
      (found == 0 ? c_.row : c_.column) = *place;
      ++found;
    }
    return found == 2 && is_nowhere_else(c_.row) && is_nowhere_else(c_.column) &&
           is_nowhere_else(c_.window_row) && is_nowhere_else(c_.window_column);
  }

  // Does one dimension of the data alone move with the loop?
  bool is_nowhere_else(const Loop& l) const {
    return std::count_if(data_.indices.begin(), data_.indices.end(),
                         [&](const Expr& index) { return tir::uses_var(index, l.var); }) == 1;
  }

  bool find_channels() {
    int outs = 0, ins = 0;
    for (const Loop& l : nest_.loops) {
      if (is(l, c_.row) || is(l, c_.column)) continue;
      if (!moves_with(weight_of_, l)) {
        c_.batch.push_back(l);
      } else {
        c_.out = l;
        outs += moves_with(data_of_, l) ? 2 : 1;  // channels in groups move both
      }
    }
    for (const Loop& l : r_.loops) {
      if (is(l, c_.window_row) || is(l, c_.window_column)) continue;
      c_.in = l;
      ++ins;
    }
    return outs == 1 && ins == 1 && moves_with(data_of_, c_.in) && moves_with(weight_of_, c_.in);
  }
  static bool is(const Loop& a, const Loop& b) { return a.var.same_as(b.var); }

  const Nest& nest_;
  const Reduction& r_;
  const Expr &data_of_, &weight_of_;
  const tir::Load &data_, &weight_;
  tir::Bounds bounds_;
  tir::IndexForm weight_place_;
  WinogradConvolution c_;
};

// The load itself, where it is made wider.
Expr read_of(const Expr& operand) {
  const auto* wider = operand.as<tir::Cast>();
  return wider != nullptr && load_of(operand) != nullptr ? wider->value : operand;
}

}  // namespace

Expr WinogradConvolution::element(const Expr& y, const Expr& x) const {
  return tir::substitute(data, {{row.var.get(), y},
                                {window_row.var.get(), Expr(0)},
                                {column.var.get(), x},
                                {window_column.var.get(), Expr(0)}});
}

std::optional<WinogradConvolution> recognise_winograd(std::span<const Stmt> nests,
                                                      const Surroundings& around) {
  const Nest nest = peel(nests[0]);
  const auto r = as_reduction(nest.body);
  if (!r || r->loops.size() != 3 || !is_sum_from_zero(*r)) return std::nullopt;
  if (!has_known_sizes(nest.loops) || !has_known_sizes(r->loops)) return std::nullopt;
  const auto* product = r->value.as<tir::Mul>();
  if (product == nullptr) return std::nullopt;
  for (const bool swapped : {false, true}) {
    const Expr data = read_of(swapped ? product->b : product->a);
    const Expr weight = read_of(swapped ? product->a : product->b);
    const auto* d = data.as<tir::Load>();
    const auto* w = weight.as<tir::Load>();
    if (d == nullptr || w == nullptr || d->buffer == r->target) continue;
    if (d->dtype != w->dtype) continue;
    if (!around.is_constant(w->buffer)) continue;
    auto c = RoleFinder(nest, *r, data, weight).run();
    if (!c) continue;
    c->data = data;
    c->product.target = r->target;
    c->product.indices = r->indices;
    c->product.epilogue = take_epilogue(c->product, nest, *r, nests, around.temporaries);
    return c;
  }
  return std::nullopt;
}

}  // namespace tessera::schedule
