// SPDX-License-Identifier: Apache-2.0
// How cuDNN runs a graph: an engine with its choices, found by the library's heuristics or restored
// from the text that a plan is stored as.
#pragma once

#include "backends/cudnn/runtime/operation_graph.h"

namespace tessera::backends::cudnn {

// The engines that one list of the heuristics has for a graph, the presumably fastest first. Not
// those whose sums are less exact than the graph says, or differ from run to run; nor those whose
// code must be compiled, unless the graph allows it.
class Configurations {
 public:
  static constexpr std::int64_t kMost = 64;

  // False: `error` says why. An empty list is none.
  [[nodiscard]] bool find(const Device& device, const OperationGraph& graph,
                          cudnnBackendHeurMode_t list, TextBuffer* error);
  std::int64_t size() const { return size_; }
  const Descriptor& operator[](std::int64_t i) const { return usable(i); }

 private:
  const Descriptor& usable(std::int64_t i) const { return all_[order_[i]]; }

  Descriptor all_[kMost];
  std::int64_t order_[kMost] = {}, size_ = 0;
};

class Plan {
 public:
  // The first configuration of which the library makes a plan. The graph must stay.
  [[nodiscard]] bool choose(const Device& device, const OperationGraph& graph, TextBuffer* error);
  [[nodiscard]] bool make(const Device& device, const Descriptor& configuration, TextBuffer* error);
  // Of text(): without a search and without heuristics.
  [[nodiscard]] bool restore(const Device& device, std::string_view text, TextBuffer* error);

  // Nothing in *text: the library does not tell.
  [[nodiscard]] bool text(const Device& device, runtime::Array<char>* text,
                          TextBuffer* error) const;
  std::uint64_t workspace_bytes() const { return workspace_bytes_; }
  // Chosen of the engines that are there when no other is?
  bool is_fallback() const { return is_fallback_; }
  const Descriptor& descriptor() const { return plan_; }

 private:
  bool choose_from(const Device& device, const OperationGraph& graph, cudnnBackendHeurMode_t list,
                   TextBuffer* error);
  bool finish(const Device& device, TextBuffer* error);

  Descriptor plan_;
  std::uint64_t workspace_bytes_ = 0;
  bool is_fallback_ = false;
};

}  // namespace tessera::backends::cudnn
