// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/proofs.h"

#include "lower/main.h"
#include "lower/program_bounds.h"
#include "schedule/schedule.h"
#include "tests/fuzz/device_kernels.h"

namespace tessera::fuzz {

Result<void> proofs_are_kept(const relay::Function& f) {
  if (calls_runtime(f)) return {};
  TESSERA_TRY(Module module, prepared(f, Target()));
  TESSERA_TRY(const Module lowered, lower::lower(std::move(module)));
  const Module scheduled = schedule::schedule(lowered, Target());
  const std::vector<std::string> lost = lower::unproven_accesses(scheduled);
  if (lost.empty() || !lower::unproven_accesses(lowered).empty()) return {};
  return fail(error(Code::kMalformedGraph, {}, "the schedule lost a proof: {}", lost.front()));
}

}  // namespace tessera::fuzz
