// SPDX-License-Identifier: Apache-2.0
// For tests: runs a partitioned module in this process. Regions run through the real runtime,
// those in the loop IR by its interpreter; everything else is evaluated operator by operator.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backends/testing/compiled_module.h"
#include "module/module.h"
#include "runtime/program.h"

namespace tessera::backends::testing {

// One extern of a module as a model of its own.
class RegionRunner {
 public:
  // Needs static shapes. Failures are test bugs or what the test is about: they throw.
  RegionRunner(const Module& module, const CompiledModule& code, const std::string& symbol,
               int threads);
  ~RegionRunner();
  RegionRunner(const RegionRunner&) = delete;
  RegionRunner& operator=(const RegionRunner&) = delete;

  std::vector<Tensor> run(const std::vector<Tensor>& inputs);

 private:
  struct Program;
  std::unique_ptr<Program> program_;
  tessera_model* model_ = nullptr;
  tessera_instance* instance_ = nullptr;
};

// The function `name` on these inputs. `threads` are those of regions.
std::vector<Tensor> run_function(const Module& module, const CompiledModule& code,
                                 const std::string& name, const std::vector<Tensor>& inputs,
                                 int threads = 1);

}  // namespace tessera::backends::testing
