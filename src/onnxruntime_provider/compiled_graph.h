// SPDX-License-Identifier: Apache-2.0
// A graph's library, and how a fused node runs it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "model_library/library.h"
#include "onnxruntime_provider/ort.h"
#include "support/files.h"

namespace tessera::onnxruntime_provider {

// Where the tensors of a library stand among those of a fused node.
struct Places {
  std::vector<std::size_t> inputs;
  std::vector<std::int64_t> outputs;  // -1: the node has no such output
};

class CompiledGraph {
 public:
  // The library stands in the folder, which goes with this. Throws model_library::CallFailed where
  // it cannot be used here.
  CompiledGraph(TempDir folder, const std::string& library, int threads);
  CompiledGraph(const CompiledGraph&) = delete;
  CompiledGraph& operator=(const CompiledGraph&) = delete;
  ~CompiledGraph();

  // Of a fused node with these inputs and outputs, in its order. Throws std::runtime_error where
  // the library needs what the node does not have, or has none of its results.
  Places places(const std::vector<std::string>& inputs,
                const std::vector<std::string>& outputs) const;

  // For any number of threads at a time: each that runs has an instance for itself.
  void run(const Places& places, const Ort::KernelContext& context);

 private:
  using Shapes = std::vector<std::vector<std::int64_t>>;  // -1: the data decide
  class Loan;
  Shapes output_shapes(const std::vector<tessera_tensor>& inputs) const;

  TempDir folder_;
  model_library::Library library_;
  int threads_;
  tessera_model* model_ = nullptr;
  std::vector<tessera_io> inputs_, outputs_;
  std::mutex mutex_;
  std::vector<tessera_instance*> free_;
};

}  // namespace tessera::onnxruntime_provider
