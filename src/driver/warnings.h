// SPDX-License-Identifier: Apache-2.0
// What a user had better know about a compilation that goes on.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "diagnostics/diagnostic.h"
#include "driver/options.h"
#include "module/module.h"
#include "support/files.h"
#include "types/target.h"

namespace tessera::driver {

// The cache in `folder` cannot be written: the next compilation is as slow as this one.
Diagnostic objects_not_kept(const std::string& folder, const FileError& why);

// Options of targets that do less than they seem to.
std::vector<Diagnostic> doubtful_options(std::span<const Target> targets);

// Where a model of floats of 16 bits is to be computed in the other ones: nothing is rewritten.
std::optional<Diagnostic> vain_precision(const Module& module, DType precision);

// An output has no numbers where the model in float32 has some.
Diagnostic overflow_of(const OutputError& output, DType precision);

}  // namespace tessera::driver
