// SPDX-License-Identifier: Apache-2.0
// The walk over a kernel's nests that host and devices share: products first, each with the
// element-wise nests after it, then what lies between them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schedule/nest.h"
#include "schedule/rules.h"

namespace tessera::schedule {

class KernelScheduler {
 public:
  // `body` in the canonical form of lower/primitive.h.
  explicit KernelScheduler(const tir::Stmt& body);
  virtual ~KernelScheduler() = default;
  KernelScheduler(const KernelScheduler&) = delete;
  KernelScheduler& operator=(const KernelScheduler&) = delete;

  tir::Stmt run();
  // What was done, for reports: "tile 12x32, packed; rows".
  const std::string& summary() const { return summary_; }
  // The constants that it needs now.
  const std::vector<MadeConstant>& made() const { return made_; }
  // They are inputs of the kernel, whose body is scheduled; those that nothing reads any more are
  // none.
  void change_inputs(tir::PrimFunc& f) const;

 protected:
  // The product that `nests` begins with, if it does.
  virtual std::optional<Contraction> product(std::span<const tir::Stmt> nests) = 0;
  // Nests between two products, as `out_` shall have them.
  virtual void schedule_plain(const std::vector<tir::Stmt>& nests) = 0;

  void note(const std::string& what) { summary_ += (summary_.empty() ? "" : "; ") + what; }

  Kernel in_, out_;

 private:
  void flush(std::vector<tir::Stmt>& plain);
  void drop_unused_temporaries();

  std::string summary_;
  std::vector<MadeConstant> made_;
};

}  // namespace tessera::schedule
