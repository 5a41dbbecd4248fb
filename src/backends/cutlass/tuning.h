// SPDX-License-Identifier: Apache-2.0
// What there is to measure, and what was measured before.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "backends/cutlass/attention_configuration.h"
#include "backends/cutlass/configuration.h"
#include "byoc/tuning_task.h"
#include "module/module.h"

namespace tessera::backends::cutlass {

// The distinct work among the functions of the module that this back end took. What has sizes that
// are not known even with `sizes` is left out.
std::vector<byoc::TuningTask> tuning_tasks(const Module& module, const Target& target,
                                           const std::map<std::string, Dim>& sizes);

// What was measured to be the fastest of them; where nothing was, the first, which is the model's.
// `sizes` are those that tuning_tasks() had.
Result<Configuration> choose(const Gemm& gemm, const std::vector<Configuration>& choices,
                             const Target& target, const byoc::CompileContext& context,
                             const std::map<std::string, Dim>& sizes);
Result<AttentionConfiguration> choose(const Attention& attention,
                                      const std::vector<AttentionConfiguration>& choices,
                                      const Target& target, const byoc::CompileContext& context);

}  // namespace tessera::backends::cutlass
