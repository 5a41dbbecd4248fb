// SPDX-License-Identifier: Apache-2.0
// What there is to measure, and what was measured before.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backends/cublas/configuration.h"
#include "backends/cublas/describe.h"
#include "byoc/tuning_task.h"
#include "module/module.h"

namespace tessera::backends::cublas {

// What a call may have for the library, as is usual on Hopper.
inline constexpr std::int64_t kWorkspaceBytes = std::int64_t{32} << 20;

// The distinct products among the functions of the module that this back end took.
std::vector<byoc::TuningTask> tuning_tasks(const Module& module, const Target& target,
                                           const std::map<std::string, Dim>& sizes);

// The product's text with the fastest algorithm on record, or without one; the refusal says that
// all on record failed.
Result<Expected<Spec, relay::Refusal>> choose(const Description& product, const Target& target,
                                              const byoc::CompileContext& context,
                                              const std::map<std::string, Dim>& sizes);

}  // namespace tessera::backends::cublas
