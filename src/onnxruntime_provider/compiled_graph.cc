// SPDX-License-Identifier: Apache-2.0
#include "onnxruntime_provider/compiled_graph.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace tessera::onnxruntime_provider {
namespace {

bool is_aligned(const void* data, const tessera_io& io) {
  return io.align_bytes < 2 || reinterpret_cast<std::uintptr_t>(data) % io.align_bytes == 0;
}

// The data of an input, or a copy where the library asks for more alignment.
class Input {
 public:
  Input(const Ort::ConstValue& value, const tessera_io& io) {
    const auto info = value.GetTensorTypeAndShapeInfo();
    shape_ = info.GetShape();
    const void* data = value.GetTensorRawData();
    if (!is_aligned(data, io)) {
      const std::size_t bytes = value.GetTensorSizeInBytes();
      copy_.resize(bytes + io.align_bytes);
      void* begin = copy_.data();
      std::size_t room = copy_.size();
      data = std::memcpy(std::align(io.align_bytes, bytes, begin, room), data, bytes);
    }
    tensor_ = {const_cast<void*>(data),
               {TESSERA_CPU, 0},
               static_cast<std::int32_t>(shape_.size()),
               io.dtype,
               shape_.data(),
               nullptr,
               0};
  }
  const tessera_tensor& tensor() const { return tensor_; }

 private:
  std::vector<std::int64_t> shape_;
  std::vector<char> copy_;
  tessera_tensor tensor_;
};

std::size_t bytes_of(const tessera_tensor& tensor) {
  std::size_t bytes = tensor.dtype.bits / 8;
  for (int d = 0; d < tensor.ndim; ++d) bytes *= static_cast<std::size_t>(tensor.shape[d]);
  return bytes;
}

void copy(const tessera_tensor& from, const Ort::KernelContext& context, std::size_t place) {
  auto to = context.GetOutput(place, from.shape, static_cast<std::size_t>(from.ndim));
  if (bytes_of(from) == 0) return;
  std::memcpy(to.GetTensorMutableRawData(), static_cast<const char*>(from.data) + from.byte_offset,
              bytes_of(from));
}

bool is_known(const std::vector<std::int64_t>& shape) {
  return std::all_of(shape.begin(), shape.end(), [](std::int64_t size) { return size >= 0; });
}

}  // namespace

CompiledGraph::CompiledGraph(TempDir folder, const std::string& library, int threads)
    : folder_(std::move(folder)), library_(folder_.file(library)), threads_(threads) {
  const auto& call = library_.call();
  const tessera_model_options wanted = TESSERA_MODEL_OPTIONS_INIT;
  library_.check(call.model_create(&wanted, &model_));
  const auto read = [this](std::vector<tessera_io>& ports, std::int32_t count, auto function) {
    ports.assign(static_cast<std::size_t>(count), TESSERA_IO_INIT);
    for (std::int32_t i = 0; i < count; ++i) {
      library_.check(function(model_, i, &ports[static_cast<std::size_t>(i)]));
    }
  };
  read(inputs_, call.model_input_count(model_), call.model_input);
  read(outputs_, call.model_output_count(model_), call.model_output);
}

CompiledGraph::~CompiledGraph() {
  for (tessera_instance* instance : free_) library_.call().instance_destroy(instance);
  library_.call().model_destroy(model_);
}

Places CompiledGraph::places(const std::vector<std::string>& inputs,
                             const std::vector<std::string>& outputs) const {
  const auto index = [](const std::vector<std::string>& names, const char* name) {
    const auto at = std::find(names.begin(), names.end(), name);
    return at == names.end() ? std::int64_t{-1} : at - names.begin();
  };
  Places places;
  for (const tessera_io& io : inputs_) {
    const std::int64_t at = index(inputs, io.name);
    if (at < 0) throw std::runtime_error(std::string("no input `") + io.name + "` of a node");
    places.inputs.push_back(static_cast<std::size_t>(at));
  }
  for (const tessera_io& io : outputs_) places.outputs.push_back(index(outputs, io.name));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto wanted = static_cast<std::int64_t>(i);
    const auto& have = places.outputs;
    if (!outputs[i].empty() && std::find(have.begin(), have.end(), wanted) == have.end()) {
      throw std::runtime_error("no result `" + outputs[i] + "` of a library");
    }
  }
  return places;
}

// An instance for one run.
class CompiledGraph::Loan {
 public:
  explicit Loan(CompiledGraph& graph) : graph_(graph) {
    {
      const std::lock_guard lock(graph.mutex_);
      if (!graph.free_.empty()) {
        instance_ = graph.free_.back();
        graph.free_.pop_back();
        return;
      }
    }
    tessera_instance_options wanted = TESSERA_INSTANCE_OPTIONS_INIT;
    wanted.threads = graph.threads_;
    graph.library_.check(graph.library_.call().instance_create(graph.model_, &wanted, &instance_));
  }
  Loan(const Loan&) = delete;
  Loan& operator=(const Loan&) = delete;
  ~Loan() {
    const std::lock_guard lock(graph_.mutex_);
    graph_.free_.push_back(instance_);
  }
  tessera_instance* get() const { return instance_; }

 private:
  CompiledGraph& graph_;
  tessera_instance* instance_ = nullptr;
};

CompiledGraph::Shapes CompiledGraph::output_shapes(
    const std::vector<tessera_tensor>& inputs) const {
  Shapes shapes;
  std::vector<tessera_tensor> outputs(outputs_.size());
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    shapes.emplace_back(static_cast<std::size_t>(outputs_[i].ndim));
    outputs[i].shape = shapes[i].data();
  }
  library_.check(library_.call().model_output_shapes(
      model_, inputs.data(), static_cast<std::int32_t>(inputs.size()), outputs.data(),
      static_cast<std::int32_t>(outputs.size())));
  return shapes;
}

void CompiledGraph::run(const Places& places, const Ort::KernelContext& context) {
  std::vector<Input> given;
  given.reserve(inputs_.size());
  std::vector<tessera_tensor> inputs, outputs;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    inputs.push_back(given.emplace_back(context.GetInput(places.inputs[i]), inputs_[i]).tensor());
  }
  Shapes shapes = output_shapes(inputs);
  // Results that cannot be written where they belong are the instance's, and copied: their sizes
  // are the data's, or onnxruntime gave memory that is aligned less.
  std::vector<bool> is_copied(outputs_.size(), true);
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    outputs.push_back(
        {nullptr, {TESSERA_CPU, 0}, outputs_[i].ndim, outputs_[i].dtype, nullptr, nullptr, 0});
    if (places.outputs[i] < 0 || !is_known(shapes[i])) continue;
    const auto place = static_cast<std::size_t>(places.outputs[i]);
    void* data = context.GetOutput(place, shapes[i]).GetTensorMutableRawData();
    if (data == nullptr || !is_aligned(data, outputs_[i])) continue;
    is_copied[i] = false;
    outputs[i].data = data;
    outputs[i].shape = shapes[i].data();
  }
  const Loan instance(*this);
  library_.check(library_.call().instance_run(
      instance.get(), inputs.data(), static_cast<std::int32_t>(inputs.size()), outputs.data(),
      static_cast<std::int32_t>(outputs.size())));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!is_copied[i] || places.outputs[i] < 0) continue;
    copy(outputs[i], context, static_cast<std::size_t>(places.outputs[i]));
  }
}

}  // namespace tessera::onnxruntime_provider
