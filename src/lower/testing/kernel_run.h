// SPDX-License-Identifier: Apache-2.0
// For tests: kernels run by the interpreter and compared with the operators' reference evaluation.
#pragma once

#include <vector>

#include <gtest/gtest.h>

#include "ops/evaluation/compare.h"
#include "ops/evaluation/evaluate_function.h"
#include "ops/samples/samples.h"
#include "tir/interpret.h"

namespace tessera::lower::testing {

inline Type type_of_buffer(const tir::Buffer& b) {
  Shape shape;
  for (const tir::Expr& e : b->shape) shape.push_back(*tir::as_int(e));
  return tensor_type(std::move(shape), b->dtype);
}

// Runs a kernel; `run` gets the pointers of inputs and outputs. Outputs start as garbage.
template <class Run>
std::vector<Tensor> run_kernel(const tir::PrimFunc& f, const std::vector<Tensor>& inputs,
                               Run&& run) {
  std::vector<std::vector<std::byte>> memory;
  std::vector<void*> pointers;
  for (const Tensor& t : inputs) {
    const auto bytes = t.blob->bytes();
    memory.emplace_back(bytes.begin(), bytes.end());
  }
  for (const tir::Buffer& b : f.outputs) {
    const auto size = tir::constant_size(b) * b->dtype.size_bytes();
    memory.emplace_back(static_cast<std::size_t>(size), std::byte{0x5a});
  }
  for (auto& m : memory) {
    m.reserve(1);  // empty tensors have an address too
    pointers.push_back(m.data());
  }
  run(f, pointers);
  std::vector<Tensor> outputs;
  for (std::size_t i = 0; i < f.outputs.size(); ++i) {
    const Type type = type_of_buffer(f.outputs[i]);
    outputs.emplace_back(*constant_shape(type.shape()), type.dtype(),
                         Blob::adopt(std::move(memory[inputs.size() + i])));
  }
  return outputs;
}

inline std::vector<Tensor> interpreted(const tir::PrimFunc& f, const std::vector<Tensor>& inputs) {
  return run_kernel(f, inputs, [](const tir::PrimFunc& g, std::vector<void*>& pointers) {
    tir::interpret(g, pointers);
  });
}

// What the operators of the function give, by their `eval`.
inline std::vector<Tensor> evaluated(const relay::Function& f, const std::vector<Tensor>& inputs) {
  return ops::evaluate(f, {}, inputs);
}

inline void expect_close(const std::vector<Tensor>& expected, const std::vector<Tensor>& found,
                         const std::string& what) {
  ASSERT_EQ(expected.size(), found.size()) << what;
  for (std::size_t t = 0; t < expected.size(); ++t) {
    const double tolerance = ops::graph_tolerance(expected[t].dtype);
    ASSERT_EQ(ops::first_difference(found[t], expected[t], tolerance), "") << what;
  }
}

}  // namespace tessera::lower::testing
