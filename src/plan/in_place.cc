// SPDX-License-Identifier: Apache-2.0
#include "plan/in_place.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>
#include <tuple>

#include <fmt/format.h>

#include "plan/device.h"
#include "tir/compare.h"
#include "tir/own_elements.h"
#include "tir/walk.h"

namespace tessera::plan {
namespace {

using tir::Buffer;
using tir::Expr;
using tir::Stmt;

constexpr const char* kAttr = "in_place";

// The one store to a buffer, and the loops and definitions around it, outermost first.
struct OnlyStore {
  const tir::Store* store = nullptr;
  std::vector<const Stmt*> around;
  int count = 0;
};

void find_store(const Stmt& s, const Buffer& output, std::vector<const Stmt*>& around,
                OnlyStore& found) {
  if (const auto* store = s.as<tir::Store>(); store != nullptr && store->buffer == output) {
    ++found.count;
    found.store = store;
    found.around = around;
  }
  around.push_back(&s);
  tir::for_each_child(s, [&](const Stmt& inner) { find_store(inner, output, around, found); });
  around.pop_back();
}

// Loads of the buffer in an expression; -1 where one is at another place.
int loads_at(const Expr& e, const Buffer& buffer, const std::vector<Expr>& indices) {
  int count = 0;
  bool elsewhere = false;
  tir::for_each_node(e, [&](const Expr& part) {
    const auto* load = part.as<tir::Load>();
    if (load == nullptr || load->buffer != buffer) return;
    ++count;
    elsewhere |= !tir::equal(load->indices, indices);
  });
  return elsewhere ? -1 : count;
}

// Of the loads of `input`, how many are made in the store's own iteration; -1: one is at another
// place.
int loads_of_iteration(const OnlyStore& found, const Buffer& input) {
  int count = loads_at(found.store->value, input, found.store->indices);
  for (auto s = found.around.rbegin(); s != found.around.rend() && count >= 0; ++s) {
    const auto* let = (*s)->as<tir::LetStmt>();
    if (let == nullptr) {
      if ((*s)->as<tir::Seq>() != nullptr) continue;
      break;  // a loop: what is before it belongs to other iterations
    }
    const int more = loads_at(let->value, input, found.store->indices);
    count = more < 0 ? -1 : count + more;
  }
  return count;
}

// Is what these stand around done by one thread? On a device the threads of a team do a statement
// together: one may store before another has read.
bool is_of_one_thread(const std::vector<const Stmt*>& around) {
  bool is_of_team = false;
  for (const Stmt* s : around) {
    const auto* loop = s->as<tir::For>();
    if (loop == nullptr) continue;
    is_of_team |= loop->loop == tir::ForKind::kWarps || loop->loop == tir::ForKind::kBlocks;
    is_of_team &= loop->loop != tir::ForKind::kThreads;
  }
  return !is_of_team;
}

bool has_views(const tir::PrimFunc& kernel) {
  bool found = false;
  tir::for_each_node(kernel.body, [&](const Stmt& s) { found |= s.as<tir::View>() != nullptr; });
  return found;
}

// The needs of a program while some are joined to others.
class Joined {
 public:
  explicit Joined(Liveness& liveness) : liveness_(liveness), moved_to_(liveness.needs.size()) {
    std::iota(moved_to_.begin(), moved_to_.end(), std::size_t{0});
  }

  // Do the operand's need and the result's meet at this call, and nowhere else in it?
  bool may_join(const tir::CallKernel& call, const Buffer& input, const Buffer& output) {
    const std::size_t from = need_of(input), to = need_of(output);
    if (from == kNone || to == kNone || from == to) return false;
    const Need &operand = liveness_.needs[from], &result = liveness_.needs[to];
    if (operand.bytes <= 0 || operand.bytes != result.bytes ||
        operand.align_bytes != result.align_bytes || operand.live.size() != 1 ||
        result.live.size() != 1 || operand.live[0].last != result.live[0].first) {
      return false;
    }
    const auto uses = [&](const std::vector<Buffer>& list, std::size_t need) {
      return std::count_if(list.begin(), list.end(),
                           [&](const Buffer& b) { return need_of(b) == need; });
    };
    return uses(call.inputs, from) == 1 && uses(call.outputs, to) == 1 &&
           uses(call.outputs, from) == 0 && uses(call.inputs, to) == 0;
  }

  void join(const Buffer& input, const Buffer& output) {
    const std::size_t from = need_of(input), to = need_of(output);
    Need &operand = liveness_.needs[from], &result = liveness_.needs[to];
    operand.live[0].last = result.live[0].last;
    if (operand.name.size() < kLongName) {
      operand.name += ", then " + result.name;
    } else if (!operand.name.ends_with("...")) {
      operand.name += ", then ...";
    }
    moved_to_[to] = from;
  }

  // Leaves no need that has become part of another one.
  void finish() {
    std::vector<std::size_t> index(moved_to_.size());
    std::size_t count = 0;
    for (std::size_t i = 0; i < moved_to_.size(); ++i) {
      index[i] = count;
      if (moved_to_[i] != i) continue;
      if (count != i) liveness_.needs[count] = std::move(liveness_.needs[i]);
      ++count;
    }
    liveness_.needs.resize(count);
    for (auto& [buffer, need] : liveness_.of_buffer) need = index[last(need)];
    for (auto& [symbol, need] : liveness_.of_workspace) need = index[need];
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1), kLongName = 80;

  std::size_t last(std::size_t need) {
    while (moved_to_[need] != need) need = moved_to_[need] = moved_to_[moved_to_[need]];
    return need;
  }
  std::size_t need_of(const Buffer& b) {
    const auto it = liveness_.of_buffer.find(b.get());
    return it == liveness_.of_buffer.end() ? kNone : last(it->second);
  }

  Liveness& liveness_;
  std::vector<std::size_t> moved_to_;  // by need; itself where it is not joined to another one
};

}  // namespace

bool computes_in_place(const tir::PrimFunc& kernel, const Buffer& input, const Buffer& output) {
  if (input->dtype != output->dtype || !tir::equal(input->shape, output->shape) ||
      !tir::equal(input->strides, output->strides) || has_views(kernel)) {
    return false;
  }
  OnlyStore found;
  std::vector<const Stmt*> around;
  find_store(kernel.body, output, around, found);
  if (found.count != 1 || !is_of_one_thread(found.around)) return false;
  int loads = 0;
  bool reads_output = false;
  tir::for_each_node(kernel.body, [&](const Expr& e) {
    const auto* load = e.as<tir::Load>();
    if (load == nullptr) return;
    loads += load->buffer == input;
    reads_output |= load->buffer == output;
  });
  if (reads_output || loads_of_iteration(found, input) != loads) return false;
  return std::all_of(found.around.begin(), found.around.end(), [&](const Stmt* s) {
    const auto* loop = s->as<tir::For>();
    return s->as<tir::While>() == nullptr &&
           (loop == nullptr ||
            tir::differs_between_iterations(*loop, output, found.store->indices));
  });
}

std::vector<std::pair<std::size_t, std::size_t>> in_place_of(const tir::PrimFunc& kernel) {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  const auto text = kernel.attrs.find(kAttr);
  if (text == kernel.attrs.end()) return pairs;
  const char *at = text->second.data(), *end = at + text->second.size();
  while (at != end) {
    auto& [input, output] = pairs.emplace_back();
    at = std::from_chars(at, end, input).ptr + 1;  // `>`
    at = std::from_chars(at, end, output).ptr;
    if (at != end) ++at;  // a space
  }
  return pairs;
}

Module mark_in_place(Module module) {
  using Pair = std::tuple<std::string, std::size_t, std::size_t>;
  std::map<Pair, bool> known;
  for (const auto& [name, main] : module.prim_funcs) {
    if (!main.is_host) continue;
    Liveness liveness = compute_liveness(main, module);
    Joined needs(liveness);
    tir::for_each_node(main.body, [&](const Stmt& s) {
      const auto* call = s.as<tir::CallKernel>();
      if (call == nullptr || module.externs.at(call->symbol).artifact >= 0) return;
      const tir::PrimFunc& f = module.prim_funcs.at(call->symbol);
      for (std::size_t i = 0; i < call->inputs.size(); ++i) {
        for (std::size_t o = 0; o < call->outputs.size(); ++o) {
          if (!needs.may_join(*call, call->inputs[i], call->outputs[o])) continue;
          const auto [it, added] = known.try_emplace({call->symbol, i, o}, false);
          if (added) it->second = computes_in_place(f, f.inputs[i], f.outputs[o]);
        }
      }
    });
  }
  for (const auto& [pair, is_possible] : known) {
    if (!is_possible) continue;
    const auto& [symbol, input, output] = pair;
    std::string& text = module.prim_funcs.at(symbol).attrs[kAttr];
    text += fmt::format("{}{}>{}", text.empty() ? "" : " ", input, output);
  }
  return module;
}

void share_in_place(const tir::PrimFunc& main, const Module& module, Liveness& liveness) {
  Joined needs(liveness);
  tir::for_each_node(main.body, [&](const Stmt& s) {
    const auto* call = s.as<tir::CallKernel>();
    const auto kernel =
        call == nullptr ? module.prim_funcs.end() : module.prim_funcs.find(call->symbol);
    if (kernel == module.prim_funcs.end()) return;
    for (const auto& [i, o] : in_place_of(kernel->second)) {
      const Buffer &input = call->inputs[i], &output = call->outputs[o];
      if (needs.may_join(*call, input, output)) needs.join(input, output);
    }
  });
  needs.finish();
}

}  // namespace tessera::plan
