// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/occupancy.h"

namespace tessera::plan {

using runtime::round_up;

}  // namespace tessera::plan
