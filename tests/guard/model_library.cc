// SPDX-License-Identifier: Apache-2.0
#include "tests/guard/model_library.h"

#include <filesystem>
#include <stdexcept>

#include <dlfcn.h>
#include <nlohmann/json.hpp>

namespace tessera::guard {
namespace {

using Json = nlohmann::json;

template <class F>
F function(void* handle, const char* name) {
  void* found = ::dlsym(handle, name);
  if (found == nullptr) throw std::runtime_error(std::string("there is no function ") + name);
  return reinterpret_cast<F>(found);
}
#define TESSERA_FUNCTION(name) function<decltype(&(name))>(handle_, #name)

std::vector<std::string> shape_text(const Json& port) {
  std::vector<std::string> shape;
  for (const Json& dim : port.at("shape")) {
    shape.push_back(dim.is_string() ? dim.get<std::string>() : dim.dump());
  }
  return shape;
}

}  // namespace

ModelLibrary::ModelLibrary(const std::string& path) {
  handle_ = ::dlopen(std::filesystem::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) throw std::runtime_error(::dlerror());
  last_error_ = TESSERA_FUNCTION(tessera_last_error);
  model_destroy_ = TESSERA_FUNCTION(tessera_model_destroy);
  output_shapes_ = TESSERA_FUNCTION(tessera_model_output_shapes);
  instance_create_ = TESSERA_FUNCTION(tessera_instance_create);
  instance_destroy_ = TESSERA_FUNCTION(tessera_instance_destroy);
  instance_run_ = TESSERA_FUNCTION(tessera_instance_run);
  if (TESSERA_FUNCTION(tessera_model_create)(nullptr, &model_) != TESSERA_OK) {
    throw std::runtime_error(last_error());
  }
  read_ports();
}

// No library is unloaded: threads of its vendor libraries may still be about.
ModelLibrary::~ModelLibrary() { model_destroy_(model_); }

void ModelLibrary::read_ports() {
  const Json json = Json::parse(TESSERA_FUNCTION(tessera_metadata_json)());
  const auto read = [&](auto describe, const char* key, std::vector<Port>& ports) {
    for (const Json& of : json.at(key)) {
      Port port{TESSERA_IO_INIT, shape_text(of)};
      if (describe(model_, static_cast<std::int32_t>(ports.size()), &port.io) != TESSERA_OK) {
        throw std::runtime_error(last_error());
      }
      ports.push_back(std::move(port));
    }
  };
  read(TESSERA_FUNCTION(tessera_model_input), "inputs", inputs_);
  read(TESSERA_FUNCTION(tessera_model_output), "outputs", outputs_);
}

tessera_instance* ModelLibrary::create_instance(const tessera_allocator& allocator,
                                                int threads) const {
  tessera_instance_options options = TESSERA_INSTANCE_OPTIONS_INIT;
  options.threads = threads;
  options.allocator = &allocator;
  tessera_instance* instance = nullptr;
  return instance_create_(model_, &options, &instance) == TESSERA_OK ? instance : nullptr;
}

std::int32_t ModelLibrary::run(tessera_instance* instance,
                               const std::vector<tessera_tensor>& inputs,
                               std::vector<tessera_tensor>& outputs) const {
  return instance_run_(instance, inputs.data(), static_cast<std::int32_t>(inputs.size()),
                       outputs.data(), static_cast<std::int32_t>(outputs.size()));
}

std::vector<std::vector<std::int64_t>> ModelLibrary::output_shapes(
    const std::vector<tessera_tensor>& inputs) const {
  std::vector<std::vector<std::int64_t>> shapes;
  std::vector<tessera_tensor> outputs(outputs_.size());
  for (const Port& port : outputs_) shapes.emplace_back(static_cast<std::size_t>(port.io.ndim));
  for (std::size_t i = 0; i < outputs.size(); ++i) outputs[i].shape = shapes[i].data();
  const std::int32_t status =
      output_shapes_(model_, inputs.data(), static_cast<std::int32_t>(inputs.size()),
                     outputs.data(), static_cast<std::int32_t>(outputs.size()));
  if (status != TESSERA_OK) shapes.clear();
  return shapes;
}

}  // namespace tessera::guard
