// SPDX-License-Identifier: Apache-2.0
#include "tir/stmt.h"

#include "tir/destroy.h"
#include "tir/tensor_expr.h"

namespace tessera::tir {
namespace {

void append_flat(std::vector<Stmt>& out, Stmt s) {
  if (!s) return;
  if (const auto* inner = s.as<Seq>()) {
    for (const Stmt& part : inner->body) append_flat(out, part);
  } else {
    out.push_back(std::move(s));
  }
}

}  // namespace

void StmtNode::destroy(const StmtNode* node) {
  switch (node->kind) {
#define STMT(N)     \
  case StmtKind::N: \
    return drop_node(static_cast<const N*>(node));
#include "tir/stmt.def"
#undef STMT
  }
}

Stmt seq(std::vector<Stmt> body) {
  std::vector<Stmt> flat;
  flat.reserve(body.size());
  for (Stmt& s : body) append_flat(flat, std::move(s));
  if (flat.size() == 1) return flat.front();
  return Seq::make(std::move(flat));
}

bool is_empty(const Stmt& s) {
  const auto* body = s.as<Seq>();
  return !s || (body != nullptr && body->body.empty());
}

}  // namespace tessera::tir
