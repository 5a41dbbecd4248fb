// SPDX-License-Identifier: Apache-2.0
#include "emit/captured.h"

#include <set>

#include "tir/buffer.h"
#include "tir/walk.h"

namespace tessera::emit {

using tir::Buffer;
using tir::Expr;

Captured captured_by(const tir::For& n) {
  Captured out;
  std::set<const void*> known{n.var.get()};
  const auto use_var = [&](const Expr& e) {
    if (e.as<tir::Var>() != nullptr && known.insert(e.get()).second) out.vars.push_back(e);
  };
  const auto use = [&](const auto& self, const auto& node) -> void {
    if constexpr (std::is_same_v<decltype(node), const Buffer&>) {
      if (!known.insert(node.get()).second) return;
      out.buffers.push_back(node);
      for (const Expr& e : strides_of(node)) for_each_node(e, use_var);
    } else if constexpr (std::is_same_v<decltype(node), const Expr&>) {
      use_var(node);
      for_each_child(node, [&](const auto& child) { self(self, child); });
    } else {
      visit(node, [&]<class N>(const N& s) {
        if constexpr (tir::BindsVar<N>) known.insert(s.var.get());
        if constexpr (tir::BindsBuffer<N>) known.insert(s.buffer.get());
      });
      for_each_child(node, [&](const auto& child) { self(self, child); });
    }
  };
  use(use, n.body);
  for_each_node(n.min, use_var);
  return out;
}

}  // namespace tessera::emit
