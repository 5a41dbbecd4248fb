// SPDX-License-Identifier: Apache-2.0
// --target and --backends, --dim, ...: what compile, run and bench of a model share.
#pragma once

#include "driver/options.h"
#include "module/module.h"
#include "tools/command.h"

namespace tessera::tools {

// --dim and --limit: what a model is imported with.
struct ImportTexts {
  std::vector<std::string> dims, limits;
};
void add_import_options(CLI::App& command, ImportTexts& texts);
// With inferred types, before any pass.
Result<Module> import_model(const std::string& path, const ImportTexts& texts);

// The texts as the user gave them; `resolve` makes options of them.
struct ModelOptionTexts {
  ImportTexts import;
  std::vector<std::string> targets, require, pools;
  std::string backends, partition = "greedy", precision = "fp32";
  driver::CompileOptions options;
};

// `partitions` and `precisions` are the values that the options of that name take.
void add_model_options(CLI::App& command, ModelOptionTexts& texts,
                       const std::vector<std::string>& partitions = {"none", "greedy"},
                       const std::vector<std::string>& precisions = {"fp32", "fp16", "bf16"});
// --budget and --candidates, of those that measure.
void add_tuning_options(CLI::App& command, ModelOptionTexts& texts);
void add_collage_options(CLI::App& command, ModelOptionTexts& texts);
// For options that name a file of records: what is wrong with the name, or "".
std::string check_records_name(const std::string& name);
// Where no machine is named, it is this one's cpu; a cpu without a named back end has all that are
// available.
Result<driver::CompileOptions> resolve(const ModelOptionTexts& texts);

}  // namespace tessera::tools
