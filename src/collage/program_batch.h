// SPDX-License-Identifier: Apache-2.0
// Programs of candidates on their way to an estimator: those that are equal are asked for once.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "collage/candidate.h"

namespace tessera::collage {

class ProgramBatch {
 public:
  // What programs have of the module: constants, symbols, targets. It must live as long.
  explicit ProgramBatch(const Module& module) : module_(module) {}

  // Its number: that of an equal one for the same spec, if there was one.
  std::size_t add(const PlacementSpec& spec, relay::Function program);
  std::size_t size() const { return modules_.size(); }
  // Of each, by its number.
  Result<std::vector<Cost>> estimate(CostEstimator& estimator) const;

 private:
  const Module& module_;
  std::vector<Module> modules_;
  std::vector<const Target*> targets_;
  std::map<std::pair<std::size_t, std::string>, std::size_t> numbers_;
  std::map<std::string, relay::Function> first_of_;  // by text: what all specs are asked about
};

}  // namespace tessera::collage
