// SPDX-License-Identifier: Apache-2.0
#include "lower/stages.h"

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "lower/element_cost.h"
#include "tir/compare.h"
#include "tir/index_form.h"
#include "tir/walk.h"

namespace tessera::lower {
namespace {

using tir::Expr;
using tir::IterAxis;
using tir::TensorRef;

// What storing an element and loading it again is worth, in units of element_cost.
constexpr double kRoundTripCost = 8;
constexpr double kFreeOperations = 3;

bool is_one(const Expr& e) { return tir::is_int(e, 1); }

double extent_or(const Expr& e, double unknown) {
  const std::int64_t* value = tir::as_int(e);
  return value != nullptr ? static_cast<double>(*value) : unknown;
}
double product(const std::vector<Expr>& extents) {
  double p = 1;
  for (const Expr& e : extents) p *= extent_or(e, 256);
  return p;
}

// Definitions reachable from the outputs, each before all that it reads.
std::vector<TensorRef> readers_first(const Definitions& d) {
  std::vector<TensorRef> order;
  std::unordered_set<const tir::TensorNode*> seen;
  const auto visit = [&](auto& self, const TensorRef& t) -> void {
    if (!seen.insert(t.get()).second) return;
    if (t->body) {
      tir::for_each_node(t->body, [&](const Expr& e) {
        if (const auto* r = e.as<tir::Read>()) self(self, r->tensor);
      });
    }
    order.push_back(t);
  };
  for (const auto& out : d.outputs) visit(visit, out.ref());
  std::reverse(order.begin(), order.end());
  return order;
}

bool reads(const Expr& e, const tir::TensorNode* tensor) {
  bool found = false;
  tir::for_each_node(e, [&](const Expr& part) {
    const auto* r = part.as<tir::Read>();
    found |= r != nullptr && r->tensor.get() == tensor;
  });
  return found;
}

// Replaces reads of one tensor.
class ReadReplacer : public tir::Mutator {
 public:
  using Replacement = std::function<Expr(const tir::Read&, const Expr& whole)>;
  ReadReplacer(const tir::TensorNode* tensor, Replacement f) : tensor_(tensor), f_(std::move(f)) {}
  using Mutator::mutate;
  Expr mutate(const Expr& e) override {
    const Expr inner = Mutator::mutate(e);
    const auto* r = inner.as<tir::Read>();
    return r != nullptr && r->tensor.get() == tensor_ ? f_(*r, inner) : inner;
  }

 private:
  const tir::TensorNode* tensor_;
  Replacement f_;
};

// A stage while definitions are still being substituted into it.
struct OpenStage {
  Stage stage;
  tir::Bounds bounds;

  double iterations() const {
    double n = 1;
    for (const IterAxis& a : stage.axes) n *= extent_or(a.extent, 256);
    for (const IterAxis& a : stage.reduction) n *= extent_or(a.extent, 256);
    return n;
  }

  // The distinct places at which the stage reads `tensor`.
  std::vector<std::vector<Expr>> places(const tir::TensorNode* tensor) const {
    std::vector<std::vector<Expr>> found;
    const auto collect = [&](const Expr& e) {
      const auto* r = e.as<tir::Read>();
      if (r == nullptr || r->tensor.get() != tensor) return;
      if (find(found, r->indices) == found.size()) found.push_back(r->indices);
    };
    for (const StageLet& let : stage.lets) tir::for_each_node(let.value, collect);
    tir::for_each_node(stage.value, collect);
    return found;
  }

  static std::size_t find(const std::vector<std::vector<Expr>>& list,
                          const std::vector<Expr>& indices) {
    std::size_t i = 0;
    for (; i < list.size(); ++i) {
      const bool same = std::equal(indices.begin(), indices.end(), list[i].begin(),
                                   [](const Expr& a, const Expr& b) { return tir::equal(a, b); });
      if (same) break;
    }
    return i;
  }

  // Innermost reads first: where a tensor is an index into itself, replacing the inner read changes
  // the place of the outer one.
  void substitute(const TensorRef& tensor) {
    while (substitute_innermost(tensor)) {
    }
  }

  // False where nothing is left to replace.
  bool substitute_innermost(const TensorRef& tensor) {
    auto where = places(tensor.get());
    std::erase_if(where, [&](const std::vector<Expr>& indices) {
      return std::any_of(indices.begin(), indices.end(),
                         [&](const Expr& i) { return reads(i, tensor.get()); });
    });
    if (where.empty()) return false;
    std::vector<Expr> replacement;
    std::vector<StageLet> fresh;
    for (const auto& indices : where) {
      tir::VarMap at;
      for (std::size_t i = 0; i < indices.size(); ++i) at[tensor->axes[i].get()] = indices[i];
      const Expr value = tir::simplify_indices(tir::substitute(tensor->body, at), bounds);
      if (is_trivial(value)) {
        replacement.push_back(value);
      } else {
        replacement.push_back(tir::make_var(tensor->name, tensor->dtype));
        fresh.push_back({replacement.back(), value});
      }
    }
    ReadReplacer replace(tensor.get(), [&](const tir::Read& read, const Expr& whole) {
      const std::size_t at = find(where, read.indices);
      return at == where.size() ? whole : replacement[at];
    });
    for (StageLet& let : stage.lets) let.value = replace.mutate(let.value);
    stage.value = replace.mutate(stage.value);
    for (StageLet& let : fresh) insert(std::move(let));
    return true;
  }

  // In front of its readers, but behind what its own value reads: an index may be a named scalar.
  void insert(StageLet let) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < stage.lets.size(); ++i) {
      if (tir::uses_var(let.value, stage.lets[i].var)) at = i + 1;
    }
    stage.lets.insert(stage.lets.begin() + static_cast<std::ptrdiff_t>(at), std::move(let));
  }
};

// Uses of the lets' variables in an expression; those below a Select's branches count as
// conditional.
struct Uses {
  int unconditional = 0, conditional = 0;
};
using UseMap = std::unordered_map<const tir::ExprNode*, Uses>;

void count_uses(const Expr& e, bool conditional, int times, UseMap& uses) {
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

// Lets that are read once, or only where a Select chooses them (they may read out of bounds
// elsewhere), go back into their reader.
void keep_shared_lets(Stage& stage) {
  UseMap uses;
  for (const StageLet& let : stage.lets) uses[let.var.get()] = {};
  count_uses(stage.value, false, 1, uses);
  std::vector<bool> keep(stage.lets.size());
  for (std::size_t i = stage.lets.size(); i-- > 0;) {
    const Uses u = uses[stage.lets[i].var.get()];
    keep[i] = u.unconditional > 0 && u.unconditional + u.conditional > 1;
    const int times = keep[i] ? 1 : u.unconditional + u.conditional;
    count_uses(stage.lets[i].value, !keep[i] && u.unconditional == 0, times, uses);
  }
  tir::VarMap inlined;
  std::vector<StageLet> kept;
  for (std::size_t i = 0; i < stage.lets.size(); ++i) {
    const Expr value = tir::substitute(stage.lets[i].value, inlined);
    if (keep[i]) {
      kept.push_back({stage.lets[i].var, value});
    } else {
      inlined[stage.lets[i].var.get()] = value;
    }
  }
  stage.value = tir::substitute(stage.value, inlined);
  stage.lets = std::move(kept);
}

std::vector<IterAxis> without_unit_axes(const std::vector<IterAxis>& axes, tir::VarMap& replaced,
                                        tir::Bounds& bounds) {
  std::vector<IterAxis> kept;
  for (const IterAxis& a : axes) {
    if (is_one(a.extent)) {
      replaced[a.var.get()] = tir::int_imm(0);
      continue;
    }
    kept.push_back({tir::make_var(a.var.as<tir::Var>()->name), a.extent});
    replaced[a.var.get()] = kept.back().var;
    bounds.set_loop(kept.back().var, 0, a.extent);
  }
  return kept;
}

OpenStage open_stage(const TensorRef& tensor) {
  static const char* const kNames[] = {"i", "j", "k", "l", "m", "n", "o", "p"};
  OpenStage open;
  Stage& s = open.stage;
  s.tensor = tensor;
  std::vector<IterAxis> axes;
  for (std::size_t i = 0; i < tensor->shape.size(); ++i) {
    axes.push_back({tir::make_var(kNames[i % 8]), tensor->shape[i]});
  }
  tir::VarMap replaced;
  s.axes = without_unit_axes(axes, replaced, open.bounds);
  for (const IterAxis& a : axes) s.indices.push_back(replaced[a.var.get()]);
  if (!tensor->body) {  // an input or a table: a copy of it
    s.value = tir::Read::make(tensor->dtype, tensor, s.indices);
    return open;
  }
  for (std::size_t i = 0; i < axes.size(); ++i) replaced[tensor->axes[i].get()] = s.indices[i];
  Expr body = tensor->body;
  if (const auto* r = body.as<tir::Reduce>()) {
    s.reduces = true;
    s.op = r->op;
    s.reduction = without_unit_axes(r->axes, replaced, open.bounds);
    body = r->value;
  }
  s.value = tir::simplify_indices(tir::substitute(body, replaced), open.bounds);
  return open;
}

// Would computing `t` where it is read cost more than storing it? Loops without reduction wait for
// memory, so that a few operations in them are free.
bool needs_memory(const TensorRef& t, const std::vector<OpenStage>& readers) {
  if (t->body.as<tir::Reduce>() != nullptr) return true;
  const double cost = element_cost(t->body), size = std::max(1.0, product(t->shape));
  double inlined = 0;
  for (const OpenStage& s : readers) {
    const double each = s.stage.reduces ? cost : std::max(0.0, cost - kFreeOperations);
    inlined += static_cast<double>(s.places(t.get()).size()) * s.iterations() * each;
  }
  return inlined - size * cost > kRoundTripCost * size;
}

}  // namespace

std::vector<Stage> choose_stages(const Definitions& d) {
  std::vector<OpenStage> open;
  const auto outputs_of = [&](const TensorRef& t) {
    std::vector<int> which;
    for (std::size_t i = 0; i < d.outputs.size(); ++i) {
      if (d.outputs[i].ref() == t) which.push_back(static_cast<int>(i));
    }
    return which;
  };
  for (const TensorRef& t : readers_first(d)) {
    const std::vector<int> outputs = outputs_of(t);
    for (int which : outputs) {
      // A second output of the same tensor, or an output that is an input, is a copy.
      const bool first = which == outputs.front();
      open.push_back(open_stage(t));
      open.back().stage.output = which;
      if (!first && t->body) {
        open.back().stage.lets.clear();
        open.back().stage.value = tir::Read::make(t->dtype, t, open.back().stage.indices);
        open.back().stage.reduces = false;
        open.back().stage.reduction.clear();
        std::swap(open.back(), open[open.size() - 2]);  // the definition runs before its copy
      }
    }
    if (!t->body || !outputs.empty()) continue;
    if (needs_memory(t, open)) {
      open.push_back(open_stage(t));
    } else {
      for (OpenStage& s : open) s.substitute(t);
    }
  }
  std::vector<Stage> stages;
  for (auto it = open.rbegin(); it != open.rend(); ++it) {
    keep_shared_lets(it->stage);
    stages.push_back(std::move(it->stage));
  }
  return stages;
}

}  // namespace tessera::lower
