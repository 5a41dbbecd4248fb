// SPDX-License-Identifier: Apache-2.0
// `compile --verify`: every distinct kernel and region against the operators' `eval`, on what flows
// through the model.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "module/module.h"

namespace tessera::driver {

struct VerifySummary {
  std::vector<std::string> compared;  // symbols
  std::vector<std::string>
      skipped;  // those for which the time did not suffice, or without a reference
};

// Compares calls as they are made by the interpreter; each symbol once.
class Verifier {
 public:
  // `module` is the lowered one: its stubs say what each symbol computes.
  Verifier(const Module& module, double limit_seconds);

  void compare(const std::string& symbol, std::span<const Tensor> inputs,
               std::span<const Tensor> outputs);
  // What differs, or the summary.
  Result<VerifySummary> finish();

 private:
  bool worth_starting(const relay::Function& body) const;

  const Module& module_;
  double limit_seconds_, spent_seconds_ = 0;
  std::map<std::string, bool> seen_;  // compared or skipped
  Diagnostics differences_;
};

}  // namespace tessera::driver
