// SPDX-License-Identifier: Apache-2.0
// Makes the constants that kernels ask for, and gives them to the calls in place of those that they
// are made of. Equal ones are stored once; what nobody reads any more is not stored at all.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lower/loop_calls.h"
#include "schedule/schedule.h"

namespace tessera::schedule {

class ConstantMaker {
 public:
  explicit ConstantMaker(Module& module)
      : pool_(module.constants), calls_(lower::calls_of_loops(module)) {}

  // The inputs of the kernel that every call gives a constant.
  std::vector<tir::Buffer> constants_of(const std::string& symbol, const tir::PrimFunc& f) const;
  // Makes what all calls of the kernel need when it is no more `f`, but scheduled. False, and
  // nothing is made, where one constant cannot be.
  bool make(const std::string& symbol, const tir::PrimFunc& f, const ScheduledKernel& scheduled);
  // The module with the calls changed, once all kernels have their new inputs.
  Module give(Module module) const;

 private:
  ConstantPool& pool_;
  const std::map<std::string, std::vector<lower::GivenConstants>> calls_;
  std::map<std::string, lower::InputChange> changes_;
};

}  // namespace tessera::schedule
