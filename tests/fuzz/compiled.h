// SPDX-License-Identifier: Apache-2.0
// Many graphs as one library, and what it computes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "relay/function.h"
#include "tests/fuzz/graph.h"
#include "tests/fuzz/random_graph.h"
#include "types/target.h"

namespace tessera::fuzz {

// Parameters and results of many functions in a row. Each of them has as many runs.
class Model {
 public:
  // `module` has the function `name`, partitioned, and what it calls.
  void add(const Graph& graph, Module module, const std::string& name);

  bool empty() const { return results_.empty(); }
  Result<Module> finish();
  const std::vector<std::vector<Tensor>>& runs() const { return runs_; }  // inputs of each

 private:
  Module module_;
  relay::FunctionBuilder builder_;
  std::vector<relay::NodeId> results_;
  std::vector<std::vector<Tensor>> runs_;
};

// A list of targets that a model is compiled for.
struct Choice {
  std::string name;
  std::vector<Target> targets;
  bool takes_all = true;  // graphs; else those that it makes a difference to
  int threads = 1;        // as the library is compiled for, and run with
};
// Some back ends in random order; for graphs with open sizes none, each alone, and all; by one
// thread or by two. On a GPU none: a kernel of a back end takes a minute to compile.
std::vector<Choice> choices(Shapes shapes, DeviceType device, std::uint64_t seed);

// Does one of the back ends run a part of the graph?
bool takes_part(const Graph& graph, const std::vector<Target>& targets);

// By run, then by result.
using RunResults = std::vector<std::vector<Tensor>>;
struct Ran {
  RunResults first, again;
  // Outputs in the memory of inputs, as many as may be there; empty if none may.
  RunResults in_place;
  std::map<std::string, std::uint64_t> operators;  // by back end, `native` among them
};
Result<Ran> compile_and_run(const Module& module, const Choice& choice,
                            const std::vector<std::vector<Tensor>>& runs);

}  // namespace tessera::fuzz
