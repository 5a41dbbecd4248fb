// SPDX-License-Identifier: Apache-2.0
#include "lower/loop_constants.h"

#include <fmt/format.h>

#include "tir/walk.h"

namespace tessera::lower {

using tir::Buffer;
using tir::Stmt;

std::vector<LoopConstant> constant_definitions(const Stmt& body) {
  std::vector<LoopConstant> found;
  tir::for_each_node(body, [&](const Stmt& s) {
    const auto* constant = s.as<tir::AllocateConst>();
    if (constant != nullptr) found.push_back({constant->buffer, constant->data});
  });
  return found;
}

Stmt map_constants(const Stmt& body, const DefineConstant& define) {
  const auto step = [&](const Stmt& s) {
    return tir::map_children(s, [&](const Stmt& inner) { return map_constants(inner, define); });
  };
  return tir::map_block(body, step, [&](const Stmt& definition, const Stmt& scope) {
    const auto* constant = definition.as<tir::AllocateConst>();
    return constant != nullptr ? define(*constant, scope) : tir::with_scope(definition, scope);
  });
}

Buffer HostConstants::buffer(ConstantIndex index, bool on_host) {
  auto [it, added] = buffers_.try_emplace({index, on_host});
  if (added) {
    const Tensor& t = pool_[index];
    std::vector<tir::Expr> shape(t.shape.begin(), t.shape.end());
    const std::string name = fmt::format("table_{}", index.index());
    constexpr auto kConstant = tir::MemoryScope::kConstant;
    it->second = on_host ? tir::make_host_buffer(name, t.dtype, shape, kConstant)
                         : tir::make_buffer(name, t.dtype, shape, kConstant);
  }
  return it->second;
}

Stmt HostConstants::define(Stmt program) const {
  for (auto it = buffers_.rbegin(); it != buffers_.rend(); ++it) {
    program = tir::AllocateConst::make(it->second, ConstantValue(it->first.first), program);
  }
  return program;
}

}  // namespace tessera::lower
