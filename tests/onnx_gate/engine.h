// SPDX-License-Identifier: Apache-2.0
// The ways to run a case.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/onnx_gate/cases.h"
#include "tests/onnx_gate/expectations.h"
#include "types/target.h"

namespace tessera::onnx_gate {

// A model that is ready to run.
struct Runnable {
  std::vector<Port> inputs, outputs;  // in the model's order
  std::function<Result<std::vector<Tensor>>(const std::vector<Tensor>&)> run;
};

using Engine = std::function<Result<Runnable>(const Case&)>;

// Imported, then evaluated node by node with the operators' reference evaluation.
Result<Runnable> evaluated(const Case& c);

// Compiled to a library, for the targets and back ends or, where there are none, for the CPU
// without back ends; loaded, and run through its C interface.
Result<Runnable> compiled(const Case& c, const std::vector<Target>& targets);

// Nothing if the case passes, else why it does not.
std::optional<Failure> failure(const Case& c, const Engine& engine);

}  // namespace tessera::onnx_gate
