// SPDX-License-Identifier: Apache-2.0
#include "emit/vector_access.h"

#include <algorithm>
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
      if (const Expr first = first_of(e)) return vector_load(e.dtype(), first);
      if (Expr out = one_of_few(e, *choice)) return out;
    }
    // What is not evaluated always may be out of bounds.
    const bool choice =
        e.as<tir::Select>() != nullptr || e.as<tir::And>() != nullptr || e.as<tir::Or>() != nullptr;
    conditional_ += choice ? 1 : 0;
    const auto* load = e.as<tir::Load>();
    Expr out;
    if (load != nullptr && conditional_ == 0) {
      if (const Expr first = first_of(e)) out = vector_load(e.dtype(), first);
    }
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
    const Buffer vector = vector_of(store->buffer, *start);
    return tir::Store::make(vector, std::vector<Expr>{var_}, mutate(store->value));
  }

 private:
  // What the first iteration reads, where the others read its neighbours: a load, or a choice among
  // loads that all iterations make alike, as the parts of a concatenation are.
  Expr first_of(const Expr& e) {
    if (const auto* load = e.as<tir::Load>()) {
      if (written_.contains(load->buffer.get())) return {};
      const auto start = start_of(load->buffer, load->indices);
      return start ? tir::load(load->buffer, *start) : Expr();
    }
    const auto* choice = e.as<tir::Select>();
    if (choice == nullptr) return {};
    const Expr condition = shared(choice->condition);
    const Expr yes = condition ? first_of(choice->yes) : Expr();
    const Expr no = yes ? first_of(choice->no) : Expr();
    return no ? tir::select(condition, yes, no) : Expr();
  }

  // A border around an image: outside of it there is zero, for all iterations alike.
  Expr load_or_zero(const tir::Select& choice) {
    const auto* zero = choice.no.as<tir::FloatImm>();
    const bool is_zero = tir::is_int(choice.no, 0) ||
                         (zero != nullptr && zero->value == 0 && !std::signbit(zero->value));
    if (choice.yes.as<tir::Load>() == nullptr || !is_zero) return {};
    const Expr condition = shared(choice.condition);
    const Expr first = condition ? first_of(choice.yes) : Expr();
    return first ? vector_load(choice.yes.dtype(), first, condition) : Expr();
  }

  // What is computed of vectors, one side or the other for all iterations alike: each side's are
  // read where it is chosen. Registers are kept for all, so there may not be many.
  Expr one_of_few(const Expr& e, const tir::Select& choice) {
    constexpr int kMostChoices = 3;
    int choices = 0;
    tir::for_each_node(e, [&](const Expr& n) { choices += n.as<tir::Select>() != nullptr; });
    const Expr condition = choices <= kMostChoices ? shared(choice.condition) : Expr();
    if (!condition) return {};
    const Expr before = chosen_where_;
    const auto where = [&](const Expr& c, const Expr& side) {
      chosen_where_ = both(before, c);
      return mutate(side);
    };
    const Expr yes = where(condition, choice.yes);
    const Expr no = where(tir::logical_not(condition), choice.no);
    chosen_where_ = before;
    return tir::select(condition, yes, no);
  }
  // Either may say nothing.
  static Expr both(const Expr& a, const Expr& b) {
    return a && b ? tir::logical_and(a, b) : a ? a : b;
  }

  // The condition as the first iteration has it, if it says the same in all of them.
  Expr shared(const Expr& condition) {
    bool varies = false;
    tir::for_each_node(condition, [&](const Expr& e) {
      varies |= e.as<tir::Load>() != nullptr;
      for (const Expr& let : inner_) varies |= e.same_as(let);
    });
    if (varies) return {};
    if (!tir::uses_var(condition, var_)) return condition;
    if (const auto* all = condition.as<tir::And>()) {
      const Expr a = shared(all->a), b = a ? shared(all->b) : Expr();
      return b ? tir::logical_and(a, b) : Expr();
    }
    // Between multiples of the width, no iteration makes the smaller side the larger one.
    const auto* less = condition.as<tir::Lt>();
    if (less == nullptr || !less->a.dtype().is_int()) return {};
    const tir::IndexForm form = index_form(less->a - less->b, bounds_);
    return begins_at_multiples(form) ? simplify_indices(at_first(condition), bounds_) : Expr();
  }

  // Does the form grow by one an iteration from a multiple of the width on?
  bool begins_at_multiples(const tir::IndexForm& form) const {
    if (form.hides(var_) || form.coefficient(var_) != 1 || form.constant % width_ != 0)
      return false;
    return std::ranges::all_of(form.terms, [&](const tir::IndexTerm& t) {
      return t.atom.same_as(var_) || t.coefficient % width_ == 0;
    });
  }

  Expr at_first(const Expr& e) const { return tir::substitute(e, {{var_.get(), Expr(0)}}); }

  // Indices at the first iteration, if the place moves by one element an iteration from a multiple
  // of the width on.
  std::optional<std::vector<Expr>> start_of(const Buffer& b, const std::vector<Expr>& indices) {
    if (b->scope == tir::MemoryScope::kStack) return std::nullopt;
    if (b->scope == tir::MemoryScope::kShared || width_ < 2) return std::nullopt;
    const tir::IndexForm form = index_form(flat_offset(b, indices), bounds_);
    if (!begins_at_multiples(form)) return std::nullopt;
    for (const tir::IndexTerm& t : form.terms) {
      for (const Expr& let : inner_) {
        if (tir::uses_var(t.atom, let)) return std::nullopt;  // not known before the loop
      }
    }
    std::vector<Expr> start;
    for (const Expr& e : indices) start.push_back(at_first(e));
    return start;
  }

  Buffer make_vector(const std::string& of, DType dtype) const {
    return tir::make_buffer(of + "_vector", dtype, {Expr(width_)}, tir::MemoryScope::kStack);
  }

  Expr vector_load(DType dtype, const Expr& first, const Expr& also_where = {}) {
    const Expr condition = both(chosen_where_, also_where);
    const auto same = std::ranges::find_if(out_.loads, [&](const VectorLoad& v) {
      return equal(v.first, first) && !v.condition == !condition &&
             (!condition || equal(v.condition, condition));
    });
    if (same != out_.loads.end()) return tir::load(same->vector, {var_});
    const auto* load = first.as<tir::Load>();
    const Buffer vector = make_vector(load != nullptr ? load->buffer->name : "chosen", dtype);
    out_.loads.push_back({vector, first, condition});
    return tir::load(vector, {var_});
  }

  Buffer vector_of(const Buffer& memory, const std::vector<Expr>& start) {
    for (const VectorStore& v : out_.stores) {
      bool same = v.memory == memory;
      for (std::size_t i = 0; same && i < start.size(); ++i) same = equal(v.indices[i], start[i]);
      if (same) return v.vector;
    }
    const Buffer vector = make_vector(memory->name, memory->dtype);
    out_.stores.push_back({memory, vector, start});
    return vector;
  }

  Expr var_;
  std::int64_t width_;
  const tir::Bounds& bounds_;
  std::set<const tir::BufferNode*> written_, read_;
  std::vector<Expr> inner_;
  int conditional_ = 0;
  Expr chosen_where_;  // what is looked at is needed for all iterations alike; empty: always
  VectorAccess out_;
};

}  // namespace

VectorAccess vector_access(const tir::For& loop, const tir::Bounds& bounds) {
  if (tir::as_int(loop.extent) == nullptr) return {{}, {}, Stmt(loop.body)};
  return Rewriter(loop, bounds).take();
}

}  // namespace tessera::emit
