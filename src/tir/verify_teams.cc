// SPDX-License-Identifier: Apache-2.0
#include "tir/verify_teams.h"

#include <algorithm>

#include <fmt/format.h>

#include "tir/barrier.h"
#include "tir/own_elements.h"
#include "tir/walk.h"

namespace tessera::tir {
namespace {

// What a part of a team's statements touches before its first barrier and after its last one.
struct Ways {
  Touched first, last;
  bool through = true;  // there is a way without a barrier, on which `first` is `last`
};

class TeamVerifier {
 public:
  TeamVerifier(const PrimFunc& f, std::vector<std::string>& found)
      : memory_(f.body), found_(found) {}

  void kernel(const Stmt& body) {
    BlockWalk walk(body);
    while (const Stmt* s = walk.next()) {
      const auto* loop = s->as<For>();
      if (scope_of(*s) != nullptr) {
        allocation(*s, "outside of a block");
      } else if (loop == nullptr || !is_launch(loop->loop)) {
        outside_of_teams(*s, "outside of a team");
      } else if (loop->loop == ForKind::kGrid) {
        outside_of_teams(loop->body, "of one thread");
      } else {
        blocks_ = loop->loop == ForKind::kBlocks;
        team(loop->body);
      }
    }
  }

 private:
  template <class... A>
  void report(fmt::format_string<A...> text, A&&... args) {
    std::string sentence = fmt::format(text, std::forward<A>(args)...);
    if (std::find(found_.begin(), found_.end(), sentence) == found_.end()) {
      found_.push_back(std::move(sentence));
    }
  }

  void allocation(const Stmt& s, std::string_view where) {
    const auto* made = s.as<Allocate>();
    if (made != nullptr && made->buffer->scope == MemoryScope::kShared) {
      report("shared memory `{}` {}", made->buffer->name, where);
    }
  }

  void outside_of_teams(const Stmt& body, std::string_view where) {
    for_each_node(body, [&](const Stmt& s) {
      if (is_barrier(s)) report("a barrier {}", where);
      allocation(s, where);
    });
  }

  // One buffer of those in which the two conflict.
  static const BufferNode* conflicting(const Touched& a, const Touched& b) {
    for (const BufferNode* x : b.written) {
      if (a.read.contains(x) || a.written.contains(x)) return x;
    }
    for (const BufferNode* x : b.read) {
      if (a.written.contains(x)) return x;
    }
    return nullptr;
  }

  Ways then(Ways a, const Ways& b, std::string_view where = "") {
    if (const BufferNode* x = conflicting(a.last, b.first)) {
      report("no barrier between two accesses of `{}`{}, of which one is a store", x->name, where);
    }
    if (a.through) add(a.first, b.first);
    if (!b.through) a.last = {};
    add(a.last, b.last);
    a.through &= b.through;
    return a;
  }
  static Ways either(Ways a, const Ways& b) {
    add(a.first, b.first);
    add(a.last, b.last);
    a.through |= b.through;
    return a;
  }
  static Ways touching(const Touched& what) { return {what, what, true}; }

  // `head` is evaluated before each iteration and after the last.
  Ways repeated(const Touched& head, const Stmt& body, bool at_least_once) {
    const Ways each = then(touching(head), team(body));
    then(each, each, " in a loop's next iteration");
    const Ways iterations = at_least_once ? each : either(each, {});
    return then(then(touching(head), iterations), touching(head));
  }

  Ways loop(const Stmt& s, const For& n) {
    Touched limits = memory_.by(n.min);
    add(limits, memory_.by(n.extent));
    if (n.loop != ForKind::kThreads) {
      const std::int64_t* extent = as_int(n.extent);
      return repeated(limits, n.body, extent != nullptr && *extent > 0);
    }
    outside_of_teams(n.body, "of one thread");
    for (const std::string& name : shared_between_iterations(n, memory_)) {
      report("threads of one loop share elements of `{}`", name);
    }
    return then(touching(limits), touching(memory_.by(s)));
  }

  // The scope of a definition follows it: there may be more definitions than the stack holds.
  Ways team(const Stmt& block) {
    Ways all;
    BlockWalk walk(block);
    while (const Stmt* s = walk.next()) all = then(std::move(all), step(*s));
    return all;
  }

  Ways step(const Stmt& s) {
    if (is_barrier(s)) return {{}, {}, false};
    return visit(
        s, [&](const For& n) { return loop(s, n); },
        [&](const While& n) { return repeated(memory_.by(n.condition), n.body, false); },
        [&](const IfThenElse& n) {
          const Ways no = n.else_case ? team(n.else_case) : Ways();
          return then(touching(memory_.by(n.condition)), either(team(n.then_case), no));
        },
        [&](const LetStmt& n) { return touching(memory_.by(n.value)); },
        [&](const Allocate&) {
          if (!blocks_) allocation(s, "of a warp");
          return Ways();
        },
        [&](const View&) { return Ways(); }, [&](const AllocateConst&) { return Ways(); },
        [&](Otherwise) { return touching(memory_.by(s)); });
  }

  const TeamMemory memory_;
  std::vector<std::string>& found_;
  bool blocks_ = false;
};

}  // namespace

std::vector<std::string> verify_teams(const PrimFunc& f) {
  std::vector<std::string> found;
  TeamVerifier(f, found).kernel(f.body);
  return found;
}

}  // namespace tessera::tir
