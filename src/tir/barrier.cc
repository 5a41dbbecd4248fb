// SPDX-License-Identifier: Apache-2.0
#include "tir/barrier.h"

#include <algorithm>

#include "tir/expr_ops.h"
#include "tir/walk.h"

namespace tessera::tir {
namespace {

constexpr const char* kName = "barrier";

bool meet(const std::set<const BufferNode*>& a, const std::set<const BufferNode*>& b) {
  return std::any_of(a.begin(), a.end(), [&](const BufferNode* x) { return b.contains(x); });
}

}  // namespace

Stmt barrier() { return Evaluate::make(call(kName, {}, kBool)); }

bool is_barrier(const Stmt& s) {
  const auto* e = s.as<Evaluate>();
  const auto* c = e != nullptr ? e->value.as<Call>() : nullptr;
  return c != nullptr && c->name == kName && c->args.empty();
}

bool conflict(const Touched& a, const Touched& b) {
  return meet(a.written, b.written) || meet(a.written, b.read) || meet(a.read, b.written);
}

void add(Touched& to, const Touched& more) {
  to.read.insert(more.read.begin(), more.read.end());
  to.written.insert(more.written.begin(), more.written.end());
}

TeamMemory::TeamMemory(const Stmt& kernel) {
  for_each_node(kernel, [&](const Stmt& s) {
    if (const auto* v = s.as<View>()) sources_.emplace(v->buffer.get(), v->source);
  });
}

const Buffer& TeamMemory::of(const Buffer& b) const {
  const Buffer* at = &b;
  for (auto it = sources_.find(b.get()); it != sources_.end(); it = sources_.find(at->get())) {
    at = &it->second;
  }
  return *at;
}

void TeamMemory::note(std::set<const BufferNode*>& in, const Buffer& b) const {
  const Buffer& memory = of(b);
  const MemoryScope scope = memory->scope;
  if (scope == MemoryScope::kShared || scope == MemoryScope::kGlobal) in.insert(memory.get());
}

Touched TeamMemory::by(const Expr& e) const {
  Touched out;
  for_each_node(e, [&](const Expr& part) {
    if (const auto* load = part.as<Load>()) note(out.read, load->buffer);
  });
  return out;
}

Touched TeamMemory::by(const Stmt& s) const {
  Touched out;
  for_each_node(s, [&]<class Node>(const Node& part) {
    if constexpr (std::is_same_v<Node, Stmt>) {
      if (const auto* store = part.template as<Store>()) note(out.written, store->buffer);
    } else if constexpr (std::is_same_v<Node, Expr>) {
      if (const auto* load = part.template as<Load>()) note(out.read, load->buffer);
    }
  });
  return out;
}

}  // namespace tessera::tir
