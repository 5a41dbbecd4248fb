// SPDX-License-Identifier: Apache-2.0
// What run and bench share: a library or a model made ready, and its inputs from a folder or from a
// seed.
#pragma once

#include <memory>

#include "exec/session.h"
#include "tools/target_options.h"

namespace tessera::tools {

// By its first bytes, or its name.
bool is_library(const std::string& path);
// A model is compiled in this process, with its warnings on standard error.
Result<std::unique_ptr<exec::Session>> open_session(const ModelOptionTexts& model,
                                                    const exec::SessionOptions& options);
// NAME.npy of the folder for each input (see npy_files); random values where there is none. Kept
// weights that have a file are set. "" is no folder.
Result<std::vector<Tensor>> read_inputs(exec::Session& session, const std::string& folder);
// A file for each tensor: NAME.npy, where `_` stands for each character outside of [A-Za-z0-9_.-].
// Names that would share a file (`y/1`, `y_1`) have such characters as `%2F` instead.
std::vector<std::string> npy_files(const std::string& folder,
                                   const std::vector<exec::PortInfo>& ports);

}  // namespace tessera::tools
