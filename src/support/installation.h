// SPDX-License-Identifier: Apache-2.0
// Where this program lies with what belongs to it.
#pragma once

#include <string>

namespace tessera {

// $TESSERA_ROOT, or the folder above that of the running program.
std::string installation_root();
// `tessera` itself, below a root: what processes are started for. It need not be there.
inline std::string command_below(const std::string& root) { return root + "/bin/tessera"; }

}  // namespace tessera
