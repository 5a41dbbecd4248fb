// SPDX-License-Identifier: Apache-2.0
// What run and bench share: a library or a model made ready, and its inputs from a folder or from a
// seed.
#pragma once

#include <memory>

#include "exec/session.h"
#include "tools/target_options.h"

namespace tessera::tools {

// A library is recognised by its first bytes; a model is compiled in this process.
Result<std::unique_ptr<exec::Session>> open_session(const ModelOptionTexts& model,
                                                    const exec::SessionOptions& options);
// NAME.npy of the folder for each input (characters outside [A-Za-z0-9_.-] are `_` in the file's
// name); random values where there is none. "" is no folder.
Result<std::vector<Tensor>> read_inputs(const exec::Session& session, const std::string& folder);
std::string npy_file(const std::string& folder, const std::string& tensor);

}  // namespace tessera::tools
