// SPDX-License-Identifier: Apache-2.0
#include "lower/stage_lets.h"

#include <unordered_map>
#include <utility>

#include "tir/walk.h"

namespace tessera::lower {
namespace {

using tir::Expr;

// A tree may be far larger than the nodes that it shares.
class SizeOfTrees {
 public:
  double of(const Expr& e) {
    if (const auto it = known_.find(e.get()); it != known_.end()) return it->second;
    double size = 1;
    tir::for_each_child(e, [&](const Expr& child) { size += of(child); });
    return known_[e.get()] = size;
  }

 private:
  std::unordered_map<const tir::ExprNode*, double> known_;
};

// Uses of the lets' variables in an expression; those below a Select's branches count as
// conditional.
struct Uses {
  double unconditional = 0, conditional = 0;
  double all() const { return unconditional + conditional; }
};
using UseMap = std::unordered_map<const tir::ExprNode*, Uses>;

void count_uses(const Expr& e, bool conditional, double times, UseMap& uses) {
  if (e.as<tir::Var>() != nullptr) {
    if (const auto it = uses.find(e.get()); it != uses.end()) {
      (conditional ? it->second.conditional : it->second.unconditional) += times;
    }
    return;
  }
  if (const auto* s = e.as<tir::Select>()) {
    count_uses(s->condition, conditional, times, uses);
    count_uses(s->yes, true, times, uses);
    count_uses(s->no, true, times, uses);
    return;
  }
  tir::for_each_child(e, [&](const Expr& child) { count_uses(child, conditional, times, uses); });
}

// How often each let is written: once before the value where it stays.
struct Writing {
  bool stays = false;
  double times = 0;
};
std::vector<Writing> writings(const Stage& stage) {
  UseMap uses;
  for (const StageLet& let : stage.lets) uses[let.var.get()] = {};
  count_uses(stage.value, false, 1, uses);
  std::vector<Writing> written(stage.lets.size());
  for (std::size_t i = stage.lets.size(); i-- > 0;) {
    const Uses u = uses[stage.lets[i].var.get()];
    const bool stays = u.unconditional > 0 && u.all() > 1;
    written[i] = {stays, stays ? 1 : u.all()};
    count_uses(stage.lets[i].value, u.unconditional == 0, written[i].times, uses);
  }
  return written;
}

}  // namespace

double written_size(const Expr& e) { return SizeOfTrees().of(e); }

double written_size(const Stage& stage) {
  SizeOfTrees size;
  const std::vector<Writing> written = writings(stage);
  double sum = size.of(stage.value);
  for (std::size_t i = 0; i < written.size(); ++i) {
    sum += written[i].times * size.of(stage.lets[i].value);
  }
  return sum;
}

void keep_shared_lets(Stage& stage) {
  const std::vector<Writing> written = writings(stage);
  tir::VarMap inlined;
  std::vector<StageLet> kept;
  for (std::size_t i = 0; i < stage.lets.size(); ++i) {
    const Expr value = tir::substitute(stage.lets[i].value, inlined);
    if (written[i].stays) {
      kept.push_back({stage.lets[i].var, value});
    } else {
      inlined[stage.lets[i].var.get()] = value;
    }
  }
  stage.value = tir::substitute(stage.value, inlined);
  stage.lets = std::move(kept);
}

}  // namespace tessera::lower
