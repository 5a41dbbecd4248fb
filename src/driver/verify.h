// SPDX-License-Identifier: Apache-2.0
// `compile --verify`: every distinct kernel and region against the operators' `eval`, on what flows
// through the model.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "driver/options.h"
#include "module/module.h"

namespace tessera::driver {

// Symbols in the order of their first calls.
struct VerifySummary {
  std::vector<std::string> compared;
  std::vector<std::string> out_of_time;
  std::vector<std::string> without_sizes;  // the reference needs sizes that only a run knows
  std::vector<std::string> not_evaluated;  // an index of the random data leads out of a tensor
  std::vector<std::string> with_made_constants;  // the reference reads what they were made of
  std::vector<std::string> overflowing;  // the reference does, and a kernel that keeps float32 not
  std::vector<std::string> without_reference;  // they compute no operators: copies
};
// "4 kernels and regions agree with the reference; no time for ..."
std::string to_string(const VerifySummary& summary);

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
  std::set<std::string> seen_;
  VerifySummary summary_;
  Diagnostics differences_;
};

// An output of the model in low precision against that of the model in float32.
OutputError output_error(const std::string& name, const Tensor& found, const Tensor& wanted);
// "`y` differs by 0.001, 0.0005 of its largest magnitude"
std::string to_string(const std::vector<OutputError>& errors);

}  // namespace tessera::driver
