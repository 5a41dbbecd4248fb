// SPDX-License-Identifier: Apache-2.0
// A graph of onnxruntime, compiled by the command `tessera` in a process of its own.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "onnxruntime_provider/compiled_graph.h"
#include "onnxruntime_provider/ort.h"

namespace tessera::onnxruntime_provider {

struct Options {
  std::string command;                 // the program `tessera`
  std::vector<std::string> arguments;  // more of them for `compile`
  int threads = 0;                     // 0: as many as the process may use CPUs
};

// What the compiler does not take.
struct Refusal {
  std::vector<std::size_t> nodes;  // by their ids; none: it is the graph as a whole
  std::string reasons;
};

struct Compilation {
  std::shared_ptr<CompiledGraph> graph;  // null: it was refused
  Refusal refusal;
};

// Throws std::runtime_error where there is no command, or no temporary folder can be made. A graph
// that cannot be written is refused.
Compilation compile(const Ort::ConstGraph& graph, const Options& options);

}  // namespace tessera::onnxruntime_provider
