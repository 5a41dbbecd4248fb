// SPDX-License-Identifier: Apache-2.0
#include "schedule/unswitch.h"

#include "tir/walk.h"

namespace tessera::schedule {
namespace {

using tir::Expr;
using tir::Stmt;

constexpr int kMostBranches = 256;  // of one nest: each is code

// One selection in place of which one of its sides stands.
class Chosen : public tir::Mutator {
 public:
  Chosen(Expr selection, Expr side) : selection_(std::move(selection)), side_(std::move(side)) {}
  using Mutator::mutate;
  Expr mutate(const Expr& e) override { return e.same_as(selection_) ? side_ : Mutator::mutate(e); }

 private:
  Expr selection_, side_;
};

class Unswitcher {
 public:
  explicit Unswitcher(const Loop& inner) : inner_(inner) {}

  // The first selection between elements of memory that the innermost loop does not change.
  Expr outer_choice(const Stmt& body) const {
    Expr found;
    tir::for_each_node(body, [&](const Expr& e) {
      const auto* s = e.as<tir::Select>();
      if (found || s == nullptr || tir::uses_var(s->condition, inner_.var)) return;
      if (reads_memory(s->yes) && reads_memory(s->no) && !reads_memory(s->condition)) found = e;
    });
    return found;
  }

  // The innermost loop over `body`, behind the choices.
  Stmt run(const Stmt& body) {
    const Expr selection = branches_ < kMostBranches ? outer_choice(body) : Expr();
    if (!selection) return tir::with_fresh_definitions(wrap({inner_}, body));
    ++branches_;
    const auto& s = *selection.as<tir::Select>();
    return tir::IfThenElse::make(s.condition, run(Chosen(selection, s.yes).mutate(body)),
                                 run(Chosen(selection, s.no).mutate(body)));
  }

 private:
  const Loop inner_;
  int branches_ = 0;
};

// Of statements that define nothing, conditions know the loops alone.
bool defines_nothing(const Stmt& body) {
  bool is_plain = true;
  tir::for_each_node(body, [&](const Stmt& s) {
    is_plain &= s.as<tir::Store>() != nullptr || s.as<tir::Seq>() != nullptr;
  });
  return is_plain;
}

}  // namespace

Stmt build_unswitched(const Nest& nest) {
  if (nest.loops.size() < 2 || !defines_nothing(nest.body)) return build(nest);
  Unswitcher unswitcher(nest.loops.back());
  if (!unswitcher.outer_choice(nest.body)) return build(nest);
  return wrap({nest.loops.begin(), nest.loops.end() - 1}, unswitcher.run(nest.body));
}

}  // namespace tessera::schedule
