// SPDX-License-Identifier: Apache-2.0
#include "emit/product_loop.h"

#include <utility>

#include "tir/compare.h"
#include "tir/walk.h"

namespace tessera::emit {
namespace {

using tir::Expr;

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

LanePlace place_of(const tir::Load* load) { return {load->buffer, load->indices}; }

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
  const LanePlaces places(loop, bounds);
  if (places.step(place_of(x.first)) != 0) std::swap(x.first, x.second);
  if (places.step(place_of(y.first)) != 0) std::swap(y.first, y.second);
  const DType narrow = x.first->dtype;
  const LanePlace sums = place_of(acc), a = place_of(x.first), b = place_of(x.second),
                  next_a = place_of(y.first), next_b = place_of(y.second);
  const bool fits = x.second->dtype == narrow && y.first->dtype == narrow &&
                    y.second->dtype == narrow && places.step(sums) == 1 && places.step(a) == 0 &&
                    places.step(next_a) == 0 && places.step(b) == 2 && places.step(next_b) == 2 &&
                    places.is_next(a, next_a) && places.is_next(b, next_b);
  if (!fits) return std::nullopt;
  return ProductLoop{*lanes, places.first(sums), places.first(a), places.first(b)};
}

}  // namespace tessera::emit
