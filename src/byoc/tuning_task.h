// SPDX-License-Identifier: Apache-2.0
// Something that a back end can compute in several ways, for whoever measures which is fastest: the
// back end writes kernels and a program that times them, tune/ compiles, runs and records. Ways
// that a vendor's library alone knows, and on the device alone, it searches for instead.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "byoc/compile_context.h"

namespace tessera::byoc {

// One way: a kernel, and how it is launched. Ways that differ in the launch alone share a kernel.
struct TuningCandidate {
  std::string configuration;  // the back end's text
  std::shared_ptr<const CompileJob> kernel;
};

// One start of a search.
struct Search {
  double seconds = 60;            // of measuring, at most
  bool first_valid = false;       // the first one that computes right will do
  std::size_t most_ways = 32;     // that are looked at
  std::set<std::size_t> skipped;  // measured by a start before, or what ended it
};

// What a search tells of ways, by number, as soon as it knows. A way has the same number in each
// start, and number 0 is what is taken without records.
class SearchReport {
 public:
  virtual ~SearchReport() = default;
  virtual void found(std::size_t way, std::string_view configuration) = 0;  // before all else of it
  virtual void begins(std::size_t way) = 0;                                 // a step with it
  virtual void wrong(std::size_t way, std::string_view why) = 0;            // it cannot be used
  virtual void timed(std::size_t way, double median_us, double spread_us) = 0;
  virtual void done() = 0;
};

// Finds ways, checks and measures them: in a process of its own, which is the only one that may
// touch the device. It throws for what is no way's fault.
using SearchFunction = std::function<void(const Search&, SearchReport&)>;

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
  // In the place of candidates, program and table: what has any record was searched for.
  SearchFunction search = {};
  double seconds = 60;       // of measuring, at most
  bool first_valid = false;  // the first one that computes right will do
};

}  // namespace tessera::byoc
