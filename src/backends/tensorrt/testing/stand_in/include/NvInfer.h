// SPDX-License-Identifier: Apache-2.0
// For tests: the names of TensorRT's C++ interface as far as the shim uses them, in the form that
// 8.6 has, 10 or 11, by NvInferVersion.h: sizes of 32 or 64 bits, flags and calls that came and
// went. Classes are laid out in a way of their own, so what is compiled against this runs with the
// stand-in alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include <NvInferVersion.h>

struct CUstream_st;
using cudaStream_t = CUstream_st*;

#define NV_TENSORRT_VERSION nvinfer1::kNV_TENSORRT_VERSION_IMPL

namespace nvinfer1 {

#if NV_TENSORRT_MAJOR < 10
static constexpr int32_t kNV_TENSORRT_VERSION_IMPL =
    (NV_TENSORRT_MAJOR * 1000) + (NV_TENSORRT_MINOR * 100) + NV_TENSORRT_PATCH;
using SizeInDims = int32_t;
using CountOfMaps = int32_t;
#else
static constexpr int64_t kNV_TENSORRT_VERSION_IMPL =
    (NV_TENSORRT_MAJOR * 10000L) + (NV_TENSORRT_MINOR * 100L) + NV_TENSORRT_PATCH;
using SizeInDims = int64_t;
using CountOfMaps = int64_t;
#endif

enum class DataType : int32_t { kFLOAT = 0, kHALF = 1 };
enum class ActivationType : int32_t {
  kRELU,
  kSIGMOID,
  kTANH,
  kLEAKY_RELU,
  kELU,
  kSOFTPLUS,
  kCLIP,
  kHARD_SIGMOID
};
enum class UnaryOperation : int32_t {
  kEXP,
  kLOG,
  kSQRT,
  kRECIP,
  kABS,
  kNEG,
  kSIN,
  kCOS,
  kFLOOR,
  kCEIL,
  kERF
};
enum class ElementWiseOperation : int32_t { kSUM, kPROD, kSUB, kDIV, kPOW };
enum class PoolingType : int32_t { kMAX, kAVERAGE };
enum class ReduceOperation : int32_t { kSUM, kPROD, kMAX, kAVG };
enum class MatrixOperation : int32_t { kNONE, kTRANSPOSE };
enum class MemoryPoolType : int32_t { kWORKSPACE };
enum class BuilderFlag : int32_t {
#if NV_TENSORRT_MAJOR < 11
  kFP16 = 0,
#endif
  kTF32 = 1
};
enum class NetworkDefinitionCreationFlag : int32_t {
#if NV_TENSORRT_MAJOR < 11
  kEXPLICIT_BATCH = 0,  // without it, before 10: another kind of network
#endif
#if NV_TENSORRT_MAJOR >= 10
  kSTRONGLY_TYPED = 1
#endif
};
enum class TensorIOMode : int32_t { kNONE, kINPUT, kOUTPUT };

struct Dims {
  static constexpr int32_t MAX_DIMS = 8;
  int32_t nbDims;
  SizeInDims d[MAX_DIMS];
};
struct Permutation {
  int32_t order[Dims::MAX_DIMS];
};
struct Weights {
  DataType type;
  void const* values;
  int64_t count;
};

class ILogger {
 public:
  enum class Severity : int32_t { kINTERNAL_ERROR, kERROR, kWARNING, kINFO, kVERBOSE };
  virtual void log(Severity severity, char const* text) noexcept = 0;
  virtual ~ILogger() = default;
};

class ITensor {
 public:
  virtual ~ITensor() = default;
  virtual void setName(char const* name) noexcept = 0;
  virtual Dims getDimensions() const noexcept = 0;
#if NV_TENSORRT_MAJOR < 11
  virtual void setType(DataType type) noexcept = 0;
#endif
};

class ILayer {
 public:
  virtual ~ILayer() = default;
  virtual ITensor* getOutput(int32_t index) const noexcept = 0;

 protected:
  virtual void set(char const* name, Dims const& list) noexcept = 0;
  virtual void set(char const* name, double number) noexcept = 0;
};

class IActivationLayer : public ILayer {
 public:
  void setAlpha(float alpha) noexcept { set("alpha", double{alpha}); }
  void setBeta(float beta) noexcept { set("beta", double{beta}); }
};
class IUnaryLayer : public ILayer {};
class IElementWiseLayer : public ILayer {};
class IConstantLayer : public ILayer {};
class IMatrixMultiplyLayer : public ILayer {};
class IReduceLayer : public ILayer {};
class ISliceLayer : public ILayer {};
class IWindowLayer : public ILayer {
 public:
  void setStrideNd(Dims const& list) noexcept { set("strides", list); }
  void setPrePadding(Dims const& list) noexcept { set("begin", list); }
  void setPostPadding(Dims const& list) noexcept { set("end", list); }
};
class IConvolutionLayer : public IWindowLayer {
 public:
  void setDilationNd(Dims const& list) noexcept { set("dilation", list); }
  void setNbGroups(CountOfMaps groups) noexcept { set("groups", static_cast<double>(groups)); }
};
class IDeconvolutionLayer : public IConvolutionLayer {};
class IPoolingLayer : public IWindowLayer {
 public:
  void setAverageCountExcludesPadding(bool excludes) noexcept {
    set("excludes", excludes ? 1.0 : 0.0);
  }
};
class ISoftMaxLayer : public ILayer {
 public:
  void setAxes(uint32_t axes) noexcept { set("axes", static_cast<double>(axes)); }
};
class IConcatenationLayer : public ILayer {
 public:
  void setAxis(int32_t axis) noexcept { set("axis", static_cast<double>(axis)); }
};
class IShuffleLayer : public ILayer {
 public:
  void setReshapeDimensions(Dims const& list) noexcept { set("reshape", list); }
  void setFirstTranspose(Permutation order) noexcept {
    Dims list = {Dims::MAX_DIMS, {}};
    for (int32_t i = 0; i < list.nbDims; ++i) list.d[i] = order.order[i];
    set("order", list);
  }
};

class INetworkDefinition {
 public:
  virtual ~INetworkDefinition() = default;
  virtual ITensor* addInput(char const* name, DataType type, Dims const& shape) noexcept = 0;
  virtual void markOutput(ITensor& tensor) noexcept = 0;
  virtual IConstantLayer* addConstant(Dims const& shape, Weights weights) noexcept = 0;
  virtual IActivationLayer* addActivation(ITensor& input, ActivationType type) noexcept = 0;
  virtual IUnaryLayer* addUnary(ITensor& input, UnaryOperation type) noexcept = 0;
  virtual IElementWiseLayer* addElementWise(ITensor& a, ITensor& b,
                                            ElementWiseOperation type) noexcept = 0;
  virtual IConvolutionLayer* addConvolutionNd(ITensor& input, CountOfMaps maps, Dims const& window,
                                              Weights weights, Weights bias) noexcept = 0;
  virtual IDeconvolutionLayer* addDeconvolutionNd(ITensor& input, CountOfMaps maps,
                                                  Dims const& window, Weights weights,
                                                  Weights bias) noexcept = 0;
  virtual IPoolingLayer* addPoolingNd(ITensor& input, PoolingType type,
                                      Dims const& window) noexcept = 0;
  virtual IReduceLayer* addReduce(ITensor& input, ReduceOperation type, uint32_t axes,
                                  bool keeps) noexcept = 0;
  virtual ISoftMaxLayer* addSoftMax(ITensor& input) noexcept = 0;
  virtual IMatrixMultiplyLayer* addMatrixMultiply(ITensor& a, MatrixOperation of_a, ITensor& b,
                                                  MatrixOperation of_b) noexcept = 0;
  virtual IShuffleLayer* addShuffle(ITensor& input) noexcept = 0;
  virtual ISliceLayer* addSlice(ITensor& input, Dims const& begin, Dims const& size,
                                Dims const& strides) noexcept = 0;
  virtual IConcatenationLayer* addConcatenation(ITensor* const* inputs, int32_t count) noexcept = 0;
};

class IBuilderConfig {
 public:
  virtual ~IBuilderConfig() = default;
  virtual void setMemoryPoolLimit(MemoryPoolType pool, std::size_t bytes) noexcept = 0;
  virtual void setFlag(BuilderFlag flag) noexcept = 0;
  virtual void clearFlag(BuilderFlag flag) noexcept = 0;
};
class IHostMemory {
 public:
  virtual ~IHostMemory() = default;
  virtual void* data() const noexcept = 0;
  virtual std::size_t size() const noexcept = 0;
};
class IBuilder {
 public:
  virtual ~IBuilder() = default;
  virtual INetworkDefinition* createNetworkV2(uint32_t flags) noexcept = 0;
  virtual IBuilderConfig* createBuilderConfig() noexcept = 0;
  virtual IHostMemory* buildSerializedNetwork(INetworkDefinition& network,
                                              IBuilderConfig& config) noexcept = 0;
};

class IExecutionContext {
 public:
  virtual ~IExecutionContext() = default;
#if NV_TENSORRT_MAJOR < 10
  [[deprecated]] bool enqueueV2(void* const*, cudaStream_t, void*) noexcept { return false; }
  [[deprecated]] void destroy() noexcept { delete this; }
#endif
  virtual bool setTensorAddress(char const* name, void* address) noexcept = 0;
  virtual bool enqueueV3(cudaStream_t stream) noexcept = 0;
};
#if NV_TENSORRT_MAJOR >= 10
enum class ExecutionContextAllocationStrategy : int32_t { kSTATIC = 0 };
#endif
class ICudaEngine {
 public:
  virtual ~ICudaEngine() = default;
#if NV_TENSORRT_MAJOR < 10
  [[deprecated]] int32_t getNbBindings() const noexcept { return getNbIOTensors(); }
  [[deprecated]] void destroy() noexcept { delete this; }
  virtual IExecutionContext* createExecutionContext() noexcept = 0;
#else
  virtual IExecutionContext* createExecutionContext(
      ExecutionContextAllocationStrategy strategy =
          ExecutionContextAllocationStrategy::kSTATIC) noexcept = 0;
#endif
  virtual int32_t getNbIOTensors() const noexcept = 0;
  virtual char const* getIOTensorName(int32_t index) const noexcept = 0;
  virtual TensorIOMode getTensorIOMode(char const* name) const noexcept = 0;
};
class IPluginFactory;
class IRuntime {
 public:
  virtual ~IRuntime() = default;
  virtual ICudaEngine* deserializeCudaEngine(void const* bytes, std::size_t size) noexcept = 0;
#if NV_TENSORRT_MAJOR < 10
  [[deprecated]] ICudaEngine* deserializeCudaEngine(void const* bytes, std::size_t size,
                                                    IPluginFactory*) noexcept {
    return deserializeCudaEngine(bytes, size);
  }
#endif
};

}  // namespace nvinfer1
