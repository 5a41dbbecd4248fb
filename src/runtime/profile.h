// SPDX-License-Identifier: Apache-2.0
// Times of the host program's steps.
#pragma once

#include "runtime/instance.h"

namespace tessera::runtime {

void start_run(tessera_profile& profile);

}  // namespace tessera::runtime
