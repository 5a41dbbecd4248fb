// SPDX-License-Identifier: Apache-2.0
#include "plan/sharing.h"

#include <algorithm>
#include <map>
#include <set>

#include "plan/device.h"
#include "plan/plan.h"
#include "tir/compare.h"
#include "tir/walk.h"

namespace tessera::plan {
namespace {

using tir::Buffer;
using tir::BufferNode;
using tir::Expr;
using tir::Stmt;

// When a program first writes a buffer and last reads it, in terms of the buffers that views are
// of. Steps are its statements in order; a branch or a loop is one.
class UseOrder {
 public:
  explicit UseOrder(const Stmt& body) {
    tir::BlockWalk rest(body);
    while (const Stmt* s = rest.next()) add(*s);
  }

  // -1: never.
  int first_write(const BufferNode* buffer) const { return find(first_write_, buffer); }
  int last_read(const BufferNode* buffer) const { return find(last_read_, buffer); }
  // Null where the step is more than a call.
  const tir::CallKernel* call(int step) const { return calls_[static_cast<std::size_t>(step)]; }

  const BufferNode* root(const BufferNode* buffer) const {
    const auto it = source_.find(buffer);
    return it == source_.end() ? buffer : it->second;
  }

 private:
  using Steps = std::map<const BufferNode*, int>;

  static int find(const Steps& steps, const BufferNode* buffer) {
    const auto it = steps.find(buffer);
    return it == steps.end() ? -1 : it->second;
  }

  void add(const Stmt& stmt) {
    calls_.push_back(stmt.as<tir::CallKernel>());
    const bool is_definition =
        stmt.as<tir::View>() != nullptr || stmt.as<tir::LetStmt>() != nullptr ||
        stmt.as<tir::Allocate>() != nullptr || stmt.as<tir::AllocateConst>() != nullptr;
    if (!is_definition) return note_all(stmt);  // the walk goes into definitions
    if (const auto* view = stmt.as<tir::View>()) note_view(*view);
    if (const auto* let = stmt.as<tir::LetStmt>()) note_reads(let->value);
  }

  void note_view(const tir::View& s) { source_[s.buffer.get()] = root(s.source.get()); }
  void note_read(const BufferNode* b) { last_read_[root(b)] = now(); }
  void note_write(const BufferNode* b) { first_write_.emplace(root(b), now()); }
  int now() const { return static_cast<int>(calls_.size()) - 1; }

  template <class Node>
  void note_reads(const Node& node) {
    tir::for_each_node(node, [&](const Expr& e) {
      if (const auto* load = e.as<tir::Load>()) note_read(load->buffer.get());
    });
  }

  void note_all(const Stmt& stmt) {
    tir::for_each_node(stmt, [&](const Stmt& s) {
      if (const auto* view = s.as<tir::View>()) note_view(*view);
      if (const auto* store = s.as<tir::Store>()) note_write(store->buffer.get());
      if (const auto* made = s.as<tir::Reserve>()) note_write(made->buffer.get());
      if (const auto* call = s.as<tir::CallKernel>()) {
        for (const Buffer& b : call->inputs) note_read(b.get());
        for (const Buffer& b : call->outputs) note_write(b.get());
      }
    });
    note_reads(stmt);
  }

  std::map<const BufferNode*, const BufferNode*> source_;  // of views
  Steps first_write_, last_read_;
  std::vector<const tir::CallKernel*> calls_;  // one a step
};

bool is_load_of(const Expr& e, const Buffer& buffer) {
  const auto* load = e.as<tir::Load>();
  return load != nullptr && load->buffer == buffer;
}

// What becomes of a kernel's input: its elements, by themselves or as variables, are accepted one
// after the other where a store keeps them at their place. There must be no other use of them.
class PassedOn {
 public:
  PassedOn(const tir::PrimFunc& kernel, const Buffer& input) : input_(input) {
    tir::for_each_node(kernel.body, [&](const Stmt& s) {  // a definition before its uses
      const auto* let = s.as<tir::LetStmt>();
      if (let != nullptr && depends(let->value)) variables_.emplace(let->var.get(), let->value);
    });
    tir::for_each_node(kernel.body, [&](const Expr& e) { num_uses_ += is_use(e); });
    num_uses_ -= static_cast<int>(variables_.size());  // the definitions' own
  }

  bool depends(const Expr& value) const {
    bool found = false;
    tir::for_each_node(value, [&](const Expr& e) { found |= is_use(e); });
    return found;
  }

  // Does the value, stored at these indices, keep the element that is there, or not depend on the
  // input?
  bool accept(const Expr& value, const std::vector<Expr>& indices) {
    if (!depends(value)) return true;
    if (const auto* choice = value.as<tir::Select>()) {
      return !depends(choice->condition) && accept(choice->yes, indices) &&
             accept(choice->no, indices);
    }
    if (const auto* load = value.as<tir::Load>(); load != nullptr && load->buffer == input_) {
      ++num_accepted_;
      return std::equal(load->indices.begin(), load->indices.end(), indices.begin(), indices.end(),
                        [](const Expr& x, const Expr& y) { return tir::equal(x, y); });
    }
    const auto variable = variables_.find(value.get());
    if (variable == variables_.end()) return false;
    const int before = num_accepted_;
    const bool kept = accept(variable->second, indices);
    if (!counted_.insert(variable->first).second) num_accepted_ = before;
    ++num_accepted_;
    return kept;
  }

  bool is_all() const { return num_accepted_ == num_uses_; }

 private:
  bool is_use(const Expr& e) const { return is_load_of(e, input_) || variables_.contains(e.get()); }

  const Buffer& input_;
  std::map<const tir::ExprNode*, Expr> variables_;  // whose values depend on the input
  std::set<const tir::ExprNode*> counted_;          // of these, those whose values were accepted
  int num_uses_ = 0, num_accepted_ = 0;
};

// Is the step a call of a generated kernel that passes on what it reads of the input?
bool passes_on_in(const UseOrder& uses, int step, const Module& module, const BufferNode* output,
                  const BufferNode* input) {
  const tir::CallKernel* call = uses.call(step);
  if (call == nullptr) return false;
  const auto kernel = module.prim_funcs.find(call->symbol);
  const auto made = module.externs.find(call->symbol);
  if (kernel == module.prim_funcs.end()) return false;
  if (made != module.externs.end() && made->second.artifact >= 0) return false;
  const tir::PrimFunc& f = kernel->second;
  for (std::size_t o = 0; o < call->outputs.size(); ++o) {
    if (uses.root(call->outputs[o].get()) != output) continue;
    for (std::size_t i = 0; i < call->inputs.size(); ++i) {
      const bool is_read = uses.root(call->inputs[i].get()) == input;
      if (is_read && !passes_on(f, f.inputs[i], f.outputs[o])) return false;
    }
  }
  return true;
}

bool uses_view_of(const tir::PrimFunc& kernel, const Buffer& buffer) {
  bool found = false;
  tir::for_each_node(kernel.body, [&](const Stmt& s) {
    const auto* view = s.as<tir::View>();
    found |= view != nullptr && view->source == buffer;
  });
  return found;
}

}  // namespace

bool passes_on(const tir::PrimFunc& kernel, const Buffer& input, const Buffer& output) {
  if (input->dtype != output->dtype || !tir::equal(input->shape, output->shape)) return false;
  if (uses_view_of(kernel, input) || uses_view_of(kernel, output)) return false;
  PassedOn passed(kernel, input);
  bool legal = true;
  tir::for_each_node(kernel.body, [&](const Expr& e) { legal &= !is_load_of(e, output); });
  tir::for_each_node(kernel.body, [&](const Stmt& s) {
    const auto* store = s.as<tir::Store>();
    if (store == nullptr || store->buffer != output) return;
    legal = legal && passed.accept(store->value, store->indices);
  });
  return legal && passed.is_all();
}

std::vector<std::vector<int>> shareable_inputs(const tir::PrimFunc& main, const Module& module,
                                               std::size_t num_inputs) {
  const UseOrder uses(main.body);
  std::vector<std::vector<int>> shareable;
  for (const ResultPort& port : result_ports(main)) {
    std::vector<int>& inputs = shareable.emplace_back();
    if (port.sizes) continue;  // found as it runs
    for (std::size_t i = 0; i < num_inputs; ++i) {
      const Buffer& input = main.inputs[i];
      const int write = uses.first_write(port.buffer.get()), read = uses.last_read(input.get());
      const bool alike = input->dtype == port.buffer->dtype &&
                         tir::equal(input->shape, port.buffer->shape) && !is_on_host(input) &&
                         !is_on_host(port.buffer);
      if (!alike || write < 0 || read > write) continue;
      if (read < write || passes_on_in(uses, write, module, port.buffer.get(), input.get())) {
        inputs.push_back(static_cast<int>(i));
      }
    }
  }
  return shareable;
}

}  // namespace tessera::plan
