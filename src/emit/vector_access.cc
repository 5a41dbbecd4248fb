// SPDX-License-Identifier: Apache-2.0
#include "emit/vector_access.h"

#include <cmath>
#include <optional>
#include <set>

#include "emit/flat_offset.h"
#include "tir/buffer.h"
#include "tir/compare.h"
#include "tir/expr_ops.h"
#include "tir/walk.h"

namespace tessera::emit {
namespace {

using tir::Buffer;
using tir::Expr;
using tir::Stmt;

class Rewriter : public tir::Mutator {
 public:
  Rewriter(const tir::For& loop, const tir::Bounds& bounds)
      : var_(loop.var), width_(*tir::as_int(loop.extent)), bounds_(bounds) {
    tir::for_each_node(loop.body, [&](const Stmt& s) {
      if (const auto* store = s.as<tir::Store>()) written_.insert(store->buffer.get());
      if (const auto* let = s.as<tir::LetStmt>()) inner_.push_back(let->var);
    });
    tir::for_each_node(loop.body, [&](const Expr& e) {
      if (const auto* load = e.as<tir::Load>()) read_.insert(load->buffer.get());
    });
    out_.body = mutate(loop.body);
  }
  VectorAccess take() { return std::move(out_); }

  using Mutator::mutate;
  Expr mutate(const Expr& e) override {
    if (const auto* choice = e.as<tir::Select>(); choice != nullptr && conditional_ == 0) {
      if (Expr out = load_or_zero(*choice)) return out;
    }
    // What is not evaluated always may be out of bounds.
    const bool choice =
        e.as<tir::Select>() != nullptr || e.as<tir::And>() != nullptr || e.as<tir::Or>() != nullptr;
    conditional_ += choice ? 1 : 0;
    const auto* load = e.as<tir::Load>();
    Expr out = load != nullptr && conditional_ == 0 ? vector_load(*load, {}) : Expr();
    if (!out) out = Mutator::mutate(e);
    conditional_ -= choice ? 1 : 0;
    return out;
  }
  Stmt mutate(const Stmt& s) override {
    if (s.as<tir::IfThenElse>() != nullptr || s.as<tir::For>() != nullptr) {
      ++conditional_;
      const Stmt out = Mutator::mutate(s);
      --conditional_;
      return out;
    }
    const auto* store = s.as<tir::Store>();
    if (store == nullptr || conditional_ > 0 || read_.contains(store->buffer.get())) {
      return Mutator::mutate(s);
    }
    const auto start = start_of(store->buffer, store->indices);
    if (!start) return Mutator::mutate(s);
    const Buffer vector = vector_of(out_.stores, store->buffer, *start);
    return tir::Store::make(vector, std::vector<Expr>{var_}, mutate(store->value));
  }

 private:
  Expr vector_load(const tir::Load& load, const Expr& condition) {
    if (written_.contains(load.buffer.get())) return {};
    const auto start = start_of(load.buffer, load.indices);
    if (!start) return {};
    return tir::load(vector_of(out_.loads, load.buffer, *start, condition), {var_});
  }

  // A border around an image: outside of it there is zero, for all iterations alike.
  Expr load_or_zero(const tir::Select& choice) {
    const auto* load = choice.yes.as<tir::Load>();
    const auto* zero = choice.no.as<tir::FloatImm>();
    const bool is_zero = tir::is_int(choice.no, 0) ||
                         (zero != nullptr && zero->value == 0 && !std::signbit(zero->value));
    if (load == nullptr || !is_zero) return {};
    bool varies = tir::uses_var(choice.condition, var_);
    tir::for_each_node(choice.condition, [&](const Expr& e) {
      varies |= e.as<tir::Load>() != nullptr;
      for (const Expr& let : inner_) varies |= e.same_as(let);
    });
    return varies ? Expr() : vector_load(*load, choice.condition);
  }

  // Indices at the first iteration, if the place moves by one element an iteration from a multiple
  // of the width on.
  std::optional<std::vector<Expr>> start_of(const Buffer& b, const std::vector<Expr>& indices) {
    if (b->scope == tir::MemoryScope::kStack) return std::nullopt;
    if (b->scope == tir::MemoryScope::kShared || width_ < 2) return std::nullopt;
    const tir::IndexForm form = index_form(flat_offset(b, indices), bounds_);
    if (form.hides(var_) || form.coefficient(var_) != 1 || form.constant % width_ != 0) {
      return std::nullopt;
    }
    for (const tir::IndexTerm& t : form.terms) {
      if (!t.atom.same_as(var_) && t.coefficient % width_ != 0) return std::nullopt;
      for (const Expr& let : inner_) {
        if (tir::uses_var(t.atom, let)) return std::nullopt;  // not known before the loop
      }
    }
    std::vector<Expr> start;
    for (const Expr& e : indices) start.push_back(tir::substitute(e, {{var_.get(), Expr(0)}}));
    return start;
  }

  Buffer vector_of(std::vector<VectorBuffer>& list, const Buffer& memory,
                   const std::vector<Expr>& start, const Expr& condition = {}) {
    for (const VectorBuffer& v : list) {
      bool same = v.memory == memory && !v.condition == !condition &&
                  (!condition || equal(v.condition, condition));
      for (std::size_t i = 0; same && i < start.size(); ++i) same = equal(v.indices[i], start[i]);
      if (same) return v.vector;
    }
    const Buffer vector = tir::make_buffer(memory->name + "_vector", memory->dtype, {Expr(width_)},
                                           tir::MemoryScope::kStack);
    list.push_back({memory, vector, start, condition});
    return vector;
  }

  Expr var_;
  std::int64_t width_;
  const tir::Bounds& bounds_;
  std::set<const tir::BufferNode*> written_, read_;
  std::vector<Expr> inner_;
  int conditional_ = 0;
  VectorAccess out_;
};

}  // namespace

VectorAccess vector_access(const tir::For& loop, const tir::Bounds& bounds) {
  if (tir::as_int(loop.extent) == nullptr) return {{}, {}, Stmt(loop.body)};
  return Rewriter(loop, bounds).take();
}

}  // namespace tessera::emit
