// SPDX-License-Identifier: Apache-2.0
#include "onnxruntime_provider/model_file.h"

#include <charconv>
#include <cstdint>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "onnxruntime_provider/message.h"
#include "support/files.h"

namespace tessera::onnxruntime_provider {
namespace {

constexpr std::size_t kLeastExternalBytes = 1024;
constexpr std::uint64_t kAlign = 64;
constexpr std::string_view kNode = "node `n";

// Fields of onnx.proto.
struct ModelField {
  static constexpr int kIrVersion = 1, kGraph = 7, kOpset = 8;
};
struct OpsetField {
  static constexpr int kDomain = 1, kVersion = 2;
};
struct GraphField {
  static constexpr int kNode = 1, kName = 2, kInitializer = 5, kInput = 11, kOutput = 12;
};
struct NodeField {
  static constexpr int kInput = 1, kOutput = 2, kName = 3, kOperator = 4, kAttribute = 5,
                       kDomain = 7;
};
struct AttributeField {
  static constexpr int kName = 1, kFloat = 2, kInt = 3, kString = 4, kTensor = 5, kGraph = 6,
                       kFloats = 7, kInts = 8, kStrings = 9, kType = 20;
};
struct AttributeType {
  static constexpr int kFloat = 1, kInt = 2, kString = 3, kTensor = 4, kGraph = 5, kFloats = 6,
                       kInts = 7, kStrings = 8;
};
struct TensorField {
  static constexpr int kDim = 1, kType = 2, kName = 8, kRawData = 9, kExternalData = 13,
                       kLocation = 14;
};
struct ValueField {
  static constexpr int kName = 1, kType = 2;
};

void check(const FileResult<void>& written) {
  if (!written) throw std::runtime_error(written.error().text());
}

FileWriter opened(const std::string& path) {
  auto writer = FileWriter::open(path);
  if (!writer) throw std::runtime_error(writer.error().text());
  return std::move(*writer);
}

class Writer {
 public:
  explicit Writer(const std::string& folder)
      : weights_(opened(folder + "/weights")), folder_(folder) {}

  void write(const Ort::ConstGraph& graph) {
    Message model;
    model.number(ModelField::kIrVersion, graph.GetOnnxIRVersion());
    for (const Ort::OperatorSet& set : graph.GetOperatorSets()) {
      Message opset;
      opset.text(OpsetField::kDomain, set.domain);
      opset.number(OpsetField::kVersion, set.version);
      model.message(ModelField::kOpset, opset);
    }
    model.message(ModelField::kGraph, graph_message(graph, ""));
    check(weights_.finish());
    check(write_atomically(folder_ + "/model.onnx", model.bytes()));
  }

 private:
  Message graph_message(const Ort::ConstGraph& graph, const std::string& outer_node);
  Message node_message(const Ort::ConstNode& node, const std::string& name);
  Message attribute_message(const Ort::ConstOpAttr& attribute);
  Message tensor_message(const std::string& name, const Ort::ConstValue& tensor);
  void add_initializer(const Ort::ConstValueInfo& value, Message& graph);

  FileWriter weights_;
  std::string folder_;
  std::set<std::string> initializers_;  // that are written
};

bool has_known_rank(const Ort::ConstTensorTypeAndShapeInfo& info) {
#if ORT_API_VERSION >= 24
  return info.HasShape();
#else
  // A scalar looks like what has no shape.
  return info.GetDimensionsCount() != 0;
#endif
}

Message type_message(const Ort::ConstValueInfo& value, bool with_shape) {
  const auto stated = value.TypeInfo();
  if (stated == nullptr || stated.GetONNXType() != ONNX_TYPE_TENSOR) {
    throw std::runtime_error("`" + value.GetName() + "` is no tensor");
  }
  const auto info = stated.GetTensorTypeAndShapeInfo();
  Message tensor;
  tensor.number(1, info.GetElementType());
  if (with_shape && has_known_rank(info)) {
    Message shape;
    const std::vector<std::int64_t> sizes = info.GetShape();
    const std::vector<const char*> names = info.GetSymbolicDimensions();
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      Message dim;
      if (sizes[d] >= 0) {
        dim.number(1, sizes[d]);
      } else if (*names[d] != '\0') {
        dim.text(2, names[d]);
      }
      shape.message(1, dim);
    }
    tensor.message(2, shape);
  }
  Message type;
  type.message(1, tensor);
  return type;
}

Message value_message(const Ort::ConstValueInfo& value, bool with_shape) {
  Message message;
  message.text(ValueField::kName, value.GetName());
  message.message(ValueField::kType, type_message(value, with_shape));
  return message;
}

Message Writer::graph_message(const Ort::ConstGraph& graph, const std::string& outer_node) {
  const bool is_body = !outer_node.empty();
  // Bodies side by side may have initializers of the same names.
  const std::set<std::string> around = initializers_;
  Message message;
  message.text(GraphField::kName, "graph");
  for (const Ort::ConstValueInfo& value : graph.GetInitializers()) add_initializer(value, message);
  for (const Ort::ConstNode& node : graph.GetNodes()) {
    if (!is_body) {
      for (const Ort::ConstValueInfo& value : node.GetImplicitInputs()) {
        add_initializer(value, message);
      }
    }
    std::string name = is_body ? outer_node + "/" : "n";
    name += std::to_string(node.GetId());
    message.message(GraphField::kNode, node_message(node, name));
  }
  for (const Ort::ConstValueInfo& value : graph.GetInputs()) {
    if (initializers_.count(value.GetName()) != 0) continue;
    // What a body is given is known where it is called.
    message.message(GraphField::kInput, value_message(value, !is_body));
  }
  // The shapes of results are the compiler's to find.
  for (const Ort::ConstValueInfo& value : graph.GetOutputs()) {
    message.message(GraphField::kOutput, value_message(value, false));
  }
  if (is_body) initializers_ = around;
  return message;
}

void Writer::add_initializer(const Ort::ConstValueInfo& value, Message& graph) {
  if (value == nullptr || !value.IsConstantInitializer()) return;
  const std::string name = value.GetName();
  if (!initializers_.insert(name).second) return;
  Ort::ConstValue tensor{nullptr};
  Ort::ThrowOnError(value.GetInitializer(tensor));
  graph.message(GraphField::kInitializer, tensor_message(name, tensor));
}

Message Writer::node_message(const Ort::ConstNode& node, const std::string& name) {
  Message message;
  // An input or output that is left out has no name.
  for (const Ort::ConstValueInfo& value : node.GetInputs()) {
    message.text(NodeField::kInput, value == nullptr ? "" : value.GetName());
  }
  for (const Ort::ConstValueInfo& value : node.GetOutputs()) {
    message.text(NodeField::kOutput, value == nullptr ? "" : value.GetName());
  }
  message.text(NodeField::kName, name);
  message.text(NodeField::kOperator, node.GetOperatorType());
  message.text(NodeField::kDomain, node.GetDomain());
  // They come in the order of a hash table.
  std::map<std::string, Ort::ConstOpAttr> attributes;
  for (const Ort::ConstOpAttr& attribute : node.GetAttributes()) {
    attributes.emplace(attribute.GetName(), attribute);
  }
  for (const auto& [_, attribute] : attributes) {
    if (attribute.GetType() == ORT_OP_ATTR_GRAPH) continue;
    message.message(NodeField::kAttribute, attribute_message(attribute));
  }
  for (const Ort::AttrNameSubgraph& body : node.GetSubgraphs()) {
    Message attribute;
    attribute.text(AttributeField::kName, body.attr_name);
    attribute.number(AttributeField::kType, AttributeType::kGraph);
    attribute.message(AttributeField::kGraph, graph_message(body.sub_graph, name));
    message.message(NodeField::kAttribute, attribute);
  }
  return message;
}

template <class T>
T value_of(const Ort::ConstOpAttr& attribute) {
  T value{};
  Ort::ThrowOnError(attribute.GetValue(value));
  return value;
}

template <class T>
std::vector<T> values_of(const Ort::ConstOpAttr& attribute) {
  std::vector<T> values;
  Ort::ThrowOnError(attribute.GetValueArray(values));
  return values;
}

// Adds the numbers or texts of a list, and returns its type.
int add_list(const Ort::ConstOpAttr& attribute, Message& message) {
  switch (attribute.GetType()) {
    case ORT_OP_ATTR_INTS:
      for (const std::int64_t i : values_of<std::int64_t>(attribute)) {
        message.number(AttributeField::kInts, i);
      }
      return AttributeType::kInts;
    case ORT_OP_ATTR_FLOATS:
      for (const float f : values_of<float>(attribute)) message.real(AttributeField::kFloats, f);
      return AttributeType::kFloats;
    case ORT_OP_ATTR_STRINGS:
      for (const std::string& s : values_of<std::string>(attribute)) {
        message.text(AttributeField::kStrings, s);
      }
      return AttributeType::kStrings;
    default:
      throw std::runtime_error("attribute `" + attribute.GetName() + "` is of an unknown type");
  }
}

Message Writer::attribute_message(const Ort::ConstOpAttr& attribute) {
  Message message;
  message.text(AttributeField::kName, attribute.GetName());
  int type = 0;
  switch (attribute.GetType()) {
    case ORT_OP_ATTR_INT:
      type = AttributeType::kInt;
      message.number(AttributeField::kInt, value_of<std::int64_t>(attribute));
      break;
    case ORT_OP_ATTR_FLOAT:
      type = AttributeType::kFloat;
      message.real(AttributeField::kFloat, value_of<float>(attribute));
      break;
    case ORT_OP_ATTR_STRING:
      type = AttributeType::kString;
      message.text(AttributeField::kString, value_of<std::string>(attribute));
      break;
    case ORT_OP_ATTR_TENSOR: {
      type = AttributeType::kTensor;
      Ort::Value tensor{nullptr};
      Ort::ThrowOnError(attribute.GetTensorAttributeAsOrtValue(tensor));
      message.message(AttributeField::kTensor, tensor_message("", tensor.GetConst()));
      break;
    }
    default:
      type = add_list(attribute, message);
  }
  message.number(AttributeField::kType, type);
  return message;
}

Message external_entry(const char* key, const std::string& value) {
  Message entry;
  entry.text(1, key);
  entry.text(2, value);
  return entry;
}

Message Writer::tensor_message(const std::string& name, const Ort::ConstValue& tensor) {
  const auto info = tensor.GetTensorTypeAndShapeInfo();
  Message message;
  for (const std::int64_t size : info.GetShape()) message.number(TensorField::kDim, size);
  message.number(TensorField::kType, info.GetElementType());
  if (!name.empty()) message.text(TensorField::kName, name);
  if (info.GetElementType() == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) {
    throw std::runtime_error("a constant of strings");
  }
  const auto* data = static_cast<const char*>(tensor.GetTensorRawData());
  const std::size_t bytes = tensor.GetTensorSizeInBytes();
  if (bytes < kLeastExternalBytes || name.empty()) {
    message.text(TensorField::kRawData, {data, bytes});
    return message;
  }
  weights_.pad_to(kAlign);
  message.message(TensorField::kExternalData, external_entry("location", "weights"));
  message.message(TensorField::kExternalData,
                  external_entry("offset", std::to_string(weights_.position())));
  message.message(TensorField::kExternalData, external_entry("length", std::to_string(bytes)));
  message.number(TensorField::kLocation, 1);
  weights_.write(std::string_view(data, bytes));
  return message;
}

}  // namespace

void write_model(const Ort::ConstGraph& graph, const std::string& folder) {
  Writer(folder).write(graph);
}

std::optional<std::size_t> node_of_place(std::string_view place) {
  const std::size_t at = place.rfind(kNode);
  if (at == std::string_view::npos) return std::nullopt;
  std::size_t id = 0;
  const char* end = place.data() + place.size();
  const auto [_, error] = std::from_chars(place.data() + at + kNode.size(), end, id);
  return error == std::errc{} ? std::optional(id) : std::nullopt;
}

bool is_plain_tensor(const Ort::ConstValueInfo& value) {
  const auto type = value.TypeInfo();
  if (type == nullptr || type.GetONNXType() != ONNX_TYPE_TENSOR) return false;
  switch (type.GetTensorTypeAndShapeInfo().GetElementType()) {
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL:
      return true;
    default:
      return false;
  }
}

}  // namespace tessera::onnxruntime_provider
