// SPDX-License-Identifier: Apache-2.0
// Times of the host program's steps.
#pragma once

#include "runtime/instance.h"

namespace tessera::runtime {

void start_run(tessera_profile& profile);
// One more call of a step, that began so long after the run.
void add_step(tessera_profile& profile, std::int32_t step, std::uint64_t start_ns,
              std::uint64_t spent_ns);

}  // namespace tessera::runtime
