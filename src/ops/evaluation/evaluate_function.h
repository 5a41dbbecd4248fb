// SPDX-License-Identifier: Apache-2.0
// The slow truth of whole functions: node by node, each operator by its `eval`. Verification, the
// goldens of passes, and the tests of everything that makes code compare with it.
#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "module/module.h"

namespace tessera::ops {

// Answers the call of a global in place of its function; nothing: the function is entered.
using GlobalCall = std::function<std::optional<std::vector<Tensor>>(
    const std::string& symbol, std::span<const Tensor> arguments)>;

// Told of each operator that is evaluated, in order.
using OperatorCall =
    std::function<void(std::span<const Tensor> operands, std::span<const Tensor> results)>;

// Thrown where the data do not let a call be evaluated: an index leads out of a tensor, sizes do
// not agree, there is no room. Who gives data that may be so catches it.
class CannotEvaluate : public std::exception {
 public:
  explicit CannotEvaluate(Diagnostics why) : why_(std::move(why)), text_(render(why_)) {}
  const char* what() const noexcept override { return text_.c_str(); }
  const Diagnostics& why() const { return why_; }

 private:
  Diagnostics why_;
  std::string text_;
};

// The tensors of the function's result on tensors for its parameters, tuples flattened in both.
// Composites and other literals are entered where they are called, of an `if` only the branch that
// is taken. Needs inferred types without unknown sizes, and operators that have `eval`.
std::vector<Tensor> evaluate(const Module& module, const relay::Function& f,
                             std::span<const Tensor> inputs, const GlobalCall& call = {},
                             const OperatorCall& told = {});
// The same for a function that calls no global.
std::vector<Tensor> evaluate(const relay::Function& f, const ConstantPool& constants,
                             std::span<const Tensor> inputs);

}  // namespace tessera::ops
