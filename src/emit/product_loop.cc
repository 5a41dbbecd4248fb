// SPDX-License-Identifier: Apache-2.0
#include "emit/product_loop.h"

#include <utility>

#include "emit/flat_offset.h"
#include "tir/compare.h"
#include "tir/expr_ops.h"
#include "tir/walk.h"

namespace tessera::emit {
namespace {

using tir::Expr;
using Place = ProductLoop::Place;

// Reads of 16 bits that are multiplied in 32, in either order.
struct Factors {
  const tir::Load *first = nullptr, *second = nullptr;
};

const tir::Load* widened_load(const Expr& e) {
  const auto* cast = e.as<tir::Cast>();
  const auto* load = cast != nullptr ? cast->value.as<tir::Load>() : nullptr;
  if (load == nullptr) return nullptr;
  const bool is_widened = (cast->dtype == kFloat32 && load->dtype == kBFloat16) ||
                          (cast->dtype == kInt32 && load->dtype == kInt16);
  return is_widened ? load : nullptr;
}

Factors factors_of(const Expr& e) {
  const auto* product = e.as<tir::Mul>();
  if (product == nullptr) return {};
  return {widened_load(product->a), widened_load(product->b)};
}

// Places in memory as sums, seen from the loop.
class Places {
 public:
  Places(const tir::For& loop, const tir::Bounds& bounds) : loop_(loop), bounds_(bounds) {}

  // Elements from one lane to the next; nothing where that is no number.
  std::optional<std::int64_t> step(const tir::Load& load) const {
    const tir::IndexForm place = place_of(load);
    if (place.hides(loop_.var)) return std::nullopt;
    return place.coefficient(loop_.var);
  }
  bool is_next(const tir::Load& before, const tir::Load& load) const {
    if (before.buffer != load.buffer) return false;
    const tir::IndexForm gap = tir::add(place_of(load), place_of(before), -1);
    return gap.terms.empty() && gap.constant == 1;
  }
  Place first(const tir::Load& load) const {
    std::vector<Expr> indices;
    for (const Expr& e : load.indices) {
      indices.push_back(tir::substitute(e, {{loop_.var.get(), Expr(0)}}));
    }
    return {load.buffer, std::move(indices)};
  }

 private:
  tir::IndexForm place_of(const tir::Load& load) const {
    return tir::index_form(flat_offset(load.buffer, load.indices), bounds_);
  }

  const tir::For& loop_;
  const tir::Bounds& bounds_;
};

}  // namespace

std::optional<ProductLoop> as_product_loop(const tir::For& loop, const tir::Bounds& bounds) {
  const std::int64_t* lanes = tir::as_int(loop.extent);
  const auto* store = loop.body.as<tir::Store>();
  if (lanes == nullptr || !is_int(loop.min, 0) || store == nullptr) return std::nullopt;
  const auto* sum = store->value.as<tir::Add>();
  const auto* inner = sum != nullptr ? sum->a.as<tir::Add>() : nullptr;
  const auto* acc = inner != nullptr ? inner->a.as<tir::Load>() : nullptr;
  if (acc == nullptr || acc->buffer != store->buffer) return std::nullopt;
  for (std::size_t i = 0; i < acc->indices.size(); ++i) {
    if (!tir::equal(acc->indices[i], store->indices[i])) return std::nullopt;
  }
  Factors x = factors_of(inner->b), y = factors_of(sum->b);
  if (x.first == nullptr || x.second == nullptr || y.first == nullptr || y.second == nullptr) {
    return std::nullopt;
  }
  const Places places(loop, bounds);
  if (places.step(*x.first) != 0) std::swap(x.first, x.second);
  if (places.step(*y.first) != 0) std::swap(y.first, y.second);
  const DType narrow = x.first->dtype;
  const bool fits = x.second->dtype == narrow && y.first->dtype == narrow &&
                    y.second->dtype == narrow && places.step(*acc) == 1 &&
                    places.step(*x.first) == 0 && places.step(*y.first) == 0 &&
                    places.step(*x.second) == 2 && places.step(*y.second) == 2 &&
                    places.is_next(*x.first, *y.first) && places.is_next(*x.second, *y.second);
  if (!fits) return std::nullopt;
  return ProductLoop{*lanes, places.first(*acc), places.first(*x.first), places.first(*x.second)};
}

}  // namespace tessera::emit
