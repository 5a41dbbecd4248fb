// SPDX-License-Identifier: Apache-2.0
// A module as Relay text in a file; load_module_text reads it.
#pragma once

#include <string>
#include <vector>

#include "module/module.h"

namespace tessera::driver {

// The constants of a text as the members `0`, `1`, ... of an .npz: what `#[metadata in "FILE"]`
// names.
Result<void> write_text_constants(const std::string& path, const std::vector<Tensor>& constants);

// The constants that have no literal go to `PATH.npz`, which the text names.
Result<void> save_module_text(const Module& module, const std::string& path);

}  // namespace tessera::driver
