// SPDX-License-Identifier: Apache-2.0
#include "backends/cudnn/runtime/operation_graph.h"

#include <charconv>
#include <iterator>

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
    {"float16", CUDNN_DATA_HALF},
    {"bfloat16", CUDNN_DATA_BFLOAT16},
    {"float32", CUDNN_DATA_FLOAT},
    {"int32", CUDNN_DATA_INT32},  // these two in between alone
    {"bool", CUDNN_DATA_BOOLEAN}};
constexpr Named<cudnnPointwiseMode_t> kModes[] = {
    {"add", CUDNN_POINTWISE_ADD},         {"mul", CUDNN_POINTWISE_MUL},
    {"relu", CUDNN_POINTWISE_RELU_FWD},   {"sigmoid", CUDNN_POINTWISE_SIGMOID_FWD},
    {"tanh", CUDNN_POINTWISE_TANH_FWD},   {"elu", CUDNN_POINTWISE_ELU_FWD},
    {"swish", CUDNN_POINTWISE_SWISH_FWD}, {"gelu", CUDNN_POINTWISE_GELU_FWD},
    {"sub", CUDNN_POINTWISE_SUB},         {"div", CUDNN_POINTWISE_DIV},
    {"max", CUDNN_POINTWISE_MAX},         {"exp", CUDNN_POINTWISE_EXP},
    {"log", CUDNN_POINTWISE_LOG},         {"index", CUDNN_POINTWISE_GEN_INDEX},
    {"cmp_ge", CUDNN_POINTWISE_CMP_GE},   {"select", CUDNN_POINTWISE_BINARY_SELECT},
};
constexpr cudnnBackendAttributeName_t kPointwiseInputs[] = {CUDNN_ATTR_OPERATION_POINTWISE_XDESC,
                                                            CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
                                                            CUDNN_ATTR_OPERATION_POINTWISE_TDESC};
constexpr Named<cudnnReduceTensorOp_t> kReductions[] = {{"max", CUDNN_REDUCE_TENSOR_MAX},
                                                        {"add", CUDNN_REDUCE_TENSOR_ADD}};
// The inputs of both, in this order: what is normalised, its scale, a number, and a bias.
constexpr Named<cudnnBackendNormMode_t> kNorms[] = {{"layer", CUDNN_LAYER_NORM},
                                                    {"rms", CUDNN_RMS_NORM}};
constexpr cudnnBackendAttributeName_t kNormInputs[] = {
    CUDNN_ATTR_OPERATION_NORM_FWD_XDESC, CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC,
    CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC, CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC};
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

// Knows no locale.
bool read_number(const JsonGraph& graph, const JsonNode& node, std::string_view name,
                 double* number) {
  const std::string_view digits = graph.attr_text(node, name);
  const auto [end, why] = std::from_chars(digits.data(), digits.data() + digits.size(), *number);
  return why == std::errc() && end == digits.data() + digits.size();
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

bool scalar_value(const JsonGraph& graph, const JsonNode& node, float* value, TextBuffer* error) {
  double number = 0;
  if (!read_number(graph, node, "value", &number)) return wrong(node, "value", error);
  *value = static_cast<float>(number);
  return true;
}

const JsonNode* last_operation(const JsonGraph& graph) {
  if (graph.heads().size() == 0) return nullptr;
  const JsonNode& node = graph.nodes()[graph.heads()[0].node];
  return node.op == JsonOp::kKernel ? &node : nullptr;
}

bool OperationGraph::build(const Device& device, const JsonGraph& graph, TextBuffer* error) {
  device_ = &device;
  const auto count = static_cast<std::uint32_t>(graph.nodes().size());
  if (count > kMostNodes) {
    error->add("the graph has %u nodes, and there is room for %u", count, kMostNodes);
    return false;
  }
  if (const JsonNode* last = last_operation(graph)) {
    allows_tf32_ = graph.has_attr(*last, "tf32");
    allows_runtime_engines_ = graph.has_attr(*last, "runtime_engines");
  }
  for (std::uint32_t node = 0; node < count; ++node) {
    const JsonNode& n = graph.nodes()[node];
    if (is_tensor(graph, n) && !add_tensor(graph, node, error)) return false;
    const bool is_operation = n.op == JsonOp::kKernel && !is_scalar(n) && !is_view(n);
    if (is_operation && !add_operation(graph, node, error)) return false;
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

bool OperationGraph::made(cudnnStatus_t status, const char* what, TextBuffer* error) const {
  return status == CUDNN_STATUS_SUCCESS || fail(device_->api(), what, status, error);
}

// What an operation gives and no head names lies in registers; a scalar is given with its value.
bool OperationGraph::add_tensor(const JsonGraph& graph, std::uint32_t node, TextBuffer* error) {
  const JsonNode& n = graph.nodes()[node];
  Numbers dims, strides;
  if (!read(graph, n, "tensor_dims", &dims, error)) return false;
  if (!read(graph, n, "tensor_strides", &strides, error)) return false;
  std::int64_t id = -1;
  if (!tensor_id(graph, node, &id, error)) return false;
  const cudnnDataType_t* type = find(kTypes, graph.dtype(n, 0));
  if (type == nullptr || dims.count != strides.count) return wrong(n, "its tensor", error);
  const bool is_by_value = is_scalar(n);
  const bool is_virtual =
      n.op == JsonOp::kKernel && !is_by_value && !is_view(n) && !is_head(graph, node);
  const cudnnStatus_t status =
      tensors_[node]
          .create(device_->api(), CUDNN_BACKEND_TENSOR_DESCRIPTOR)
          .set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id)
          .set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, type)
          .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, kAlignBytes)
          .set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, dims.count, dims.at)
          .set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, strides.count, strides.at)
          .set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &is_virtual)
          .set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &is_by_value)
          .finalize();
  return made(status, "cuDNN does not take a tensor", error);
}

bool OperationGraph::add_operation(const JsonGraph& graph, std::uint32_t node, TextBuffer* error) {
  using Add = bool (OperationGraph::*)(const JsonGraph&, std::uint32_t, TextBuffer*);
  constexpr Named<Add> kOperations[] = {{"convolution", &OperationGraph::add_convolution},
                                        {"matmul", &OperationGraph::add_matmul},
                                        {"norm", &OperationGraph::add_norm},
                                        {"pointwise", &OperationGraph::add_pointwise},
                                        {"reduction", &OperationGraph::add_reduction}};
  const JsonNode& n = graph.nodes()[node];
  const Add* add = find(kOperations, n.name);
  if (add == nullptr) return wrong(n, "no such operation", error);
  if (!(this->**add)(graph, node, error)) return false;
  const cudnnStatus_t status = operations_[node].finalize();
  if (!made(status, "cuDNN does not take an operation", error)) return false;
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
  is_float32_ |= graph.dtype(graph.nodes()[n.inputs[1].node], 0) == "float32";
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
  if (!made(status, "cuDNN does not take a convolution", error)) return false;
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

bool OperationGraph::add_matmul(const JsonGraph& graph, std::uint32_t node, TextBuffer* error) {
  const JsonNode& n = graph.nodes()[node];
  if (n.input_count != 2) return wrong(n, "a product has two inputs", error);
  is_float32_ |= graph.dtype(graph.nodes()[n.inputs[1].node], 0) == "float32";
  const cudnnStatus_t status =
      operators_[node]
          .create(device_->api(), CUDNN_BACKEND_MATMUL_DESCRIPTOR)
          .set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &kComputeType)
          .finalize();
  if (!made(status, "cuDNN does not take a product", error)) return false;
  operations_[node]
      .create(device_->api(), CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR)
      .set(CUDNN_ATTR_OPERATION_MATMUL_DESC, operators_[node])
      .set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, tensors_[n.inputs[0].node])
      .set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, tensors_[n.inputs[1].node])
      .set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, tensors_[node]);
  return true;
}

bool OperationGraph::add_norm(const JsonGraph& graph, std::uint32_t node, TextBuffer* error) {
  const JsonNode& n = graph.nodes()[node];
  const cudnnBackendNormMode_t* mode = find(kNorms, graph.attr_text(n, "mode"));
  if (mode == nullptr || n.input_count < 3 || n.input_count > std::size(kNormInputs)) {
    return wrong(n, "mode", error);
  }
  const cudnnBackendNormFwdPhase_t phase = CUDNN_NORM_FWD_INFERENCE;
  operations_[node]
      .create(device_->api(), CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR)
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_MODE, CUDNN_TYPE_NORM_MODE, 1, mode)
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_PHASE, CUDNN_TYPE_NORM_FWD_PHASE, 1, &phase)
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_YDESC, tensors_[node]);
  for (std::uint32_t i = 0; i < n.input_count; ++i) {
    operations_[node].set(kNormInputs[i], tensors_[n.inputs[i].node]);
  }
  return true;
}

bool OperationGraph::add_reduction(const JsonGraph& graph, std::uint32_t node, TextBuffer* error) {
  const JsonNode& n = graph.nodes()[node];
  const cudnnReduceTensorOp_t* mode = find(kReductions, graph.attr_text(n, "mode"));
  if (mode == nullptr || n.input_count != 1) return wrong(n, "mode", error);
  const cudnnStatus_t status =
      operators_[node]
          .create(device_->api(), CUDNN_BACKEND_REDUCTION_DESCRIPTOR)
          .set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, mode)
          .set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &kComputeType)
          .finalize();
  if (!made(status, "cuDNN does not take a reduction", error)) return false;
  operations_[node]
      .create(device_->api(), CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR)
      .set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, operators_[node])
      .set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, tensors_[n.inputs[0].node])
      .set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, tensors_[node]);
  return true;
}

bool OperationGraph::add_pointwise(const JsonGraph& graph, std::uint32_t node, TextBuffer* error) {
  const JsonNode& n = graph.nodes()[node];
  const cudnnPointwiseMode_t* mode = find(kModes, graph.attr_text(n, "mode"));
  if (mode == nullptr || n.input_count == 0 || n.input_count > std::size(kPointwiseInputs)) {
    return wrong(n, "mode", error);
  }
  Descriptor& pointwise = operators_[node];
  pointwise.create(device_->api(), CUDNN_BACKEND_POINTWISE_DESCRIPTOR)
      .set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, mode)
      .set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &kComputeType);
  for (const auto& [name, attribute] : kNumbers) {
    double value = 0;
    if (!graph.has_attr(n, name)) continue;
    if (!read_number(graph, n, name, &value)) return wrong(n, "a number of it", error);
    pointwise.set(attribute, CUDNN_TYPE_DOUBLE, 1, &value);
  }
  std::int64_t axis = -1;
  if (!graph.attr_int(n, "axis", &axis)) return wrong(n, "axis", error);
  if (axis >= 0) pointwise.set(CUDNN_ATTR_POINTWISE_AXIS, axis);
  if (!made(pointwise.finalize(), "cuDNN does not take an operator", error)) return false;
  operations_[node]
      .create(device_->api(), CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR)
      .set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, pointwise)
      .set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, tensors_[node]);
  for (std::uint32_t i = 0; i < n.input_count; ++i) {
    operations_[node].set(kPointwiseInputs[i], tensors_[n.inputs[i].node]);
  }
  return true;
}

}  // namespace tessera::backends::cudnn
