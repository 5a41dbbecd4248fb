// SPDX-License-Identifier: Apache-2.0
// A region as cuDNN's graph of operations, made of the library's JSON graph: by the compiler, which
// asks for plans, and by a model that has no plan for the cuDNN that it finds.
#pragma once

#include "backends/cudnn/runtime/device.h"
#include "runtime/json_graph.h"

namespace tessera::backends::cudnn {

using runtime::JsonGraph;
using runtime::JsonNode;

// The name that a node's tensor has in graphs and plans: whatever the order of parameters, equal
// graphs have equal names.
[[nodiscard]] bool tensor_id(const JsonGraph& graph, std::uint32_t node, std::int64_t* id,
                             TextBuffer* error);

// What a `scalar` node stands for.
[[nodiscard]] bool scalar_value(const JsonGraph& graph, const JsonNode& node, float* value,
                                TextBuffer* error);
inline bool is_scalar(const JsonNode& node) {
  return node.op == runtime::JsonOp::kKernel && node.name == "scalar";
}
// A part of an input, or one that is read in several places: another tensor for cuDNN.
inline bool is_view(const JsonNode& node) {
  return node.op == runtime::JsonOp::kKernel && node.name == "view";
}
// An input that is read through views alone is no tensor of its own.
inline bool is_tensor(const JsonGraph& graph, const JsonNode& node) {
  return node.op != runtime::JsonOp::kInput || graph.has_attr(node, "tensor_id");
}

// The operation that gives the result. What is said of all of the graph, the plan among it, stands
// beside it. Null: there is none.
const JsonNode* last_operation(const JsonGraph& graph);

class OperationGraph {
 public:
  OperationGraph() = default;

  // docs/backends.md lists the attributes.
  [[nodiscard]] bool build(const Device& device, const JsonGraph& graph, TextBuffer* error);

  const Descriptor& descriptor() const { return graph_; }
  // May float32 be multiplied as tf32?
  bool allows_tf32() const { return allows_tf32_; }
  // Is float32 multiplied?
  bool is_float32() const { return is_float32_; }
  // May engines be taken whose code cuDNN compiles?
  bool allows_runtime_engines() const { return allows_runtime_engines_; }

 private:
  static constexpr std::uint32_t kMostNodes = 32;

  bool add_tensor(const JsonGraph& graph, std::uint32_t node, TextBuffer* error);
  bool add_operation(const JsonGraph& graph, std::uint32_t node, TextBuffer* error);
  bool add_convolution(const JsonGraph& graph, std::uint32_t node, TextBuffer* error);
  bool add_matmul(const JsonGraph& graph, std::uint32_t node, TextBuffer* error);
  bool add_norm(const JsonGraph& graph, std::uint32_t node, TextBuffer* error);
  bool add_pointwise(const JsonGraph& graph, std::uint32_t node, TextBuffer* error);
  bool add_reduction(const JsonGraph& graph, std::uint32_t node, TextBuffer* error);
  bool made(cudnnStatus_t status, const char* what, TextBuffer* error) const;

  const Device* device_ = nullptr;
  Descriptor tensors_[kMostNodes], operators_[kMostNodes], operations_[kMostNodes];  // by node
  std::uint32_t operation_count_ = 0;
  cudnnBackendDescriptor_t order_[kMostNodes] = {};
  Descriptor graph_;
  bool allows_tf32_ = false, is_float32_ = false, allows_runtime_engines_ = false;
};

}  // namespace tessera::backends::cudnn
