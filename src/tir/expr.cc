// SPDX-License-Identifier: Apache-2.0
#include "tir/expr.h"

#include "tir/buffer.h"
#include "tir/destroy.h"
#include "tir/tensor_expr.h"

namespace tessera::tir {
namespace {

struct Dropped {
  const void* node;
  void (*drop)(const void*);
};
// The queue of the outermost drop_later of this thread; it lives in that call's frame.
thread_local std::vector<Dropped>* pending = nullptr;

}  // namespace

void drop_later(const void* node, void (*drop)(const void*)) {
  if (pending != nullptr) {
    pending->push_back({node, drop});
    return;
  }
  std::vector<Dropped> queue;
  pending = &queue;
  drop(node);
  while (!queue.empty()) {
    const Dropped next = queue.back();
    queue.pop_back();
    next.drop(next.node);
  }
  pending = nullptr;
}

void ExprNode::destroy(const ExprNode* node) {
  switch (node->kind) {
#define EXPR(N)     \
  case ExprKind::N: \
    return drop_node(static_cast<const N*>(node));
#include "tir/expr.def"
#undef EXPR
  }
}

Expr::Expr(std::int64_t value) : Expr(int_imm(value)) {}

}  // namespace tessera::tir
