// SPDX-License-Identifier: Apache-2.0
// Barriers, and the memory that they order (docs/loop-ir.md, "As CUDA").
#pragma once

#include <map>
#include <set>

#include "tir/stmt.h"

namespace tessera::tir {

// The statement `T.barrier()`, at the level of a team: its threads wait for each other, and what
// one of them has written before, all of them read after it.
Stmt barrier();
bool is_barrier(const Stmt& s);

// What of the memory that a team's threads have in common is touched; views count as what they are
// views of.
struct Touched {
  std::set<const BufferNode*> read, written;
};
// Does one write what the other reads or writes?
bool conflict(const Touched& a, const Touched& b);
void add(Touched& to, const Touched& more);

class TeamMemory {
 public:
  explicit TeamMemory(const Stmt& kernel);
  Touched by(const Stmt& s) const;
  Touched by(const Expr& e) const;
  // The buffer itself, or what it is a view of in the end.
  const Buffer& of(const Buffer& b) const;

 private:
  void note(std::set<const BufferNode*>& in, const Buffer& b) const;
  std::map<const BufferNode*, Buffer> sources_;  // of views
};

}  // namespace tessera::tir
