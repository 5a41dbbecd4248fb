// SPDX-License-Identifier: Apache-2.0
#include "lower/views.h"

#include <algorithm>

#include "relay/operator.h"

namespace tessera::lower {

using tir::Expr;

Expr flat_offset(const tir::Buffer& buffer, const std::vector<Expr>& indices) {
  Expr offset = 0;
  for (std::size_t i = 0; i < indices.size(); ++i) offset = offset * buffer->shape[i] + indices[i];
  return offset;
}

int viewed_input(const tir::PrimFunc& kernel) {
  if (kernel.outputs.size() != 1) return -1;
  tir::Bounds bounds;
  tir::Stmt s = kernel.body;
  while (const auto* loop = s.as<tir::For>()) {
    bounds.set_loop(loop->var, loop->min, loop->extent);
    s = loop->body;
  }
  const auto* store = s.as<tir::Store>();
  const auto* load = store != nullptr ? store->value.as<tir::Load>() : nullptr;
  if (load == nullptr) return -1;
  const std::int64_t size = tir::constant_size(store->buffer);
  if (size < 0 || size != tir::constant_size(load->buffer)) return -1;
  const tir::IndexForm from = tir::index_form(flat_offset(load->buffer, load->indices), bounds);
  const tir::IndexForm to = tir::index_form(flat_offset(store->buffer, store->indices), bounds);
  const tir::IndexForm difference = tir::add(to, from, -1);
  if (!difference.is_constant() || difference.constant != 0) return -1;
  const auto it = std::find(kernel.inputs.begin(), kernel.inputs.end(), load->buffer);
  return it == kernel.inputs.end() ? -1 : static_cast<int>(it - kernel.inputs.begin());
}

int kept_input(const relay::Function& f, relay::RegionId region) {
  const relay::Region& r = f.region(region);
  relay::NodeId at = r.result;
  while (f.op(at) != nullptr && f.op(at)->keeps_order) at = f.operands(at)[0];
  std::size_t tensors = 0;
  for (const relay::NodeId param : r.params) {
    if (param == at) return f.type(at).is_tensor() ? static_cast<int>(tensors) : -1;
    tensors += flatten(f.type(param)).size();
  }
  return -1;
}

}  // namespace tessera::lower
