// SPDX-License-Identifier: Apache-2.0
#include "schedule/device.h"
#include "tir/barrier.h"
#include "tir/walk.h"

namespace tessera::schedule {
namespace {

using tir::Stmt;
using tir::Touched;

// Walks one launch of teams in the order in which it runs, with what has been touched since the
// last barrier that every way here passes.
class BarrierPlacer {
 public:
  explicit BarrierPlacer(const tir::TeamMemory& memory) : memory_(memory) {}

  Stmt place(const Stmt& s) {
    if (tir::is_barrier(s)) {
      open_ = {};
      return s;
    }
    return tir::visit(
        s, [&](const tir::Seq& n) { return sequence(n); },
        [&](const tir::For& n) { return n.loop == tir::ForKind::kThreads ? one(s) : loop(n); },
        [&](const tir::While& n) {
          return repeated(memory_.by(n.condition), n.body,
                          [&](const Stmt& body) { return tir::While::make(n.condition, body); });
        },
        [&](const tir::IfThenElse& n) { return branch(n); },
        [&](const tir::LetStmt& n) {
          const Stmt first = before(memory_.by(n.value));
          return tir::seq({first, tir::LetStmt::make(n.var, n.value, place(n.body))});
        },
        [&](tir::Otherwise) {
          const Stmt* scope = tir::scope_of(s);
          return scope != nullptr ? tir::with_scope(s, place(*scope)) : one(s);
        });
  }

 private:
  // A barrier before what touches this, or nothing; from there on it counts as touched.
  Stmt before(const Touched& next) {
    const bool needed = tir::conflict(open_, next);
    if (needed) open_ = {};
    tir::add(open_, next);
    return needed ? tir::barrier() : Stmt();
  }

  Stmt one(const Stmt& s) { return tir::seq({before(memory_.by(s)), s}); }

  Stmt sequence(const tir::Seq& n) {
    std::vector<Stmt> body;
    for (const Stmt& part : n.body) body.push_back(place(part));
    return tir::seq(std::move(body));
  }

  Stmt branch(const tir::IfThenElse& n) {
    const Stmt first = before(memory_.by(n.condition));
    const Touched at_start = open_;
    const Stmt yes = place(n.then_case);
    const Touched after_yes = std::exchange(open_, at_start);
    const Stmt no = n.else_case ? place(n.else_case) : Stmt();
    tir::add(open_, after_yes);
    return tir::seq({first, tir::IfThenElse::make(n.condition, yes, no)});
  }

  Stmt loop(const tir::For& n) {
    Touched limits = memory_.by(n.min);
    tir::add(limits, memory_.by(n.extent));
    return repeated(limits, n.body, [&](const Stmt& body) {
      return tir::For::make(n.var, n.min, n.extent, n.loop, body);
    });
  }

  // `head` is touched before each iteration and after the last. An iteration that touches what the
  // one before has changed begins with a barrier.
  template <class Make>
  Stmt repeated(const Touched& head, const Stmt& inside, const Make& make) {
    const Stmt first = before(head);
    const Touched body = memory_.by(inside);
    if (!tir::conflict(body, body) && !tir::conflict(head, body)) {
      const Stmt ahead = before(body);
      tir::add(open_, head);
      return tir::seq({first, ahead, make(inside)});
    }
    const Touched outside = open_;
    open_ = {};
    Stmt each = tir::seq({tir::barrier(), place(inside)});
    if (tir::conflict(open_, head)) {
      each = tir::seq({each, tir::barrier()});
      open_ = {};
    }
    tir::add(open_, outside);  // where there is no iteration
    tir::add(open_, head);
    return tir::seq({first, make(each)});
  }

  const tir::TeamMemory& memory_;
  Touched open_;
};

}  // namespace

tir::PrimFunc place_barriers(tir::PrimFunc f) {
  const tir::TeamMemory memory(f.body);
  f.body = tir::map_block(f.body, [&](const Stmt& s) {
    const auto* launch = s.as<tir::For>();
    const bool teams = launch != nullptr && (launch->loop == tir::ForKind::kWarps ||
                                             launch->loop == tir::ForKind::kBlocks);
    if (!teams) return s;
    return tir::For::make(launch->var, launch->min, launch->extent, launch->loop,
                          BarrierPlacer(memory).place(launch->body));
  });
  return f;
}

}  // namespace tessera::schedule
