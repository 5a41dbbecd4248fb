// SPDX-License-Identifier: Apache-2.0
// A network of TensorRT's, made of the JSON graph of a region. Each kernel of the graph is a layer
// (docs/backends.md), whose result must have the shape that the graph says.
#pragma once

#include <cstdlib>
#include <cstring>
#include <string_view>

#include "backends/tensorrt/shim/api.h"
#include "runtime/json_graph.h"
#include "tessera/call.h"

namespace tessera::backends::tensorrt {

using nvinfer1::Dims;
using nvinfer1::ITensor;
using runtime::JsonGraph;
using runtime::JsonNode;
using runtime::JsonOp;

// An enumerator by its name without the k.
template <class E>
struct Named {
  std::string_view name;
  E value;
};
#define TESSERA_NAMED(type, name) \
  { #name, nvinfer1::type::k##name }
inline constexpr Named<nvinfer1::ActivationType> kActivations[] = {
    TESSERA_NAMED(ActivationType, RELU), TESSERA_NAMED(ActivationType, SIGMOID),
    TESSERA_NAMED(ActivationType, TANH), TESSERA_NAMED(ActivationType, LEAKY_RELU),
    TESSERA_NAMED(ActivationType, ELU),  TESSERA_NAMED(ActivationType, SOFTPLUS),
    TESSERA_NAMED(ActivationType, CLIP), TESSERA_NAMED(ActivationType, HARD_SIGMOID)};
inline constexpr Named<nvinfer1::UnaryOperation> kUnaries[] = {
    TESSERA_NAMED(UnaryOperation, EXP),   TESSERA_NAMED(UnaryOperation, LOG),
    TESSERA_NAMED(UnaryOperation, SQRT),  TESSERA_NAMED(UnaryOperation, RECIP),
    TESSERA_NAMED(UnaryOperation, ABS),   TESSERA_NAMED(UnaryOperation, NEG),
    TESSERA_NAMED(UnaryOperation, SIN),   TESSERA_NAMED(UnaryOperation, COS),
    TESSERA_NAMED(UnaryOperation, FLOOR), TESSERA_NAMED(UnaryOperation, CEIL),
    TESSERA_NAMED(UnaryOperation, ERF)};
inline constexpr Named<nvinfer1::ElementWiseOperation> kElementwise[] = {
    TESSERA_NAMED(ElementWiseOperation, SUM), TESSERA_NAMED(ElementWiseOperation, SUB),
    TESSERA_NAMED(ElementWiseOperation, PROD), TESSERA_NAMED(ElementWiseOperation, DIV),
    TESSERA_NAMED(ElementWiseOperation, POW)};
inline constexpr Named<nvinfer1::PoolingType> kPoolings[] = {TESSERA_NAMED(PoolingType, MAX),
                                                             TESSERA_NAMED(PoolingType, AVERAGE)};
inline constexpr Named<nvinfer1::ReduceOperation> kReductions[] = {
    TESSERA_NAMED(ReduceOperation, SUM), TESSERA_NAMED(ReduceOperation, PROD),
    TESSERA_NAMED(ReduceOperation, MAX), TESSERA_NAMED(ReduceOperation, AVG)};
#undef TESSERA_NAMED

class Network {
 public:
  Network(const JsonGraph& graph, const tessera_artifact_view& artifact,
          nvinfer1::INetworkDefinition& network, TextBuffer* error)
      : graph_(graph), artifact_(artifact), network_(network), error_(error) {}

  // `sets_types`: outputs must be told their data type. False: the error says why.
  [[nodiscard]] bool build(bool sets_types) {
    if (!tensors_.allocate(graph_.nodes().size())) return fail("out of memory");
    std::int32_t number = 0;
    for (std::uint32_t i = 0; i < graph_.nodes().size(); ++i) {
      const JsonNode& node = graph_.nodes()[i];
      if (node.op == JsonOp::kInput) {
        tensors_[i] =
            network_.addInput(TensorName("input", number++).text, type(node), shape(node));
      } else if (node.op == JsonOp::kKernel) {
        tensors_[i] = layer(node);
      } else {
        continue;  // once it is read
      }
      if (tensors_[i] == nullptr || !has_shape(node, *tensors_[i])) return fail(node);
    }
    number = 0;
    for (const runtime::JsonEntry head : graph_.heads()) {
      ITensor* tensor = tensors_[head.node];
      if (tensor == nullptr) return fail("a result is no layer's");
      tensor->setName(TensorName("output", number++).text);
      network_.markOutput(*tensor);
#if NV_TENSORRT_MAJOR < 11
      if (sets_types) tensor->setType(type(graph_.nodes()[head.node]));
#endif
    }
    static_cast<void>(sets_types);
    return true;
  }

 private:
  bool fail(const char* what) {
    error_->add("%s", what);
    return false;
  }
  bool fail(const JsonNode& node) {
    const std::string_view kind = graph_.attr_text(node, "layer");
    error_->add("TensorRT takes no layer `%.*s` for `%s`%s", static_cast<int>(kind.size()),
                kind.data(), node.name.data(),
                is_misshapen_ ? ": its result has another shape" : "");
    return false;
  }

  // ---- Attributes ----

  std::int64_t integer(const JsonNode& node, const char* name, std::uint32_t i = 0) const {
    std::int64_t value = 0;
    static_cast<void>(graph_.attr_int(node, name, &value, i));
    return value;
  }
  bool flag(const JsonNode& node, const char* name) const { return integer(node, name) != 0; }
  float number(const JsonNode& node, const char* name) const {
    char text[64] = "";
    const std::string_view given = graph_.attr_text(node, name);
    if (given.size() < sizeof text) std::memcpy(text, given.data(), given.size());
    return std::strtof(text, nullptr);
  }
  template <class D>
  static void set(D& dimension, std::int64_t value) {
    dimension = static_cast<D>(value);  // of 32 bits before TensorRT 10
  }
  Dims dims(const JsonNode& node, const char* name) const {
    Dims out = {};
    out.nbDims = static_cast<std::int32_t>(graph_.attr_size(node, name));
    for (std::int32_t d = 0; d < out.nbDims && d < Dims::MAX_DIMS; ++d) {
      set(out.d[d], integer(node, name, static_cast<std::uint32_t>(d)));
    }
    return out;
  }
  Dims shape(const JsonNode& node) const {
    std::int64_t sizes[Dims::MAX_DIMS] = {};
    Dims out = {};
    out.nbDims = graph_.shape(node, 0, sizes, Dims::MAX_DIMS);
    for (std::int32_t d = 0; d < out.nbDims; ++d) set(out.d[d], sizes[d]);
    return out;
  }
  nvinfer1::DataType type(const JsonNode& node) const {
    return graph_.dtype(node, 0) == "float16" ? nvinfer1::DataType::kHALF
                                              : nvinfer1::DataType::kFLOAT;
  }
  template <class E, std::size_t kCount>
  bool enumerator(const JsonNode& node, const Named<E> (&all)[kCount], E* value) const {
    for (const Named<E>& named : all) {
      if (named.name != graph_.attr_text(node, "type")) continue;
      *value = named.value;
      return true;
    }
    return false;
  }

  bool has_shape(const JsonNode& node, ITensor& tensor) {
    const Dims wanted = shape(node), given = tensor.getDimensions();
    bool same = wanted.nbDims == given.nbDims;
    for (std::int32_t d = 0; same && d < wanted.nbDims; ++d) same = wanted.d[d] == given.d[d];
    is_misshapen_ = !same;
    return same;
  }

  // ---- Operands ----

  nvinfer1::Weights weights(const JsonNode& node) const {
    for (std::int32_t i = 0; i < artifact_.constant_count; ++i) {
      const tessera_named_tensor& named = artifact_.constants[i];
      if (node.name != named.name) continue;
      std::int64_t count = 1;
      const Dims sizes = shape(node);
      for (std::int32_t d = 0; d < sizes.nbDims; ++d) count *= sizes.d[d];
      return {type(node), static_cast<const char*>(named.tensor.data) + named.tensor.byte_offset,
              count};
    }
    return {type(node), nullptr, 0};
  }
  // The constant behind an input that must be one.
  nvinfer1::Weights weights(const JsonNode& node, std::uint32_t input) const {
    return weights(graph_.nodes()[node.inputs[input].node]);
  }
  ITensor* operand(const JsonNode& node, std::uint32_t input) {
    const std::uint32_t at = node.inputs[input].node;
    const JsonNode& from = graph_.nodes()[at];
    if (tensors_[at] == nullptr && from.op == JsonOp::kConst) {
      tensors_[at] = result(network_.addConstant(shape(from), weights(from)));
    }
    return tensors_[at];
  }
  template <class L>
  static ITensor* result(L* layer) {
    return layer == nullptr ? nullptr : layer->getOutput(0);
  }

  // ---- Layers ----

  ITensor* layer(const JsonNode& node) {
    using Add = ITensor* (Network::*)(const JsonNode&);
    struct Kind {
      std::string_view name;
      Add add;
      std::uint32_t inputs;  // at least
    };
    static constexpr Kind kKinds[] = {{"activation", &Network::activation, 1},
                                      {"unary", &Network::unary, 1},
                                      {"elementwise", &Network::elementwise, 2},
                                      {"convolution", &Network::convolution, 2},
                                      {"deconvolution", &Network::deconvolution, 2},
                                      {"pooling", &Network::pooling, 1},
                                      {"reduce", &Network::reduce, 1},
                                      {"softmax", &Network::softmax, 1},
                                      {"matmul", &Network::matmul, 2},
                                      {"shuffle", &Network::shuffle, 1},
                                      {"slice", &Network::slice, 1},
                                      {"concatenation", &Network::concatenation, 1}};
    for (const Kind& kind : kKinds) {
      if (kind.name != graph_.attr_text(node, "layer") || node.input_count < kind.inputs) continue;
      for (std::uint32_t i = 0; i < kind.inputs; ++i) {
        if (operand_is_missing(node, i)) return nullptr;
      }
      return (this->*kind.add)(node);
    }
    return nullptr;
  }
  // Weights of convolutions are no tensors of the network.
  bool operand_is_missing(const JsonNode& node, std::uint32_t i) {
    const JsonNode& from = graph_.nodes()[node.inputs[i].node];
    if (from.op == JsonOp::kConst) return weights(from).values == nullptr;
    return operand(node, i) == nullptr;
  }

  ITensor* activation(const JsonNode& node) {
    nvinfer1::ActivationType kind;
    if (!enumerator(node, kActivations, &kind)) return nullptr;
    auto* layer = network_.addActivation(*operand(node, 0), kind);
    if (layer == nullptr) return nullptr;
    layer->setAlpha(number(node, "alpha"));
    layer->setBeta(number(node, "beta"));
    return layer->getOutput(0);
  }
  ITensor* unary(const JsonNode& node) {
    nvinfer1::UnaryOperation kind;
    if (!enumerator(node, kUnaries, &kind)) return nullptr;
    return result(network_.addUnary(*operand(node, 0), kind));
  }
  ITensor* elementwise(const JsonNode& node) {
    nvinfer1::ElementWiseOperation kind;
    if (!enumerator(node, kElementwise, &kind)) return nullptr;
    return result(network_.addElementWise(*operand(node, 0), *operand(node, 1), kind));
  }

  template <class L>
  ITensor* windowed(const JsonNode& node, L* layer) {
    if (layer == nullptr) return nullptr;
    layer->setStrideNd(dims(node, "strides"));
    layer->setPrePadding(dims(node, "padding_begin"));
    layer->setPostPadding(dims(node, "padding_end"));
    return layer->getOutput(0);
  }
  template <class L>
  ITensor* convolved(const JsonNode& node, L* layer) {
    if (layer == nullptr) return nullptr;
    layer->setDilationNd(dims(node, "dilation"));
    layer->setNbGroups(static_cast<std::int32_t>(integer(node, "groups")));
    return windowed(node, layer);
  }
  ITensor* convolution(const JsonNode& node) {
    return convolved(node, network_.addConvolutionNd(
                               *operand(node, 0), static_cast<std::int32_t>(integer(node, "maps")),
                               dims(node, "window"), weights(node, 1), {type(node), nullptr, 0}));
  }
  ITensor* deconvolution(const JsonNode& node) {
    return convolved(node, network_.addDeconvolutionNd(
                               *operand(node, 0), static_cast<std::int32_t>(integer(node, "maps")),
                               dims(node, "window"), weights(node, 1), {type(node), nullptr, 0}));
  }
  ITensor* pooling(const JsonNode& node) {
    nvinfer1::PoolingType kind;
    if (!enumerator(node, kPoolings, &kind)) return nullptr;
    auto* layer = network_.addPoolingNd(*operand(node, 0), kind, dims(node, "window"));
    if (layer != nullptr) layer->setAverageCountExcludesPadding(!flag(node, "counts_padding"));
    return windowed(node, layer);
  }

  ITensor* reduce(const JsonNode& node) {
    nvinfer1::ReduceOperation kind;
    if (!enumerator(node, kReductions, &kind)) return nullptr;
    std::uint32_t axes = 0;
    for (std::uint32_t i = 0; i < graph_.attr_size(node, "axes"); ++i) {
      axes |= 1u << integer(node, "axes", i);
    }
    return result(network_.addReduce(*operand(node, 0), kind, axes, flag(node, "keeps")));
  }
  ITensor* softmax(const JsonNode& node) {
    auto* layer = network_.addSoftMax(*operand(node, 0));
    if (layer != nullptr) layer->setAxes(1u << integer(node, "axis"));
    return result(layer);
  }
  ITensor* matmul(const JsonNode& node) {
    const auto operation = [&](const char* name) {
      return flag(node, name) ? nvinfer1::MatrixOperation::kTRANSPOSE
                              : nvinfer1::MatrixOperation::kNONE;
    };
    return result(network_.addMatrixMultiply(*operand(node, 0), operation("transpose_a"),
                                             *operand(node, 1), operation("transpose_b")));
  }

  // Moves dimensions, or gives the elements another shape.
  ITensor* shuffle(const JsonNode& node) {
    auto* layer = network_.addShuffle(*operand(node, 0));
    if (layer == nullptr) return nullptr;
    if (!graph_.has_attr(node, "axes")) {
      layer->setReshapeDimensions(shape(node));
      return layer->getOutput(0);
    }
    nvinfer1::Permutation order = {};
    for (std::uint32_t i = 0; i < graph_.attr_size(node, "axes"); ++i) {
      order.order[i] = static_cast<std::int32_t>(integer(node, "axes", i));
    }
    layer->setFirstTranspose(order);
    return layer->getOutput(0);
  }
  ITensor* slice(const JsonNode& node) {
    return result(network_.addSlice(*operand(node, 0), dims(node, "begin"), shape(node),
                                    dims(node, "strides")));
  }
  ITensor* concatenation(const JsonNode& node) {
    runtime::Array<ITensor*> parts;
    for (std::uint32_t i = 0; i < node.input_count; ++i) {
      if (operand(node, i) == nullptr || !parts.push(operand(node, i))) return nullptr;
    }
    auto* layer = network_.addConcatenation(parts.data(), static_cast<std::int32_t>(parts.size()));
    if (layer != nullptr) layer->setAxis(static_cast<std::int32_t>(integer(node, "axis")));
    return result(layer);
  }

  const JsonGraph& graph_;
  const tessera_artifact_view& artifact_;
  nvinfer1::INetworkDefinition& network_;
  TextBuffer* error_;
  runtime::Array<ITensor*> tensors_;  // by node
  bool is_misshapen_ = false;
};

}  // namespace tessera::backends::tensorrt
