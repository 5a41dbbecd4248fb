// SPDX-License-Identifier: Apache-2.0
// For tests: TensorRT's interface as far as the shim uses it, over the host's memory. An engine is
// the text of the layers that were added. In the environment FAKE_TENSORRT_VERSION is the version
// number of the library; FAKE_TENSORRT_NO_DEVICE says that there is none to build on,
// FAKE_TENSORRT_IS_FULL that its memory is taken, FAKE_TENSORRT_NO_ACTIVATIONS that no network has
// such layers.
#include <cstdlib>
#include <memory>
#include <new>
#include <sstream>

#include "compute.h"

namespace stand_in {
namespace {

using nvinfer1::CountOfMaps;
using nvinfer1::DataType;
using nvinfer1::Dims;
using nvinfer1::ILogger;
using nvinfer1::ITensor;
using nvinfer1::Weights;

constexpr const char* kMagic = "stand-in";

int version() {
  const char* given = std::getenv("FAKE_TENSORRT_VERSION");
  return given != nullptr ? std::atoi(given) : static_cast<int>(NV_TENSORRT_VERSION);
}

Ints ints(const Dims& dims) { return {dims.d, dims.d + dims.nbDims}; }

float from_half(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const float fraction = static_cast<float>(bits & 1023);
  const float value = exponent == 0    ? std::ldexp(fraction, -24)
                      : exponent == 31 ? (fraction == 0 ? INFINITY : NAN)
                                       : std::ldexp(fraction + 1024, exponent - 25);
  return (bits >> 15) != 0 ? -value : value;
}
// Rounds to nearest even; of numbers that float16 has.
std::uint16_t to_half(float value) {
  const int sign = std::signbit(value) ? 1 << 15 : 0;
  int exponent = 0;
  std::frexp(value, &exponent);
  const int step = std::max(exponent - 11, -24);
  const int units = static_cast<int>(std::nearbyint(std::ldexp(std::fabs(value), -step)));
  if (units < 1024) return static_cast<std::uint16_t>(sign | units);
  return static_cast<std::uint16_t>(sign | (((step + 24) << 10) + units));
}

Floats floats(const void* data, std::int64_t count, bool is_half) {
  Floats out(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = is_half ? from_half(static_cast<const std::uint16_t*>(data)[i])
                     : static_cast<const float*>(data)[i];
  }
  return out;
}

// ---- Networks ----------------------------------------------------------------------------------

struct Shared {
  Plan plan;
  std::map<std::int64_t, std::string> names = {};
  std::map<std::int64_t, bool> halves = {};
};

class TensorOf final : public ITensor {
 public:
  TensorOf(Shared& network, std::int64_t number) : number(number), network_(network) {}
  void setName(const char* name) noexcept override { network_.names[number] = name; }
#if NV_TENSORRT_MAJOR < 11
  void setType(DataType type) noexcept override {
    network_.halves[number] = type == DataType::kHALF;
  }
#endif
  Dims getDimensions() const noexcept override {
    const Ints shape = shape_of(network_.plan, number);
    Dims dims = {static_cast<std::int32_t>(shape.size()), {}};
    for (std::size_t d = 0; d < shape.size(); ++d) {
      dims.d[d] = static_cast<nvinfer1::SizeInDims>(shape[d]);
    }
    return dims;
  }
  const std::int64_t number;

 private:
  Shared& network_;
};

template <class I>
class LayerOf final : public I {
 public:
  LayerOf(Shared& network, std::int64_t number) : network_(network), output_(network, number) {}
  ITensor* getOutput(std::int32_t) const noexcept override { return &output_; }

 private:
  Layer& layer() { return network_.plan.layers[static_cast<std::size_t>(output_.number)]; }
  void set(const char* name, const Dims& list) noexcept override {
    layer().lists[name] = ints(list);
  }
  void set(const char* name, double number) noexcept override { layer().numbers[name] = number; }

  Shared& network_;
  mutable TensorOf output_;
};

class Network final : public nvinfer1::INetworkDefinition {
 public:
  Shared shared;

  ITensor* addInput(const char* name, DataType type, const Dims& shape) noexcept override {
    auto* layer = add<nvinfer1::IUnaryLayer>({"input", 0, {}, {{"shape", ints(shape)}}});
    auto* tensor = static_cast<TensorOf*>(layer->getOutput(0));
    shared.plan.inputs.push_back({name, tensor->number, type == DataType::kHALF});
    given_halves_[tensor->number] = type == DataType::kHALF;
    return tensor;
  }
  void markOutput(ITensor& tensor) noexcept override { outputs_.push_back(number(tensor)); }
  nvinfer1::IConstantLayer* addConstant(const Dims& shape, Weights w) noexcept override {
    auto* layer =
        add<nvinfer1::IConstantLayer>({"constant", 0, {}, {{"shape", ints(shape)}}, {}, values(w)});
    given_halves_[number(*layer->getOutput(0))] = w.type == DataType::kHALF;
    return layer;
  }
  nvinfer1::IActivationLayer* addActivation(ITensor& input,
                                            nvinfer1::ActivationType type) noexcept override {
    if (std::getenv("FAKE_TENSORRT_NO_ACTIVATIONS") != nullptr) return nullptr;
    return add<nvinfer1::IActivationLayer>(
        {"activation", int(type), {number(input)}, {}, {{"alpha", 0}, {"beta", 0}}});
  }
  nvinfer1::IUnaryLayer* addUnary(ITensor& input, nvinfer1::UnaryOperation type) noexcept override {
    return add<nvinfer1::IUnaryLayer>({"unary", int(type), {number(input)}});
  }
  nvinfer1::IElementWiseLayer* addElementWise(
      ITensor& a, ITensor& b, nvinfer1::ElementWiseOperation type) noexcept override {
    return add<nvinfer1::IElementWiseLayer>({"elementwise", int(type), {number(a), number(b)}});
  }
  nvinfer1::IConvolutionLayer* addConvolutionNd(ITensor& input, CountOfMaps maps,
                                                const Dims& window, Weights weights,
                                                Weights) noexcept override {
    return add<nvinfer1::IConvolutionLayer>(
        windowed("convolution", 0, input, window, maps, weights));
  }
  nvinfer1::IDeconvolutionLayer* addDeconvolutionNd(ITensor& input, CountOfMaps maps,
                                                    const Dims& window, Weights weights,
                                                    Weights) noexcept override {
    return add<nvinfer1::IDeconvolutionLayer>(
        windowed("deconvolution", 0, input, window, maps, weights));
  }
  nvinfer1::IPoolingLayer* addPoolingNd(ITensor& input, nvinfer1::PoolingType type,
                                        const Dims& window) noexcept override {
    return add<nvinfer1::IPoolingLayer>(
        windowed("pooling", int(type), input, window, 0, {DataType::kFLOAT, nullptr, 0}));
  }
  nvinfer1::IReduceLayer* addReduce(ITensor& input, nvinfer1::ReduceOperation type,
                                    std::uint32_t axes, bool keeps) noexcept override {
    return add<nvinfer1::IReduceLayer>({"reduce",
                                        int(type),
                                        {number(input)},
                                        {},
                                        {{"axes", double(axes)}, {"keeps", keeps ? 1 : 0}}});
  }
  nvinfer1::ISoftMaxLayer* addSoftMax(ITensor& input) noexcept override {
    return add<nvinfer1::ISoftMaxLayer>({"softmax", 0, {number(input)}});
  }
  nvinfer1::IMatrixMultiplyLayer* addMatrixMultiply(
      ITensor& a, nvinfer1::MatrixOperation of_a, ITensor& b,
      nvinfer1::MatrixOperation of_b) noexcept override {
    return add<nvinfer1::IMatrixMultiplyLayer>(
        {"matmul", 0, {number(a), number(b)}, {}, {{"a", double(of_a)}, {"b", double(of_b)}}});
  }
  nvinfer1::IShuffleLayer* addShuffle(ITensor& input) noexcept override {
    return add<nvinfer1::IShuffleLayer>({"shuffle", 0, {number(input)}});
  }
  nvinfer1::ISliceLayer* addSlice(ITensor& input, const Dims& begin, const Dims& size,
                                  const Dims& strides) noexcept override {
    return add<nvinfer1::ISliceLayer>(
        {"slice",
         0,
         {number(input)},
         {{"begin", ints(begin)}, {"shape", ints(size)}, {"strides", ints(strides)}}});
  }
  nvinfer1::IConcatenationLayer* addConcatenation(ITensor* const* inputs,
                                                  std::int32_t count) noexcept override {
    Layer layer{"concatenation", 0, {}};
    for (std::int32_t i = 0; i < count; ++i) layer.inputs.push_back(number(*inputs[i]));
    return add<nvinfer1::IConcatenationLayer>(std::move(layer));
  }

  Plan plan() const {
    Plan out = shared.plan;
    for (const std::int64_t output : outputs_) {
      out.outputs.push_back({shared.names.at(output), output, is_half(output)});
    }
    return out;
  }

 private:
  // Before 11 a result is float32 unless it is told otherwise; then types are those of the graph.
  bool is_half(std::int64_t layer) const {
#if NV_TENSORRT_MAJOR < 11
    return shared.halves.contains(layer) && shared.halves.at(layer);
#else
    const auto given = given_halves_.find(layer);
    if (given != given_halves_.end()) return given->second;
    return is_half(shared.plan.layers[static_cast<std::size_t>(layer)].inputs[0]);
#endif
  }
  static std::int64_t number(ITensor& tensor) { return static_cast<TensorOf&>(tensor).number; }
  static Floats values(const Weights& w) {
    return floats(w.values, w.count, w.type == DataType::kHALF);
  }
  static Layer windowed(const char* kind, int type, ITensor& input, const Dims& window,
                        std::int64_t maps, const Weights& weights) {
    return {
        kind,           type, {number(input)}, {{"window", ints(window)}}, {{"maps", double(maps)}},
        values(weights)};
  }
  template <class I>
  LayerOf<I>* add(Layer layer) {
    shared.plan.layers.push_back(std::move(layer));
    auto added = std::make_unique<LayerOf<I>>(
        shared, static_cast<std::int64_t>(shared.plan.layers.size() - 1));
    LayerOf<I>* out = added.get();
    layers_.push_back(std::move(added));
    return out;
  }

  std::vector<std::unique_ptr<nvinfer1::ILayer>> layers_;
  std::vector<std::int64_t> outputs_;
  std::map<std::int64_t, bool> given_halves_;  // of inputs and constants
};

// ---- Building ----------------------------------------------------------------------------------

class Config final : public nvinfer1::IBuilderConfig {
 public:
  void setMemoryPoolLimit(nvinfer1::MemoryPoolType, std::size_t bytes) noexcept override {
    workspace_ = bytes;
  }
  void setFlag(nvinfer1::BuilderFlag flag) noexcept override { flags_ |= 1u << int(flag); }
  void clearFlag(nvinfer1::BuilderFlag flag) noexcept override { flags_ &= ~(1u << int(flag)); }
  std::string text() const {
    return "flags=" + std::to_string(flags_) + " workspace=" + std::to_string(workspace_);
  }

 private:
  std::size_t workspace_ = 0;
  unsigned flags_ = 1u << int(nvinfer1::BuilderFlag::kTF32);
};

class Memory final : public nvinfer1::IHostMemory {
 public:
  explicit Memory(std::string bytes) : bytes_(std::move(bytes)) {}
  void* data() const noexcept override { return const_cast<char*>(bytes_.data()); }
  std::size_t size() const noexcept override { return bytes_.size(); }

 private:
  std::string bytes_;
};

class Builder final : public nvinfer1::IBuilder {
 public:
  explicit Builder(ILogger& logger) : logger_(logger) {}
  nvinfer1::INetworkDefinition* createNetworkV2(std::uint32_t flags) noexcept override {
#if NV_TENSORRT_MAJOR < 10
    using Flag = nvinfer1::NetworkDefinitionCreationFlag;
    if ((flags >> static_cast<int>(Flag::kEXPLICIT_BATCH) & 1) == 0) return nullptr;
#else
    if (flags != 0) return nullptr;  // the shim wants the kind that has none
#endif
    return new (std::nothrow) Network;
  }
  nvinfer1::IBuilderConfig* createBuilderConfig() noexcept override {
    return new (std::nothrow) Config;
  }
  nvinfer1::IHostMemory* buildSerializedNetwork(
      nvinfer1::INetworkDefinition& network, nvinfer1::IBuilderConfig& config) noexcept override {
    if (std::getenv("FAKE_TENSORRT_IS_FULL") != nullptr) {
      logger_.log(ILogger::Severity::kERROR, "no memory is left");
      return nullptr;
    }
    Plan plan = static_cast<Network&>(network).plan();
    plan.flags = static_cast<Config&>(config).text();
    std::ostringstream out;
    out << kMagic << ' ' << version() << '\n';
    write(out, plan);
    return new (std::nothrow) Memory(out.str());
  }

 private:
  ILogger& logger_;
};

// ---- Running -----------------------------------------------------------------------------------

class Context final : public nvinfer1::IExecutionContext {
 public:
  Context(const Plan& plan, ILogger& logger) : plan_(plan), logger_(logger) {}
  bool setTensorAddress(const char* name, void* address) noexcept override {
    if (reinterpret_cast<std::uintptr_t>(address) % 256 == 0) {
      addresses_[name] = address;
      return true;
    }
    logger_.log(ILogger::Severity::kERROR, "an address is not aligned to 256 bytes");
    return false;
  }
  bool enqueueV3(cudaStream_t) noexcept override {
    Run run(plan_);
    for (const Binding& b : plan_.inputs) {
      run.set(b.layer, floats(addresses_.at(b.name), count(run.shape(b.layer)), b.is_half));
    }
    run.compute();
    for (const Binding& b : plan_.outputs) {
      const Floats& values = run.value(b.layer);
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (b.is_half) static_cast<std::uint16_t*>(addresses_.at(b.name))[i] = to_half(values[i]);
        if (!b.is_half) static_cast<float*>(addresses_.at(b.name))[i] = values[i];
      }
    }
    return true;
  }

 private:
  const Plan& plan_;
  ILogger& logger_;
  std::map<std::string, void*> addresses_;
};

class Engine final : public nvinfer1::ICudaEngine {
 public:
  Engine(Plan plan, ILogger& logger) : plan_(std::move(plan)), logger_(logger) {}
#if NV_TENSORRT_MAJOR < 10
  nvinfer1::IExecutionContext* createExecutionContext() noexcept override {
#else
  nvinfer1::IExecutionContext* createExecutionContext(
      nvinfer1::ExecutionContextAllocationStrategy) noexcept override {
#endif
    return new (std::nothrow) Context(plan_, logger_);
  }
  std::int32_t getNbIOTensors() const noexcept override {
    return static_cast<std::int32_t>(plan_.inputs.size() + plan_.outputs.size());
  }
  const char* getIOTensorName(std::int32_t index) const noexcept override {
    const auto i = static_cast<std::size_t>(index);
    return i < plan_.inputs.size() ? plan_.inputs[i].name.c_str()
                                   : plan_.outputs[i - plan_.inputs.size()].name.c_str();
  }
  nvinfer1::TensorIOMode getTensorIOMode(const char* name) const noexcept override {
    for (const Binding& b : plan_.inputs) {
      if (b.name == name) return nvinfer1::TensorIOMode::kINPUT;
    }
    return nvinfer1::TensorIOMode::kOUTPUT;
  }

 private:
  const Plan plan_;
  ILogger& logger_;
};

class Runtime final : public nvinfer1::IRuntime {
 public:
  explicit Runtime(ILogger& logger) : logger_(logger) {}
  nvinfer1::ICudaEngine* deserializeCudaEngine(const void* bytes,
                                               std::size_t size) noexcept override {
    std::istringstream in(std::string(static_cast<const char*>(bytes), size));
    std::string magic;
    int made_by = 0;
    in >> magic >> made_by;
    in.ignore();
    Plan plan;
    if (magic == kMagic && made_by == version() && read(in, plan)) {
      return new (std::nothrow) Engine(std::move(plan), logger_);
    }
    logger_.log(ILogger::Severity::kERROR, "these bytes are no engine");
    return nullptr;
  }

 private:
  ILogger& logger_;
};

}  // namespace
}  // namespace stand_in

extern "C" {

void* createInferBuilder_INTERNAL(void* logger, std::int32_t) noexcept {
  auto& log = *static_cast<nvinfer1::ILogger*>(logger);
  if (std::getenv("FAKE_TENSORRT_NO_DEVICE") == nullptr)
    return new (std::nothrow) stand_in::Builder(log);
  log.log(nvinfer1::ILogger::Severity::kERROR, "there is no device");
  return nullptr;
}
void* createInferRuntime_INTERNAL(void* logger, std::int32_t) noexcept {
  return new (std::nothrow) stand_in::Runtime(*static_cast<nvinfer1::ILogger*>(logger));
}
std::int32_t getInferLibVersion() noexcept { return stand_in::version(); }
}
