// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "schedule/rules.h"
#include "tir/compare.h"
#include "tir/walk.h"

namespace tessera::schedule {
namespace {

using tir::Expr;
using tir::Stmt;

// More reads than this are left where they are: each element would wait for all of them.
constexpr std::size_t kMostReads = 64;

// The reads of `e` that run only if some other part of it has a certain value; where there are more
// than kMostReads, not all of them.
void conditional_reads(const Expr& e, bool conditional, std::vector<Expr>& out) {
  if (out.size() > kMostReads) return;
  const auto always = [&](const Expr& part) { conditional_reads(part, conditional, out); };
  const auto sometimes = [&](const Expr& part) { conditional_reads(part, true, out); };
  if (conditional && e.as<tir::Load>() != nullptr) {
    const bool known =
        std::any_of(out.begin(), out.end(), [&](const Expr& o) { return equal(o, e); });
    if (!known) out.push_back(e);
  }
  if (const auto* select = e.as<tir::Select>()) {
    always(select->condition);
    sometimes(select->yes);
    sometimes(select->no);
  } else if (const auto* both = e.as<tir::And>()) {
    always(both->a);
    sometimes(both->b);
  } else if (const auto* either = e.as<tir::Or>()) {
    always(either->a);
    sometimes(either->b);
  } else {
    for_each_child(e, always);
  }
}

class Replace : public tir::Mutator {
 public:
  Replace(const std::vector<Expr>& from, const std::vector<Expr>& to) : from_(from), to_(to) {}
  using Mutator::mutate;
  Expr mutate(const Expr& e) override {
    for (std::size_t i = 0; i < from_.size(); ++i) {
      if (equal(e, from_[i])) return to_[i];
    }
    return Mutator::mutate(e);
  }

 private:
  const std::vector<Expr>&from_, &to_;
};

class ReadAhead : public tir::Mutator {
 public:
  using Mutator::mutate;

  Stmt mutate(const Stmt& s) override {
    if (const auto* loop = s.as<tir::For>()) {
      bounds_.set_loop(loop->var, loop->min, loop->extent);
      const bool outside =
          std::exchange(vectorised_, vectorised_ || loop->loop == tir::ForKind::kVectorized);
      Stmt out = Mutator::mutate(s);
      vectorised_ = outside;
      return out;
    }
    const auto* store = s.as<tir::Store>();
    return store != nullptr && vectorised_ ? read_ahead(s, *store) : Mutator::mutate(s);
  }

 private:
  // With what its indices read: p[q[i - 1] % 2] is inside of p, but q[i - 1] need not be of q.
  bool exists(const tir::Load& load) const {
    for (std::size_t d = 0; d < load.indices.size(); ++d) {
      bool all_exist = true;
      tir::for_each_node(load.indices[d], [&](const Expr& part) {
        const auto* inner = part.as<tir::Load>();
        if (inner != nullptr && all_exist) all_exist = exists(*inner);
      });
      if (!all_exist) return false;
      const std::int64_t* size = tir::as_int(load.buffer->shape[d]);
      const tir::IndexForm index = tir::index_form(load.indices[d], bounds_);
      if (size == nullptr || !tir::range_of(index, bounds_).inside(0, *size - 1)) return false;
    }
    return true;
  }

  Stmt read_ahead(const Stmt& s, const tir::Store& store) {
    std::vector<Expr> reads;
    conditional_reads(store.value, false, reads);
    if (reads.size() > kMostReads) return s;
    std::erase_if(reads, [&](const Expr& e) { return !exists(*e.as<tir::Load>()); });
    if (reads.empty()) return s;
    std::vector<Expr> vars;
    for (const Expr& read : reads) {
      vars.push_back(tir::make_var(read.as<tir::Load>()->buffer->name + "_value", read.dtype()));
    }
    Stmt out =
        tir::Store::make(store.buffer, store.indices, Replace(reads, vars).mutate(store.value));
    for (std::size_t i = reads.size(); i-- > 0;) out = tir::LetStmt::make(vars[i], reads[i], out);
    return out;
  }

  tir::Bounds bounds_;
  bool vectorised_ = false;
};

}  // namespace

Stmt read_ahead(const Stmt& s) { return ReadAhead().mutate(s); }

}  // namespace tessera::schedule
