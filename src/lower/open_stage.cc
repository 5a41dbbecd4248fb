// SPDX-License-Identifier: Apache-2.0
#include "lower/open_stage.h"

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "lower/element_cost.h"
#include "tir/compare.h"
#include "tir/walk.h"

namespace tessera::lower {
namespace {

using tir::Expr;
using tir::IterAxis;
using tir::TensorRef;
using Indices = std::vector<Expr>;

bool is_one(const Expr& e) { return tir::is_int(e, 1); }

double extent_or(const Expr& e, double unknown) {
  const std::int64_t* value = tir::as_int(e);
  return value != nullptr ? static_cast<double>(*value) : unknown;
}

// Different places of one tensor, in the order in which they were found.
class Places {
 public:
  void add(const Indices& indices) {
    if (number_of(indices)) return;
    by_hash_[hash_of(indices)].push_back(list_.size());
    list_.push_back(indices);
  }
  const std::vector<Indices>& list() const { return list_; }
  std::optional<std::size_t> number_of(const Indices& indices) const {
    const auto it = by_hash_.find(hash_of(indices));
    if (it == by_hash_.end()) return std::nullopt;
    for (const std::size_t i : it->second) {
      if (std::equal(indices.begin(), indices.end(), list_[i].begin(),
                     [](const Expr& a, const Expr& b) { return tir::equal(a, b); })) {
        return i;
      }
    }
    return std::nullopt;
  }

 private:
  static std::uint64_t hash_of(const Indices& indices) {
    std::uint64_t h = 0;
    for (const Expr& i : indices) h = h * 0x9e3779b97f4a7c15u + tir::hash(i);
    return h;
  }

  std::vector<Indices> list_;
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> by_hash_;
};

template <class F>
void for_each_read(const Stage& stage, const tir::TensorNode* tensor, F&& f) {
  const auto look = [&](const Expr& e) {
    const auto* r = e.as<tir::Read>();
    if (r != nullptr && r->tensor.get() == tensor) f(*r);
  };
  for (const StageLet& let : stage.lets) tir::for_each_node(let.value, look);
  tir::for_each_node(stage.value, look);
}

// Is the tensor an index into itself here?
bool is_nested(const tir::Read& read) {
  bool found = false;
  for (const Expr& i : read.indices) {
    tir::for_each_node(i, [&](const Expr& part) {
      const auto* r = part.as<tir::Read>();
      found |= r != nullptr && r->tensor == read.tensor;
    });
  }
  return found;
}

bool has_read(const Expr& e) {
  bool found = false;
  tir::for_each_node(e, [&](const Expr& node) { found |= node.as<tir::Read>() != nullptr; });
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

}  // namespace

double product(const std::vector<Expr>& extents) {
  double p = 1;
  for (const Expr& e : extents) p *= extent_or(e, 256);
  return p;
}

OpenStage OpenStage::of(const TensorRef& tensor) {
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

double OpenStage::iterations() const {
  double n = 1;
  for (const IterAxis& a : stage.axes) n *= extent_or(a.extent, 256);
  for (const IterAxis& a : stage.reduction) n *= extent_or(a.extent, 256);
  return n;
}

OpenStage::NumPlaces OpenStage::places(const tir::TensorNode* tensor) const {
  Places where;
  for_each_read(stage, tensor, [&](const tir::Read& r) { where.add(r.indices); });
  const auto by_data = std::ranges::count_if(where.list(), [](const Indices& indices) {
    return !indices.empty() && has_read(indices.back());
  });
  return {where.list().size(), static_cast<std::size_t>(by_data)};
}

// Innermost reads first: where a tensor is an index into itself, replacing the inner read changes
// the place of the outer one.
void OpenStage::substitute(const TensorRef& tensor) {
  while (substitute_innermost(tensor)) {
  }
}

// False where nothing is left to replace.
bool OpenStage::substitute_innermost(const TensorRef& tensor) {
  Places where;
  for_each_read(stage, tensor.get(), [&](const tir::Read& r) {
    if (!is_nested(r)) where.add(r.indices);
  });
  if (where.list().empty()) return false;
  std::vector<Expr> replacement;
  std::vector<StageLet> fresh;
  for (const Indices& indices : where.list()) {
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
    const auto number = where.number_of(read.indices);
    return number ? replacement[*number] : whole;
  });
  for (StageLet& let : stage.lets) let.value = replace.mutate(let.value);
  stage.value = replace.mutate(stage.value);
  for (StageLet& let : fresh) insert(std::move(let));
  return true;
}

// Before its readers, but after what its own value reads: an index may be a named scalar.
void OpenStage::insert(StageLet let) {
  std::unordered_set<const tir::ExprNode*> read;
  tir::for_each_node(let.value, [&](const Expr& e) {
    if (e.as<tir::Var>() != nullptr) read.insert(e.get());
  });
  std::size_t at = stage.lets.size();
  while (at > 0 && !read.contains(stage.lets[at - 1].var.get())) --at;
  stage.lets.insert(stage.lets.begin() + static_cast<std::ptrdiff_t>(at), std::move(let));
}

}  // namespace tessera::lower
