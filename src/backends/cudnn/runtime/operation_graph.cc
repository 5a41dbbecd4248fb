// SPDX-License-Identifier: Apache-2.0
#include "backends/cudnn/runtime/operation_graph.h"

#include <charconv>

namespace tessera::backends::cudnn {
namespace {

using runtime::JsonOp;

constexpr std::int64_t kAlignBytes = 16;  // of data on a device: docs/abi.md
constexpr cudnnDataType_t kComputeType = CUDNN_DATA_FLOAT;

template <class T>
struct Named {
  std::string_view name;
  T value;
};
constexpr Named<cudnnDataType_t> kTypes[] = {
    {"float16", CUDNN_DATA_HALF}, {"bfloat16", CUDNN_DATA_BFLOAT16}, {"float32", CUDNN_DATA_FLOAT}};
constexpr Named<cudnnPointwiseMode_t> kModes[] = {
    {"add", CUDNN_POINTWISE_ADD},         {"mul", CUDNN_POINTWISE_MUL},
    {"relu", CUDNN_POINTWISE_RELU_FWD},   {"sigmoid", CUDNN_POINTWISE_SIGMOID_FWD},
    {"tanh", CUDNN_POINTWISE_TANH_FWD},   {"elu", CUDNN_POINTWISE_ELU_FWD},
    {"swish", CUDNN_POINTWISE_SWISH_FWD}, {"gelu", CUDNN_POINTWISE_GELU_FWD},
};
constexpr Named<cudnnBackendAttributeName_t> kNumbers[] = {
    {"lower_clip", CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP},
    {"upper_clip", CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP},
    {"slope", CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE},
    {"alpha", CUDNN_ATTR_POINTWISE_ELU_ALPHA},
};

template <class T, std::size_t N>
const T* find(const Named<T> (&table)[N], std::string_view name) {
  for (const Named<T>& entry : table) {
    if (entry.name == name) return &entry.value;
  }
  return nullptr;
}

struct Numbers {
  std::int64_t at[CUDNN_DIM_MAX] = {};
  std::int64_t count = 0;
};

bool wrong(const JsonNode& node, const char* what, TextBuffer* error) {
  error->add("node `%s` of the graph: %s", node.name.data(), what);
  return false;
}

bool read(const JsonGraph& graph, const JsonNode& node, const char* name, Numbers* numbers,
          TextBuffer* error) {
  numbers->count = graph.attr_size(node, name);
  if (numbers->count == 0 || numbers->count > CUDNN_DIM_MAX) return wrong(node, name, error);
  for (std::int64_t i = 0; i < numbers->count; ++i) {
    if (!graph.attr_int(node, name, &numbers->at[i], static_cast<std::uint32_t>(i))) {
      return wrong(node, name, error);
    }
  }
  return true;
}

bool is_head(const JsonGraph& graph, std::uint32_t node) {
  for (const runtime::JsonEntry head : graph.heads()) {
    if (head.node == node) return true;
  }
  return false;
}

}  // namespace

bool tensor_id(const JsonGraph& graph, std::uint32_t node, std::int64_t* id, TextBuffer* error) {
  const JsonNode& n = graph.nodes()[node];
  return (graph.attr_int(n, "tensor_id", id) && *id >= 0) || wrong(n, "tensor_id", error);
}

bool OperationGraph::build(const Device& device, const JsonGraph& graph, TextBuffer* error) {
  device_ = &device;
  const auto count = static_cast<std::uint32_t>(graph.nodes().size());
  if (count > kMostNodes) {
    error->add("the graph has %u nodes, and there is room for %u", count, kMostNodes);
    return false;
  }
  for (std::uint32_t node = 0; node < count; ++node) {
    if (!add_tensor(graph, node, error)) return false;
    const bool is_kernel = graph.nodes()[node].op == JsonOp::kKernel;
    if (is_kernel && !add_operation(graph, node, error)) return false;
  }
  graph_.create(device.api(), CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR)
      .set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, operation_count_, order_);
  if (device.handle() != nullptr) {
    const cudnnHandle_t handle = device.handle();
    graph_.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
  }
  const cudnnStatus_t status = graph_.finalize();
  return status == CUDNN_STATUS_SUCCESS ||
         fail(device.api(), "cuDNN does not take the graph", status, error);
}

// What an operation gives and no head names lies in registers.
bool OperationGraph::add_tensor(const JsonGraph& graph, std::uint32_t node, TextBuffer* error) {
  const JsonNode& n = graph.nodes()[node];
  Numbers dims, strides;
  if (!read(graph, n, "tensor_dims", &dims, error)) return false;
  if (!read(graph, n, "tensor_strides", &strides, error)) return false;
  std::int64_t id = -1;
  if (!tensor_id(graph, node, &id, error)) return false;
  const cudnnDataType_t* type = find(kTypes, graph.dtype(n, 0));
  if (type == nullptr || dims.count != strides.count) return wrong(n, "its tensor", error);
  const bool is_virtual = n.op == JsonOp::kKernel && !is_head(graph, node);
  if (n.op != JsonOp::kKernel && *type == CUDNN_DATA_FLOAT) is_float32_ = true;
  const cudnnStatus_t status =
      tensors_[node]
          .create(device_->api(), CUDNN_BACKEND_TENSOR_DESCRIPTOR)
          .set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id)
          .set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, type)
          .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, kAlignBytes)
          .set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, dims.count, dims.at)
          .set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, strides.count, strides.at)
          .set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &is_virtual)
          .finalize();
  return status == CUDNN_STATUS_SUCCESS ||
         fail(device_->api(), "cuDNN does not take a tensor", status, error);
}

bool OperationGraph::add_operation(const JsonGraph& graph, std::uint32_t node, TextBuffer* error) {
  const JsonNode& n = graph.nodes()[node];
  const bool is_convolution = n.name == "convolution";
  if (!is_convolution && n.name != "pointwise") return wrong(n, "no such operation", error);
  const bool done =
      is_convolution ? add_convolution(graph, node, error) : add_pointwise(graph, node, error);
  if (!done) return false;
  const cudnnStatus_t status = operations_[node].finalize();
  if (status != CUDNN_STATUS_SUCCESS) {
    return fail(device_->api(), "cuDNN does not take an operation", status, error);
  }
  order_[operation_count_++] = operations_[node].raw();
  return true;
}

bool OperationGraph::add_convolution(const JsonGraph& graph, std::uint32_t node,
                                     TextBuffer* error) {
  const JsonNode& n = graph.nodes()[node];
  if (n.input_count != 2) return wrong(n, "a convolution has two inputs", error);
  Numbers begin, end, strides, dilation;
  if (!read(graph, n, "padding_begin", &begin, error)) return false;
  if (!read(graph, n, "padding_end", &end, error)) return false;
  if (!read(graph, n, "strides", &strides, error)) return false;
  if (!read(graph, n, "dilation", &dilation, error)) return false;
  const std::int64_t spatial = begin.count;
  if (end.count != spatial || strides.count != spatial || dilation.count != spatial) {
    return wrong(n, "its lists have different lengths", error);
  }
  allows_tf32_ = graph.has_attr(n, "tf32");
  allows_runtime_engines_ = graph.has_attr(n, "runtime_engines");
  const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  const cudnnStatus_t status =
      operators_[node]
          .create(device_->api(), CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR)
          .set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &kComputeType)
          .set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode)
          .set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, spatial)
          .set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, spatial, begin.at)
          .set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, spatial, end.at)
          .set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, spatial, strides.at)
          .set(CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, spatial, dilation.at)
          .finalize();
  if (status != CUDNN_STATUS_SUCCESS) {
    return fail(device_->api(), "cuDNN does not take a convolution", status, error);
  }
  const float one = 1, zero = 0;
  operations_[node]
      .create(device_->api(), CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR)
      .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, operators_[node])
      .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, tensors_[n.inputs[0].node])
      .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, tensors_[n.inputs[1].node])
      .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, tensors_[node])
      .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, 1, &one)
      .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, 1, &zero);
  return true;
}

bool OperationGraph::add_pointwise(const JsonGraph& graph, std::uint32_t node, TextBuffer* error) {
  const JsonNode& n = graph.nodes()[node];
  const cudnnPointwiseMode_t* mode = find(kModes, graph.attr_text(n, "mode"));
  if (mode == nullptr || n.input_count == 0 || n.input_count > 2) return wrong(n, "mode", error);
  Descriptor& pointwise = operators_[node];
  pointwise.create(device_->api(), CUDNN_BACKEND_POINTWISE_DESCRIPTOR)
      .set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, mode)
      .set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &kComputeType);
  for (const auto& [name, attribute] : kNumbers) {
    const std::string_view digits = graph.attr_text(n, name);
    if (digits.empty()) continue;
    double value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);  // knows no locale
    pointwise.set(attribute, CUDNN_TYPE_DOUBLE, 1, &value);
  }
  const cudnnStatus_t status = pointwise.finalize();
  if (status != CUDNN_STATUS_SUCCESS) {
    return fail(device_->api(), "cuDNN does not take an operator", status, error);
  }
  operations_[node]
      .create(device_->api(), CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR)
      .set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, pointwise)
      .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, tensors_[n.inputs[0].node])
      .set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, tensors_[node]);
  if (n.input_count == 2) {
    operations_[node].set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, tensors_[n.inputs[1].node]);
  }
  return true;
}

}  // namespace tessera::backends::cudnn
