// SPDX-License-Identifier: Apache-2.0
#include "plan/liveness.h"

#include <algorithm>
#include <set>

#include "plan/plan.h"
#include "tir/dim_vars.h"
#include "tir/walk.h"

namespace tessera::plan {
namespace {

using tir::Buffer;
using tir::BufferNode;
using tir::Stmt;

// A bound beyond this is no size that anybody expects: the end 10^9 of a slice, say. Nothing is
// reserved for it before a run has it.
constexpr std::int64_t kMostReserved = std::int64_t{1} << 30;

// One walk in program order. Uses inside a loop of what is allocated outside count for the whole
// loop, since a later iteration may read what an earlier one wrote. The branches of an `if` follow
// each other: what only one of them uses lives in that one alone.
class LivenessWalk {
 public:
  LivenessWalk(const Module& module, tir::Bounds bounds, bool enters_calls)
      : module_(module), bounds_(std::move(bounds)), enters_calls_(enters_calls) {}

  void walk(const Stmt& block) {
    tir::BlockWalk rest(block);
    while (const Stmt* s = rest.next()) step(*s);
  }

  void begin(const Ports& ports) {
    for (const Buffer& b : ports.inputs) {
      allocate(b);
      out_.needs[out_.of_buffer.at(b.get())].live = {{0, 0}};
    }
    for (const Buffer& b : ports.outputs) allocate(b);
  }
  // Outputs are read behind the last statement: nothing that it computes may lie in their place.
  void end(const Ports& ports) {
    ++tick_;
    for (const Buffer& b : ports.outputs) use(b.get());
  }

  Liveness take() { return std::move(out_); }

 private:
  void step(const Stmt& stmt) {
    tir::visit(
        stmt, [&](const tir::Allocate& s) { allocate(s.buffer); },
        [&](const tir::View& s) {
          if (const auto it = out_.of_buffer.find(s.source.get()); it != out_.of_buffer.end()) {
            out_.of_buffer.emplace(s.buffer.get(), it->second);
          }
        },
        [&](const tir::LetStmt& s) { read(s.value); },
        [&](const tir::Reserve& s) {
          ++tick_;
          use(s.buffer.get());
        },
        [&](const tir::CallKernel& s) { call(s); }, [&](const tir::For& s) { loop({}, s.body); },
        [&](const tir::While& s) { loop(s.condition, s.body); },
        [&](const tir::IfThenElse& s) {
          read(s.condition);
          walk(s.then_case);
          walk(s.else_case);
        },
        [&](const tir::Store& s) {
          read(s.value);
          for (const tir::Expr& index : s.indices) read(index);
          use(s.buffer.get());
        },
        [&](const tir::Evaluate& s) { read(s.value); },
        // Constants have memory of their own, checks read sizes alone, and a walk takes sequences
        // apart.
        [](const tir::AllocateConst&) {}, [](const tir::Require&) {}, [](const tir::Seq&) {});
  }

  void allocate(const Buffer& buffer) {
    if (buffer->scope != tir::MemoryScope::kGlobal) return;  // in the frame, or of a team
    if (const auto known = out_.of_buffer.find(buffer.get()); known != out_.of_buffer.end()) {
      begins_anew_.insert(known->second);
      return;
    }
    const auto elements = tir::max_elements(buffer->shape, bounds_);
    std::int64_t bytes = 0;
    // What is reserved as the program runs is of the heap, even where an extent of 0 bounds it.
    const bool bounded = !tir::sizes_vector(buffer) && elements &&
                         !__builtin_mul_overflow(*elements, buffer->dtype.size_bytes(), &bytes) &&
                         (bytes <= kMostReserved || tir::constant_size(buffer) >= 0);
    add(buffer->name, bounded ? bytes : -1, buffer->align_bytes);
    out_.of_buffer[buffer.get()] = out_.needs.size() - 1;
  }

  void add(std::string name, std::int64_t bytes, std::int64_t align_bytes) {
    out_.needs.push_back({std::move(name), bytes, align_bytes, {}});
  }

  void call(const tir::CallKernel& s) {
    ++tick_;
    for (const Buffer& b : s.inputs) use(b.get());
    for (const Buffer& b : s.outputs) use(b.get());
    if (enters_calls_) enter(s);
    const auto it = module_.externs.find(s.symbol);
    if (it == module_.externs.end() || it->second.workspace.bytes == 0) return;
    if (!it->second.workspace.query.empty()) return;  // of the instance, apart from the pools
    if (!out_.of_workspace.contains(s.symbol)) {
      add("workspace of " + s.symbol, it->second.workspace.bytes, 64);
      out_.of_workspace[s.symbol] = out_.needs.size() - 1;
    }
    out_.needs[out_.of_workspace[s.symbol]].live.push_back({tick_, tick_});
  }

  // The callee's statements, with its parameters for what they are given.
  void enter(const tir::CallKernel& s) {
    const auto callee = module_.prim_funcs.find(s.symbol);
    if (callee == module_.prim_funcs.end() || !entered_.insert(s.symbol).second) return;
    const tir::PrimFunc& f = callee->second;
    const auto bind = [&](const std::vector<Buffer>& parameters, const std::vector<Buffer>& given) {
      for (std::size_t i = 0; i < std::min(parameters.size(), given.size()); ++i) {
        const auto it = out_.of_buffer.find(given[i].get());
        if (it != out_.of_buffer.end()) out_.of_buffer[parameters[i].get()] = it->second;
        if (it == out_.of_buffer.end()) out_.of_buffer.erase(parameters[i].get());
      }
    };
    bind(f.inputs, s.inputs);
    bind(f.outputs, s.outputs);
    walk(f.body);
    for (const Buffer& b : s.inputs) use(b.get());  // as long as the call runs
    for (const Buffer& b : s.outputs) use(b.get());
    entered_.erase(s.symbol);
  }

  void loop(const tir::Expr& condition, const Stmt& body) {
    const std::int64_t begin = tick_ + 1;
    const std::size_t outside = out_.needs.size();
    if (condition) read(condition);
    walk(body);
    for (std::size_t i = 0; i < outside; ++i) extend(out_.needs[i], begin);
  }

  // What an expression reads; a tick of its own.
  void read(const tir::Expr& e) {
    ++tick_;
    if (!e) return;
    tir::for_each_node(e, [&](const tir::Expr& part) {
      if (const auto* load = part.as<tir::Load>()) use(load->buffer.get());
    });
  }

  // Joins all ranges from `begin` on into one that ends now.
  void extend(Need& need, std::int64_t begin) {
    std::int64_t first = begin;
    bool used = false;
    while (!need.live.empty() && need.live.back().last >= begin) {
      first = std::min(first, need.live.back().first);
      need.live.pop_back();
      used = true;
    }
    if (used) need.live.push_back({first, tick_});
  }

  void use(const BufferNode* buffer) {
    const auto it = out_.of_buffer.find(buffer);
    if (it == out_.of_buffer.end()) return;
    auto& live = out_.needs[it->second].live;
    if (live.empty() || begins_anew_.erase(it->second) > 0) live.push_back({tick_, tick_});
    live.back().last = tick_;
  }

  const Module& module_;
  tir::Bounds bounds_;
  const bool enters_calls_;
  Liveness out_;
  std::set<std::size_t> begins_anew_;  // needs whose next use begins another range
  std::set<std::string> entered_;      // symbols: a text may call in a circle
  std::int64_t tick_ = -1;
};

}  // namespace

Ports ports_of(const tir::PrimFunc& main, const Module& module) {
  const std::span<const Buffer> inputs = main.inputs;
  return {inputs.first(inputs.size() - module.kept_weights.size()), main.outputs};
}

Liveness compute_liveness(const tir::PrimFunc& main, const Module& module, const Ports& ports) {
  LivenessWalk walk(module, dim_bounds(main, module.symbols), false);
  walk.begin(ports);
  walk.walk(main.body);
  walk.end(ports);
  return walk.take();
}

Liveness compute_liveness_of_all(const tir::PrimFunc& main, const Module& module) {
  LivenessWalk walk(module, dim_bounds(main, module.symbols), true);
  walk.walk(main.body);
  return walk.take();
}

}  // namespace tessera::plan
