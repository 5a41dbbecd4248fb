// SPDX-License-Identifier: Apache-2.0
#include "schedule/constant_maker.h"

#include <algorithm>

#include "tir/walk.h"

namespace tessera::schedule {

using lower::GivenConstants;

namespace {

using Recipe = std::pair<std::size_t, ConstantIndex>;  // which one, and what of

}  // namespace

std::vector<tir::Buffer> ConstantMaker::constants_of(const std::string& symbol,
                                                     const tir::PrimFunc& f) const {
  std::vector<tir::Buffer> found;
  const auto calls = calls_.find(symbol);
  if (calls == calls_.end()) return found;
  for (std::size_t i = 0; i < f.inputs.size(); ++i) {
    const bool is_constant =
        std::all_of(calls->second.begin(), calls->second.end(), [&](const GivenConstants& call) {
          return call[i] && std::holds_alternative<ConstantIndex>(*call[i]);
        });
    if (is_constant) found.push_back(f.inputs[i]);
  }
  return found;
}

bool ConstantMaker::make(const std::string& symbol, const tir::PrimFunc& f,
                         const ScheduledKernel& scheduled) {
  if (scheduled.made.empty()) return true;
  std::vector<std::size_t> sources;  // the inputs that they are made of
  for (const MadeConstant& m : scheduled.made) {
    const auto at = std::find(f.inputs.begin(), f.inputs.end(), m.source);
    sources.push_back(static_cast<std::size_t>(at - f.inputs.begin()));
  }
  std::map<Recipe, Tensor> tensors;
  for (const GivenConstants& call : calls_.at(symbol)) {
    for (std::size_t n = 0; n < sources.size(); ++n) {
      const auto source = std::get<ConstantIndex>(*call[sources[n]]);
      if (tensors.contains({n, source})) continue;
      std::optional<Tensor> made = scheduled.made[n].make(pool_[source]);
      if (!made) return false;
      tensors.emplace(Recipe(n, source), *std::move(made));
    }
  }
  lower::InputChange& change = changes_[symbol];
  for (const tir::Buffer& input : f.inputs) {
    const auto& left = scheduled.kernel.inputs;
    change.leaves.push_back(std::find(left.begin(), left.end(), input) == left.end());
  }
  std::map<Recipe, ConstantIndex> indices;
  for (auto& [recipe, tensor] : tensors) indices.emplace(recipe, pool_.add(std::move(tensor)));
  change.added = [indices, sources](const GivenConstants& call) {
    std::vector<ConstantIndex> added;
    for (std::size_t n = 0; n < sources.size(); ++n) {
      added.push_back(indices.at({n, std::get<ConstantIndex>(*call[sources[n]])}));
    }
    return added;
  };
  return true;
}

Module ConstantMaker::give(Module module) const {
  for (const auto& [symbol, change] : changes_) {
    const auto e = module.externs.find(symbol);
    if (e == module.externs.end()) continue;
    std::vector<Type> types;
    for (std::size_t i = 0; i < change.leaves.size(); ++i) {
      if (!change.leaves[i]) types.push_back(e->second.inputs[i]);
    }
    for (const ConstantIndex index : change.added(calls_.at(symbol).front())) {
      types.push_back(module.constants[index].type());
    }
    e->second.inputs = std::move(types);
  }
  return lower::change_calls(std::move(module), changes_);
}

}  // namespace tessera::schedule
