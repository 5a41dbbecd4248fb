// SPDX-License-Identifier: Apache-2.0
#include "lower/stages.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "lower/element_cost.h"
#include "lower/open_stage.h"
#include "lower/stage_lets.h"
#include "tir/walk.h"

namespace tessera::lower {
namespace {

using tir::Expr;
using tir::TensorRef;

// What storing an element and loading it again is worth, in units of element_cost.
constexpr double kRoundTripCost = 8;
constexpr double kFreeOperations = 3;
constexpr double kManyTimes = 16;
// Where data say which element comes next, each is loaded alone, and not as a part of a vector.
constexpr double kLoneLoadCost = 4;

// Nodes of a stage that has taken in more than it had to. A definition that is read at one place
// only may always be taken in, with this much for what its indices become.
constexpr double kLargestStage = 1024, kLargestIndices = 64;
// A definition that would be written this many times what is allowed is not tried: it may well be
// simpler where it is read, but hardly by so much.
constexpr double kLargestTrial = 16;

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

// Reads of other tensors that follow the last axis of `t`.
double reads_along_last_axis(const TensorRef& t) {
  if (t->axes.empty()) return 0;
  double count = 0;
  tir::for_each_node(t->body, [&](const Expr& e) {
    const auto* r = e.as<tir::Read>();
    const bool follows = r != nullptr && std::ranges::any_of(r->indices, [&](const Expr& index) {
                           return tir::uses_var(index, t->axes.back());
                         });
    count += follows ? 1 : 0;
  });
  return count;
}

// Of an element, with all that is no larger than `t` and would be computed for it.
double chain_cost(const TensorRef& t) {
  const double size = product(t->shape);
  double cost = 0;
  std::unordered_set<const tir::TensorNode*> seen;
  const auto visit = [&](auto& self, const TensorRef& part) -> void {
    if (!part->body || part->body.as<tir::Reduce>() != nullptr) return;
    if (product(part->shape) > size || !seen.insert(part.get()).second) return;
    cost += element_cost(part->body);
    tir::for_each_node(part->body, [&](const Expr& e) {
      if (const auto* r = e.as<tir::Read>()) self(self, r->tensor);
    });
  };
  visit(visit, t);
  return cost;
}

// Is each of its elements needed many times wherever it is read?
bool is_repeated(const TensorRef& t, double size, const std::vector<OpenStage>& readers) {
  return std::ranges::all_of(readers, [&](const OpenStage& s) {
    return s.iterations() >= kManyTimes * size || s.places(t.get()).all == 0;
  });
}

// Would computing `t` where it is read cost more than storing it? Loops without reduction wait for
// memory, so that a few operations in them are free. What many elements have in common is stored at
// the end of its chain, no part of which may be dear by itself.
bool needs_memory(const TensorRef& t, const std::vector<OpenStage>& readers) {
  if (t->body.as<tir::Reduce>() != nullptr) return true;
  const double size = std::max(1.0, product(t->shape));
  const double cost =
      size > 1 && is_repeated(t, size, readers) ? chain_cost(t) : element_cost(t->body);
  // One lone load, of the element, is needed in any case.
  const double lone_loads = kLoneLoadCost * std::max(0.0, reads_along_last_axis(t) - 1);
  double inlined = 0;
  for (const OpenStage& s : readers) {
    const double each = s.stage.reduces ? cost : std::max(0.0, cost - kFreeOperations);
    const auto [places, by_data] = s.places(t.get());
    inlined += s.iterations() *
               (static_cast<double>(places) * each + static_cast<double>(by_data) * lone_loads);
  }
  return inlined - size * cost > kRoundTripCost * size;
}

// Substitutes `t` into the stages, unless one of them would become too large by it: what is read at
// two places, and reads something at two places itself, doubles with each definition.
bool substitute(const TensorRef& t, std::vector<OpenStage>& stages) {
  const double body = written_size(t->body);
  std::vector<std::pair<OpenStage*, OpenStage>> grown;
  for (OpenStage& s : stages) {
    const auto places = static_cast<double>(s.places(t.get()).all);
    if (places == 0) continue;
    const double most = std::max(kLargestStage, written_size(s.stage) + body + kLargestIndices);
    if (places * body > kLargestTrial * most) return false;
    OpenStage next = s;
    next.substitute(t);
    if (written_size(next.stage) > most) return false;
    grown.emplace_back(&s, std::move(next));
  }
  for (auto& [stage, next] : grown) *stage = std::move(next);
  return true;
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
      open.push_back(OpenStage::of(t));
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
    if (needs_memory(t, open) || !substitute(t, open)) open.push_back(OpenStage::of(t));
  }
  std::vector<Stage> stages;
  for (auto it = open.rbegin(); it != open.rend(); ++it) {
    keep_shared_lets(it->stage);
    stages.push_back(std::move(it->stage));
  }
  return stages;
}

}  // namespace tessera::lower
