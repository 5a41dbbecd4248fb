// SPDX-License-Identifier: Apache-2.0
#include "plan/order.h"

#include <algorithm>
#include <map>

#include "plan/liveness.h"
#include "plan/order_search.h"
#include "plan/plan.h"
#include "plan/sharing.h"
#include "tir/walk.h"

namespace tessera::plan {
namespace {

using tir::Buffer;
using tir::BufferNode;
using tir::Stmt;

// Less is not worth another order than the model's.
constexpr double kLeastSaved = 0.01;

bool is_buffer_definition(const Stmt& s) {
  return s.as<tir::Allocate>() != nullptr || s.as<tir::AllocateConst>() != nullptr ||
         s.as<tir::View>() != nullptr;
}

const Buffer& defined_by(const Stmt& s) {
  if (const auto* made = s.as<tir::Allocate>()) return made->buffer;
  if (const auto* data = s.as<tir::AllocateConst>()) return data->buffer;
  return s.as<tir::View>()->buffer;
}

// Calls that other calls rely on without reading their results.
bool is_check(const tir::CallKernel& call, const Module& module) {
  const auto kernel = module.prim_funcs.find(call.symbol);
  return call.outputs.empty() ||
         (kernel != module.prim_funcs.end() && kernel->second.attrs.contains("checks"));
}

// The statements of a block between two that stay where they are: calls that may change places, and
// definitions.
struct Section {
  std::vector<Stmt> sizes;        // lets of sizes alone
  std::vector<Stmt> definitions;  // of buffers
  std::vector<Stmt> calls;
  Stmt end;  // what stays; null at the end of the block
};

class Reorder {
 public:
  Reorder(const tir::PrimFunc& main, const Module& module)
      : main_(main), module_(module), liveness_(compute_liveness(main, module)) {}

  std::int64_t pressure_before() const { return pressure(liveness_.needs); }

  tir::PrimFunc run() {
    tir::PrimFunc ordered = main_;
    const std::vector<Section> sections = sections_of(main_.body);
    find_ends(sections);
    std::vector<Stmt> list;
    for (std::size_t i = 0; i < sections.size(); ++i) append(sections[i], i, list);
    ordered.body = nested(list);
    return ordered;
  }

 private:
  std::vector<Section> sections_of(const Stmt& body) {
    std::vector<Section> all(1);
    tir::BlockWalk rest(body);
    while (const Stmt* s = rest.next()) {
      const auto* let = s->as<tir::LetStmt>();
      const auto* call = s->as<tir::CallKernel>();
      if (is_buffer_definition(*s)) {
        if (const auto* view = s->as<tir::View>())
          sources_[view->buffer.get()] = root(view->source.get());
        all.back().definitions.push_back(*s);
      } else if (let != nullptr && !reads_memory(let->value)) {
        all.back().sizes.push_back(*s);
      } else if (call != nullptr && !is_check(*call, module_)) {
        all.back().calls.push_back(*s);
      } else {
        all.back().end = *s;
        all.emplace_back();
      }
    }
    return all;
  }

  const BufferNode* root(const BufferNode* b) const {
    const auto source = sources_.find(b);
    return source == sources_.end() ? b : source->second;
  }

  // Which section touches a buffer first, and which last: what stays belongs to the one before it.
  void find_ends(const std::vector<Section>& sections) {
    for (std::size_t i = 0; i < sections.size(); ++i) {
      const auto note = [&](const Buffer& b, std::size_t section) {
        auto [it, added] = touched_.try_emplace(root(b.get()), section, section);
        it->second.second = section;
      };
      for (const Stmt& call : sections[i].calls) {
        tir::for_each_node(call, [&](const Buffer& b) { note(b, 2 * i); });
      }
      const auto note_end = [&](const Buffer& b) { note(b, 2 * i + 1); };
      const auto* let = sections[i].end ? sections[i].end.as<tir::LetStmt>() : nullptr;
      if (let != nullptr) {
        tir::for_each_node(let->value, note_end);  // its scope is the sections that follow
      } else if (sections[i].end) {
        tir::for_each_node(sections[i].end, note_end);
      }
    }
  }

  StepGraph graph_of(const Section& section, std::size_t index) {
    StepGraph graph;
    std::map<const BufferNode*, std::uint32_t> numbers;
    std::map<const BufferNode*, Users> users;
    for (std::uint32_t i = 0; i < section.calls.size(); ++i) {
      const auto* call = section.calls[i].as<tir::CallKernel>();
      Step& step = graph.steps.emplace_back();
      step.scratch_bytes = workspace(call->symbol);
      const auto touch = [&](const Buffer& b, bool writes) {
        const BufferNode* memory = root(b.get());
        depend(graph, users[memory], i, writes);
        const std::int64_t bytes = bytes_of(memory);
        if (bytes == 0) return;
        const auto [it, added] =
            numbers.emplace(memory, static_cast<std::uint32_t>(graph.memory.size()));
        if (added) {
          const auto& [first, last] = touched_.at(memory);
          graph.memory.push_back({bytes, 0, first<2 * index, last> 2 * index});
        }
        auto& list = graph.steps[i].memory;
        if (std::find(list.begin(), list.end(), it->second) != list.end()) return;
        list.push_back(it->second);
        ++graph.memory[it->second].steps;
      };
      for (const Buffer& b : call->inputs) touch(b, false);
      for (const Buffer& b : call->outputs) touch(b, true);
    }
    for (std::uint32_t i = 0; i < graph.steps.size(); ++i) {
      for (const std::uint32_t before : graph.steps[i].before) {
        graph.steps[before].after.push_back(i);
      }
    }
    return graph;
  }

  struct Users {
    std::vector<std::uint32_t> readers;  // since the last write
    std::int64_t writer = -1;
  };
  static void depend(StepGraph& graph, Users& users, std::uint32_t step, bool writes) {
    auto& before = graph.steps[step].before;
    const auto add = [&](std::uint32_t other) {
      if (other != step && std::find(before.begin(), before.end(), other) == before.end()) {
        before.push_back(other);
      }
    };
    if (users.writer >= 0) add(static_cast<std::uint32_t>(users.writer));
    if (!writes) return users.readers.push_back(step);
    for (const std::uint32_t reader : users.readers) add(reader);
    users.readers.clear();
    users.writer = step;
  }

  std::int64_t bytes_of(const BufferNode* b) const {
    const auto need = liveness_.of_buffer.find(b);
    return need == liveness_.of_buffer.end()
               ? 0
               : std::max<std::int64_t>(liveness_.needs[need->second].bytes, 0);
  }
  std::int64_t workspace(const std::string& symbol) const {
    const auto need = liveness_.of_workspace.find(symbol);
    return need == liveness_.of_workspace.end() ? 0 : liveness_.needs[need->second].bytes;
  }

  void append(const Section& section, std::size_t index, std::vector<Stmt>& list) {
    list.insert(list.end(), section.sizes.begin(), section.sizes.end());
    std::map<const BufferNode*, const Stmt*> waiting;
    for (const Stmt& d : section.definitions) waiting.emplace(defined_by(d).get(), &d);
    // A buffer is defined where it is used first: one of the heap has memory from there on.
    const auto define = [&](const auto& self, const BufferNode* b) -> void {
      const auto found = waiting.find(b);
      if (found == waiting.end()) return;
      const Stmt definition = *found->second;
      waiting.erase(found);
      if (const auto* view = definition.as<tir::View>()) self(self, view->source.get());
      list.push_back(definition);
    };
    for (const std::uint32_t i : least_alive_order(graph_of(section, index))) {
      const auto* call = section.calls[i].as<tir::CallKernel>();
      for (const Buffer& b : call->inputs) define(define, b.get());
      for (const Buffer& b : call->outputs) define(define, b.get());
      list.push_back(section.calls[i]);
    }
    for (const Stmt& d : section.definitions) define(define, defined_by(d).get());
    if (section.end) list.push_back(section.end);
  }

  // A list of statements, each definition with what follows in its scope.
  static Stmt nested(const std::vector<Stmt>& list) {
    std::vector<Stmt> block;  // from behind
    for (auto s = list.rbegin(); s != list.rend(); ++s) {
      if (tir::scope_of(*s) == nullptr) {
        block.push_back(*s);
        continue;
      }
      std::reverse(block.begin(), block.end());
      const Stmt defined = tir::with_scope(*s, tir::seq(std::move(block)));
      block = {defined};
    }
    std::reverse(block.begin(), block.end());
    return tir::seq(std::move(block));
  }

  const tir::PrimFunc& main_;
  const Module& module_;
  const Liveness liveness_;
  std::map<const BufferNode*, const BufferNode*> sources_;  // of views
  std::map<const BufferNode*, std::pair<std::size_t, std::size_t>> touched_;
};

bool are_all_in(const std::vector<std::vector<int>>& some,
                const std::vector<std::vector<int>>& all) {
  return std::equal(some.begin(), some.end(), all.begin(), all.end(),
                    [](const std::vector<int>& a, const std::vector<int>& b) {
                      return std::includes(b.begin(), b.end(), a.begin(), a.end());
                    });
}

}  // namespace

tir::PrimFunc with_least_alive(const tir::PrimFunc& main, const Module& module) {
  Reorder reorder(main, module);
  tir::PrimFunc ordered = reorder.run();
  const std::int64_t before = reorder.pressure_before();
  const std::int64_t after = pressure(compute_liveness(ordered, module).needs);
  const auto least = static_cast<double>(before) * (1 - kLeastSaved);
  if (static_cast<double>(after) >= least) return main;
  const auto shareable = [&](const tir::PrimFunc& f) {
    return shareable_inputs(f, module, f.inputs.size());
  };
  return are_all_in(shareable(main), shareable(ordered)) ? ordered : main;
}

}  // namespace tessera::plan
