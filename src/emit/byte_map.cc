// SPDX-License-Identifier: Apache-2.0
#include "emit/byte_map.h"

#include "tir/walk.h"

namespace tessera::emit {
namespace {

using tir::Expr;

constexpr std::int64_t kBytes = 256;

// max(min(e, 255), 0), which bytes are anyway.
Expr without_limits(const Expr& e) {
  const auto* above = e.as<tir::Max>();
  const auto* below = above != nullptr ? above->a.as<tir::Min>() : nullptr;
  const bool are_limits = below != nullptr && is_int(above->b, 0) && is_int(below->b, kBytes - 1);
  return are_limits ? below->a : e;
}

// What the number of an entry is read from: a byte, which a signed one is 128 less than.
const tir::Load* byte_of(const Expr& entry, const tir::Bounds& bounds) {
  const tir::IndexForm form = tir::index_form(without_limits(entry), bounds);
  if (form.terms.size() != 1 || form.terms[0].coefficient != 1) return nullptr;
  const auto* cast = form.terms[0].atom.as<tir::Cast>();
  const auto* load = cast != nullptr ? cast->value.as<tir::Load>() : nullptr;
  if (load == nullptr || !load->dtype.is_byte()) return nullptr;
  return form.constant == (load->dtype == kInt8 ? 128 : 0) ? load : nullptr;
}

}  // namespace

std::optional<ByteMap> as_byte_map(const tir::For& loop, const tir::Bounds& bounds) {
  const auto* store = loop.body.as<tir::Store>();
  const auto* entry = store != nullptr ? store->value.as<tir::Load>() : nullptr;
  if (entry == nullptr || !entry->dtype.is_byte() || entry->indices.size() != 1 ||
      store->buffer->dtype != entry->dtype || tir::constant_size(entry->buffer) != kBytes ||
      entry->buffer == store->buffer) {
    return std::nullopt;
  }
  const tir::Load* byte = byte_of(entry->indices[0], bounds);
  if (byte == nullptr) return std::nullopt;
  const LanePlaces places(loop, bounds);
  const LanePlace y{store->buffer, store->indices}, x{byte->buffer, byte->indices};
  if (places.step(y) != 1 || places.step(x) != 1) return std::nullopt;
  return ByteMap{loop.extent, places.first(y), places.first(x), {entry->buffer, {Expr(0)}}};
}

}  // namespace tessera::emit
