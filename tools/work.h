// SPDX-License-Identifier: Apache-2.0
// What back ends start, and people do not.
#pragma once

#include "tools/command.h"

namespace tessera::tools {

void add_work(CLI::App& app, Action& chosen);

}  // namespace tessera::tools
