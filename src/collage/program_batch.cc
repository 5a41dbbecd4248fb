// SPDX-License-Identifier: Apache-2.0
#include "collage/program_batch.h"

#include "collage/program.h"

namespace tessera::collage {

std::size_t ProgramBatch::add(const PlacementSpec& spec, relay::Function program) {
  const std::string text = program_text(program, module_.constants);
  const auto [entry, is_new] = numbers_.try_emplace({spec.priority, text}, modules_.size());
  if (!is_new) return entry->second;
  Module& alone = modules_.emplace_back();
  alone.constants = module_.constants;
  alone.symbols = module_.symbols;
  alone.targets = module_.targets;
  // The same constants for all, or their results could not be compared.
  alone.functions.emplace("main", first_of_.try_emplace(text, std::move(program)).first->second);
  targets_.push_back(&spec.target);
  return entry->second;
}

Result<std::vector<Cost>> ProgramBatch::estimate(CostEstimator& estimator) const {
  std::vector<CandidateProgram> programs;
  for (std::size_t p = 0; p < modules_.size(); ++p) {
    programs.push_back({modules_[p], *targets_[p]});
  }
  return estimator.estimate_all(programs);
}

}  // namespace tessera::collage
