// SPDX-License-Identifier: Apache-2.0
// For tests: kernels run by the interpreter and compared with the operators' reference evaluation.
#pragma once

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "ops/samples.h"
#include "relay/operator.h"
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

// What the operators of a function without nested functions give, by their `eval`.
inline std::vector<Tensor> evaluated(const relay::Function& f, const std::vector<Tensor>& inputs) {
  std::vector<std::vector<Tensor>> values(f.num_nodes());
  std::size_t next = 0;
  for (relay::NodeId p : f.params()) values[p.index()] = {inputs[next++]};
  for (std::size_t i = 0; i < f.num_nodes(); ++i) {
    const relay::NodeId id(i);
    std::vector<Tensor> operands;
    for (relay::NodeId o : f.operands(id)) {
      operands.insert(operands.end(), values[o.index()].begin(), values[o.index()].end());
    }
    if (const auto* c = f.as<relay::Constant>(id)) values[i] = {std::get<Tensor>(c->value)};
    if (f.as<relay::Tuple>(id) != nullptr) values[i] = operands;
    if (const auto* p = f.as<relay::Project>(id)) {
      values[i] = {operands[static_cast<std::size_t>(p->index)]};
    }
    if (const auto* call = f.as<relay::OpCall>(id)) {
      values[i] = call->op->eval({operands, call->attrs, f.type(id)});
    }
  }
  return values[f.result().index()];
}

inline double tolerance(DType dtype) {
  if (dtype == kBFloat16) return 4e-2;
  if (dtype == kFloat16) return 8e-3;
  return dtype == kFloat64 ? 1e-9 : 5e-5;
}

inline void expect_close(const std::vector<Tensor>& expected, const std::vector<Tensor>& found,
                         const std::string& what) {
  ASSERT_EQ(expected.size(), found.size()) << what;
  for (std::size_t t = 0; t < expected.size(); ++t) {
    ASSERT_EQ(expected[t].shape, found[t].shape) << what;
    ASSERT_TRUE(expected[t].dtype == found[t].dtype) << what;
    for (std::int64_t i = 0; i < expected[t].num_elements(); ++i) {
      if (!expected[t].dtype.is_float()) {
        ASSERT_EQ(element_as_int(expected[t], i), element_as_int(found[t], i)) << what << " " << i;
        continue;
      }
      const double x = element_as_double(expected[t], i), y = element_as_double(found[t], i);
      const bool same =
          x == y || (std::isnan(x) && std::isnan(y)) ||
          std::abs(x - y) <= tolerance(expected[t].dtype) * std::max(1.0, std::abs(x));
      ASSERT_TRUE(same) << what << " element " << i << ": eval " << x << ", kernel " << y;
    }
  }
}

}  // namespace tessera::lower::testing
