// SPDX-License-Identifier: Apache-2.0
// What there is to measure, and what was measured before.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "backends/cutlass/attention/attention_configuration.h"
#include "backends/cutlass/gemm/configuration.h"
#include "byoc/tuning_task.h"
#include "module/module.h"
#include "relay/patterns/pattern_table.h"

namespace tessera::backends::cutlass {

// The distinct work among the functions of the module that this back end took. What has sizes that
// are not known even with `sizes` is left out.
std::vector<byoc::TuningTask> tuning_tasks(const Module& module, const Target& target,
                                           const std::map<std::string, Dim>& sizes);

// What computes some work.
template <class Choice>
struct Selection {
  Choice chosen;
  // The candidates but those that are known to fail; after them other ways to launch their kernels.
  std::vector<Choice> usable;
  bool is_measured = false;  // else the choice is the model's
};

// What was measured to be the fastest of the candidates; where nothing was, the first that is not
// known to fail, which is the model's. A refusal where all of them are. Fails for what is wrong
// with the records. `sizes` are those that tuning_tasks() had.
Result<Expected<Selection<Configuration>, relay::Refusal>> choose(
    const Gemm& gemm, const std::vector<Configuration>& candidates, const Target& target,
    const byoc::CompileContext& context, const std::map<std::string, Dim>& sizes);
Result<Expected<Selection<AttentionConfiguration>, relay::Refusal>> choose(
    const Attention& attention, const std::vector<AttentionConfiguration>& candidates,
    const Target& target, const byoc::CompileContext& context);

}  // namespace tessera::backends::cutlass
