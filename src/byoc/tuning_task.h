// SPDX-License-Identifier: Apache-2.0
// Something that a back end can compute in several ways, for whoever measures which is fastest: the
// back end writes kernels and a program that times them, tune/ compiles, runs and records.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "byoc/compile_context.h"

namespace tessera::byoc {

// One way: a kernel, and how it is launched. Ways that differ in the launch alone share a kernel.
struct TuningCandidate {
  std::string configuration;  // the back end's text
  std::shared_ptr<const CompileJob> kernel;
};

struct TuningTask {
  // As in records. A device that `is_of_device` is one to measure on:
  // "sm_90a 132 ", the architecture and the number of multiprocessors.
  std::string backend, version, device;
  Workload workload;
  std::string title;     // for people: "128 x 4096 x 1024 float16: nn.matmul, add, nn.gelu"
  std::size_t uses = 1;  // functions of the module that do this work
  std::vector<TuningCandidate> candidates = {};  // the presumably fastest first
  // With the kernels a program that measures them; docs/tuning.md says how it is called and what it
  // prints. `table` tells it which candidates, by number, are linked.
  CompileJob program = {};
  std::function<CompileJob(std::span<const std::size_t> candidates)> table = {};
  std::vector<std::string> cuda_libraries = {};  // files of the toolkit that the program needs
  double seconds = 60;                           // of measuring, at most
  bool first_valid = false;                      // the first one that computes right will do
};

}  // namespace tessera::byoc
