// SPDX-License-Identifier: Apache-2.0
#include "lower/host_values.h"

#include <algorithm>
#include <vector>

#include "tir/walk.h"

namespace tessera::lower {
namespace {

using tir::Buffer;
using tir::BufferNode;
using tir::Stmt;

// Elements: lists of sizes have as many as a tensor has dimensions, sometimes some for each.
constexpr std::int64_t kMostElements = 64;

bool is_small(const Buffer& b) {
  const std::int64_t size = tir::constant_size(b);
  return size >= 0 && size <= kMostElements;
}

using Values = std::set<const BufferNode*>;

// A call as reads and writes of values.
struct Step {
  bool by_cpu = false;   // anyway: it finds sizes
  bool movable = false;  // the CPU could do it
  std::vector<const BufferNode*> reads, writes;
};

class HostValueAnalysis {
 public:
  HostValueAnalysis(const tir::PrimFunc& program, std::span<const Buffer> inputs,
                    const Module& module)
      : module_(module) {
    for (const Buffer& b : inputs) add_candidate(b);
    for (const Buffer& b : program.outputs) {
      outputs_.insert(b.get());
      add_candidate(b);
    }
    // The caller reads them, and the program alone writes them.
    for (const Buffer& b : program.outputs) candidates_.erase(tir::sizes_vector(b).get());
    tir::for_each_node(program.body, [&](const Stmt& s) { collect(s); });
  }

  HostValues run() {
    for (;;) {
      found_.values = needed(computable());
      found_.shared = shared();
      const auto is_sent = [&](const BufferNode* b) { return sendable_.contains(b); };
      if (std::all_of(found_.shared.begin(), found_.shared.end(), is_sent)) return found_;
      std::erase_if(candidates_,
                    [&](const BufferNode* b) { return found_.shared.contains(b) && !is_sent(b); });
    }
  }

 private:
  void add_candidate(const Buffer& b) {
    if (b->scope != tir::MemoryScope::kGlobal || b->space || !is_small(b)) return;
    candidates_.insert(b.get());
    if (b->dtype.is_int() || b->dtype.is_bool()) sendable_.insert(b.get());
  }

  void collect(const Stmt& stmt) {
    tir::visit(
        stmt, [&](const tir::Allocate& s) { add_candidate(s.buffer); },
        [&](const tir::AllocateConst& s) { found_.constants.insert(s.buffer.get()); },
        [&](const tir::View& s) { found_.viewed[s.buffer.get()] = found_.root(s.source); },
        [&](const tir::CallKernel& s) { collect_call(s); },
        [&](const tir::IfThenElse& s) { collect_condition(s.condition); },
        [&](const tir::While& s) { collect_condition(s.condition); },
        // Values that a program of the host computes are there; parts are collected one by one.
        [](const tir::Store&) {}, [](const tir::LetStmt&) {}, [](const tir::For&) {},
        [](const tir::Require&) {}, [](const tir::Reserve&) {}, [](const tir::Evaluate&) {},
        [](const tir::Seq&) {});
  }

  void collect_condition(const tir::Expr& condition) {
    if (const auto* load = condition.as<tir::Load>()) {
      conditions_.push_back(found_.root(load->buffer).get());
    }
  }

  void collect_call(const tir::CallKernel& call) {
    Step step;
    for (const Buffer& b : call.outputs) step.writes.push_back(found_.root(b).get());
    const tir::PrimFunc* kernel = generated(call.symbol);
    step.by_cpu = kernel != nullptr && is_for_cpu(*kernel);
    step.movable = kernel != nullptr && !step.by_cpu && has_small_temporaries(*kernel);
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
      if (kernel != nullptr && !tir::uses_buffer(kernel->body, kernel->inputs[i])) continue;
      step.reads.push_back(found_.root(call.inputs[i]).get());
    }
    steps_.push_back(std::move(step));
  }

  // Null for what a back end has made, which knows its device.
  const tir::PrimFunc* generated(const std::string& symbol) const {
    const auto made_by = module_.externs.find(symbol);
    const auto kernel = module_.prim_funcs.find(symbol);
    const bool is_native = made_by != module_.externs.end() && kernel != module_.prim_funcs.end() &&
                           made_by->second.artifact < 0 && made_by->second.backend == "native";
    return is_native ? &kernel->second : nullptr;
  }
  static bool has_small_temporaries(const tir::PrimFunc& kernel) {
    const std::vector<Buffer> temporaries = temporaries_of(kernel);
    return std::all_of(temporaries.begin(), temporaries.end(), is_small);
  }

  // The candidates that nothing but movable calls writes, from what is computable itself.
  Values computable() const {
    Values out = candidates_;
    const auto has = [&](const BufferNode* b) { return out.contains(b); };
    const auto can_read = [&](const BufferNode* b) {
      return has(b) || found_.constants.contains(b);
    };
    for (bool changed = true; changed;) {
      changed = false;
      for (const Step& step : steps_) {
        const bool stays = step.movable &&
                           std::all_of(step.reads.begin(), step.reads.end(), can_read) &&
                           std::all_of(step.writes.begin(), step.writes.end(), has);
        if (stays) continue;
        for (const BufferNode* b : step.writes) changed |= out.erase(b) > 0;
      }
    }
    return out;
  }

  // Those that sizes and conditions are made of; a program is mostly read from its end.
  Values needed(const Values& computable) const {
    Values out;
    bool changed = false;
    const auto need = [&](const BufferNode* b) {
      if (computable.contains(b)) changed |= out.insert(b).second;
    };
    for (const BufferNode* b : conditions_) need(b);
    do {
      changed = false;
      for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
        if (!step->by_cpu && !makes_one_of(*step, out)) continue;
        for (const BufferNode* b : step->reads) need(b);
        for (const BufferNode* b : step->writes) need(b);
      }
    } while (changed);
    return out;
  }

  static bool makes_one_of(const Step& step, const Values& values) {
    return std::any_of(step.writes.begin(), step.writes.end(),
                       [&](const BufferNode* b) { return values.contains(b); });
  }

  Values shared() const {
    Values out;
    for (const BufferNode* b : found_.values) {
      if (outputs_.contains(b)) out.insert(b);
    }
    for (const Step& step : steps_) {
      if (step.by_cpu || makes_one_of(step, found_.values)) continue;
      for (const BufferNode* b : step.reads) {
        if (found_.values.contains(b)) out.insert(b);
      }
    }
    return out;
  }

  const Module& module_;
  Values candidates_, outputs_;
  Values sendable_;  // what both sides may need
  std::vector<const BufferNode*> conditions_;
  std::vector<Step> steps_;
  HostValues found_;
};

}  // namespace

Buffer HostValues::root(const Buffer& b) const {
  const auto view = viewed.find(b.get());
  return view == viewed.end() ? b : view->second;
}

bool HostValues::computes(const tir::CallKernel& call) const {
  return std::any_of(call.outputs.begin(), call.outputs.end(),
                     [&](const Buffer& b) { return contains(b); });
}

HostValues find_host_values(const tir::PrimFunc& program, std::span<const Buffer> inputs,
                            const Module& module) {
  return HostValueAnalysis(program, inputs, module).run();
}

}  // namespace tessera::lower
