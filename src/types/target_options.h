// SPDX-License-Identifier: Apache-2.0
// The options of target kinds for people.
#pragma once

#include <string>

#include "types/target.h"

namespace tessera {

// A line for each option of the kind: `-sm=80`, its default, and what it does; then one for each
// option that all kinds have.
std::string options_text(const TargetKind& kind);

}  // namespace tessera
