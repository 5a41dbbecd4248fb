// SPDX-License-Identifier: Apache-2.0
// What a process does that a back end starts, so that a vendor's compiler may crash or hang in it:
// `tessera work NAME FOLDER`.
#pragma once

#include <string>
#include <string_view>

namespace tessera::backends {

// Finds what there is to do in the folder, and leaves there what came of it.
using Worker = void (*)(const std::string& folder);
// Null for back ends that start no process.
Worker find_worker(std::string_view back_end);

}  // namespace tessera::backends
