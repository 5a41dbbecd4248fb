// SPDX-License-Identifier: Apache-2.0
// One call of a model: its tensors, and what becomes of them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "model.h"

namespace tessera::python {

class Call {
 public:
  // `outs`: None, or an array for each output. All stay alive as long as this does. Without `copy`,
  // an array that would have to be copied is refused. `stream`: None, or a CUDA stream, for which
  // nothing is waited.
  Call(Model& model, const nanobind::sequence& arrays, nanobind::handle outs, bool copy,
       nanobind::handle stream);
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // Can be called again, by one thread at a time: the memory of the results is the same.
  void operator()();
  // Arrays over the memory of the results, which lives as long as they do.
  nanobind::list results();

 private:
  using Memory = std::shared_ptr<void>;
  void take_outputs(nanobind::handle outs, nanobind::handle stream);
  void make_outputs();
  void reset_outputs();
  void keep_own_result(std::size_t index);
  nanobind::object result(std::size_t index);

  Model& model_;
  std::vector<ArrayView> input_views_, output_views_;
  std::vector<nanobind::object> given_;
  std::vector<tessera_tensor> inputs_, outputs_;
  std::vector<std::vector<std::int64_t>> shapes_;  // of the outputs; -1: data decide
  std::vector<Memory> memory_;   // for outputs whose sizes are known before the run
  std::vector<Memory> results_;  // of the latest run
  std::optional<void*> stream_;
};

}  // namespace tessera::python
