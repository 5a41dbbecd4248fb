// SPDX-License-Identifier: Apache-2.0
// A model file as a module with inferred types.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "driver/dimensions.h"
#include "import/import_options.h"
#include "relay/patterns/pattern_table.h"

namespace tessera::driver {

// "-" is standard input.
Result<std::shared_ptr<const SourceFile>> read_source(const std::string& path);

// Relay text. Types are not inferred.
Result<Module> load_module_text(const std::string& path);

// The tables of patterns that there are, and those of the files; docs/patterns.md has the syntax.
Result<std::vector<relay::PatternTable>> load_pattern_tables(const std::vector<std::string>& paths);

// Does the name say Relay text (.relay, .txt, "-"), not ONNX?
bool is_relay_text(const std::string& path);
// What an ONNX model is imported with.
import::ImportOptions import_options(const std::vector<DimBinding>& dims,
                                     const import::KeptNames& kept, const LimitBindings& limits);

// Relay text or ONNX, by its name. Types are inferred, and
// dimensions of main's parameters bound as bind_dimensions says. Relay text has no weights to keep:
// its parameters are none.
Result<Module> load_model(const std::string& path, const std::vector<DimBinding>& dims,
                          const import::KeptNames& kept = {}, const LimitBindings& limits = {});

}  // namespace tessera::driver
