// SPDX-License-Identifier: Apache-2.0
// For tests: descriptors of the stand-in of cuDNN, and a graph of them as text, which fake_run.h
// reads.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <cudnn_graph.h>

namespace tessera::backends::cudnn::testing {

struct Descriptor {
  cudnnBackendDescriptorType_t type;
  bool is_final = false;
  std::map<int, std::vector<char>> attributes = {};
  std::string text = {};  // what a graph, an engine, a configuration or a plan is
};

inline Descriptor* descriptor(cudnnBackendDescriptor_t raw) {
  return static_cast<Descriptor*>(raw);
}

template <class T>
std::vector<T> values(const Descriptor& d, int name) {
  const auto at = d.attributes.find(name);
  if (at == d.attributes.end()) return {};
  std::vector<T> out(at->second.size() / sizeof(T));
  std::memcpy(out.data(), at->second.data(), at->second.size());
  return out;
}
template <class T>
T value(const Descriptor& d, int name, T otherwise = {}) {
  const auto all = values<T>(d, name);
  return all.empty() ? otherwise : all[0];
}
inline const Descriptor& child(const Descriptor& d, int name) {
  static const Descriptor none{CUDNN_BACKEND_TENSOR_DESCRIPTOR};
  const auto* found = descriptor(value<cudnnBackendDescriptor_t>(d, name));
  return found == nullptr ? none : *found;
}

inline void set(Descriptor& d, int name, const void* data, std::size_t bytes) {
  const char* from = static_cast<const char*>(data);
  d.attributes[name].assign(from, from + bytes);
}

inline std::size_t size_of(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_CHAR:
    case CUDNN_TYPE_BOOLEAN:
      return 1;
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_DOUBLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR:
      return 8;
    default:
      return 4;
  }
}

inline void write_list(std::ostream& out, const std::vector<std::int64_t>& list) {
  out << list.size() << ' ';
  for (const std::int64_t n : list) out << n << ' ';
}
inline void write_tensor(std::ostream& out, const Descriptor& t) {
  out << value<std::int64_t>(t, CUDNN_ATTR_TENSOR_UNIQUE_ID) << ' '
      << value<int>(t, CUDNN_ATTR_TENSOR_DATA_TYPE) << ' '
      << int{value<char>(t, CUDNN_ATTR_TENSOR_IS_VIRTUAL)} << ' ';
  write_list(out, values<std::int64_t>(t, CUDNN_ATTR_TENSOR_DIMENSIONS));
  write_list(out, values<std::int64_t>(t, CUDNN_ATTR_TENSOR_STRIDES));
}

inline void write_convolution(std::ostream& out, const Descriptor& op) {
  const Descriptor& conv = child(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC);
  out << "convolution ";
  for (const int list : {CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES,
                         CUDNN_ATTR_CONVOLUTION_DILATIONS}) {
    write_list(out, values<std::int64_t>(conv, list));
  }
  write_tensor(out, child(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X));
  write_tensor(out, child(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W));
  write_tensor(out, child(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y));
}

constexpr int kPointwiseInputs[] = {CUDNN_ATTR_OPERATION_POINTWISE_XDESC,
                                    CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
                                    CUDNN_ATTR_OPERATION_POINTWISE_TDESC};
inline void write_pointwise(std::ostream& out, const Descriptor& op) {
  const Descriptor& pw = child(op, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
  int inputs = 0;
  for (const int name : kPointwiseInputs) inputs += static_cast<int>(op.attributes.contains(name));
  out.precision(17);
  out << "pointwise " << value<int>(pw, CUDNN_ATTR_POINTWISE_MODE) << ' ' << inputs << ' '
      << value<double>(pw, CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP) << ' '
      << value<double>(pw, CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, 1e300) << ' '
      << value<double>(pw, CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE) << ' '
      << value<double>(pw, CUDNN_ATTR_POINTWISE_ELU_ALPHA, 1) << ' '
      << value<std::int64_t>(pw, CUDNN_ATTR_POINTWISE_AXIS, -1) << ' ';
  for (const int name : kPointwiseInputs) {
    if (op.attributes.contains(name)) write_tensor(out, child(op, name));
  }
  write_tensor(out, child(op, CUDNN_ATTR_OPERATION_POINTWISE_YDESC));
}

inline void write_matmul(std::ostream& out, const Descriptor& op) {
  out << "matmul ";
  for (const int name : {CUDNN_ATTR_OPERATION_MATMUL_ADESC, CUDNN_ATTR_OPERATION_MATMUL_BDESC,
                         CUDNN_ATTR_OPERATION_MATMUL_CDESC}) {
    write_tensor(out, child(op, name));
  }
}

inline void write_reduction(std::ostream& out, const Descriptor& op) {
  const Descriptor& reduction = child(op, CUDNN_ATTR_OPERATION_REDUCTION_DESC);
  out << "reduction " << value<int>(reduction, CUDNN_ATTR_REDUCTION_OPERATOR) << ' ';
  write_tensor(out, child(op, CUDNN_ATTR_OPERATION_REDUCTION_XDESC));
  write_tensor(out, child(op, CUDNN_ATTR_OPERATION_REDUCTION_YDESC));
}

inline void write_norm(std::ostream& out, const Descriptor& op) {
  const bool has_bias = op.attributes.contains(CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC);
  out << "norm " << value<int>(op, CUDNN_ATTR_OPERATION_NORM_FWD_MODE) << ' ' << has_bias << ' ';
  for (const int name :
       {CUDNN_ATTR_OPERATION_NORM_FWD_XDESC, CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC,
        CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC, CUDNN_ATTR_OPERATION_NORM_FWD_YDESC}) {
    write_tensor(out, child(op, name));
  }
  if (has_bias) write_tensor(out, child(op, CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC));
}

inline void write_operation(std::ostream& out, const Descriptor& op) {
  switch (op.type) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
      return write_convolution(out, op);
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
      return write_matmul(out, op);
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
      return write_reduction(out, op);
    case CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR:
      return write_norm(out, op);
    default:
      return write_pointwise(out, op);
  }
}

inline std::string graph_text(const Descriptor& graph) {
  std::ostringstream out;
  const auto operations = values<cudnnBackendDescriptor_t>(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS);
  out << operations.size() << ' ';
  for (const cudnnBackendDescriptor_t raw : operations) write_operation(out, *descriptor(raw));
  return out.str();
}

}  // namespace tessera::backends::cudnn::testing
