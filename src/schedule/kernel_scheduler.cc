// SPDX-License-Identifier: Apache-2.0
#include "schedule/kernel_scheduler.h"

#include <algorithm>

#include "tir/walk.h"

namespace tessera::schedule {

using tir::Stmt;

KernelScheduler::KernelScheduler(const Stmt& body) : in_(take_apart(body)) {
  out_.tables = in_.tables;
  out_.temporaries = in_.temporaries;
}

Stmt KernelScheduler::run() {
  std::vector<Stmt> plain;
  for (std::size_t i = 0; i < in_.nests.size();) {
    const auto found = product(std::span(in_.nests).subspan(i));
    if (!found) {
      plain.push_back(in_.nests[i++]);
      continue;
    }
    flush(plain);
    out_.nests.insert(out_.nests.end(), found->nests.begin(), found->nests.end());
    out_.temporaries.insert(out_.temporaries.end(), found->temporaries.begin(),
                            found->temporaries.end());
    made_.insert(made_.end(), found->made.begin(), found->made.end());
    note(found->summary);
    i += found->replaced;
  }
  flush(plain);
  drop_unused_temporaries();
  return put_together(out_);
}

void KernelScheduler::change_inputs(tir::PrimFunc& f) const {
  for (const MadeConstant& m : made_) {
    if (!tir::uses_buffer(f.body, m.source)) std::erase(f.inputs, m.source);
    f.inputs.push_back(m.made);
  }
}

void KernelScheduler::flush(std::vector<Stmt>& plain) {
  if (plain.empty()) return;
  schedule_plain(plain);
  plain.clear();
}

void KernelScheduler::drop_unused_temporaries() {
  const std::vector<Access> all = accesses(tir::seq(out_.nests));
  std::erase_if(out_.temporaries, [&](const tir::Buffer& b) {
    return std::none_of(all.begin(), all.end(), [&](const Access& a) { return a.buffer == b; });
  });
}

}  // namespace tessera::schedule
