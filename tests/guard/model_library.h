// SPDX-License-Identifier: Apache-2.0
// A library that tessera made, loaded; its C interface (tessera/model.h) as functions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tessera/model.h"

namespace tessera::guard {

// An input or output. A dimension is a number, or as text what it is made of: `n`, `n + 1`; "?"
// where data decide.
struct Port {
  tessera_io io;
  std::vector<std::string> shape;
  std::uint64_t element_bytes() const { return (std::uint64_t{io.dtype.bits} + 7) / 8; }
};

class ModelLibrary {
 public:
  // Throws std::runtime_error where it cannot be loaded, or its model not be made.
  explicit ModelLibrary(const std::string& path);
  ModelLibrary(const ModelLibrary&) = delete;
  ModelLibrary& operator=(const ModelLibrary&) = delete;
  ~ModelLibrary();

  const std::vector<Port>& inputs() const { return inputs_; }
  const std::vector<Port>& outputs() const { return outputs_; }

  std::string last_error() const { return last_error_(); }
  // Null where it cannot be made.
  tessera_instance* create_instance(const tessera_allocator& allocator, int threads) const;
  void destroy(tessera_instance* instance) const { instance_destroy_(instance); }
  std::int32_t run(tessera_instance* instance, const std::vector<tessera_tensor>& inputs,
                   std::vector<tessera_tensor>& outputs) const;
  // -1 where data decide; nothing where the sizes are refused.
  std::vector<std::vector<std::int64_t>> output_shapes(
      const std::vector<tessera_tensor>& inputs) const;

 private:
  void read_ports();

  void* handle_ = nullptr;
  tessera_model* model_ = nullptr;
  std::vector<Port> inputs_, outputs_;
  decltype(&tessera_last_error) last_error_ = nullptr;
  decltype(&tessera_model_destroy) model_destroy_ = nullptr;
  decltype(&tessera_model_output_shapes) output_shapes_ = nullptr;
  decltype(&tessera_instance_create) instance_create_ = nullptr;
  decltype(&tessera_instance_destroy) instance_destroy_ = nullptr;
  decltype(&tessera_instance_run) instance_run_ = nullptr;
};

}  // namespace tessera::guard
