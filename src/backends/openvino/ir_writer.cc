// SPDX-License-Identifier: Apache-2.0
#include "backends/openvino/ir_writer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tessera::backends::openvino {
namespace {

constexpr std::size_t kAlignBytes = 64;  // of constants in their buffer

std::string shape_text(const Shape& shape) {
  std::vector<std::string> sizes;
  for (const Dim& d : shape) sizes.push_back(d.is_constant() ? std::to_string(d.constant()) : "?");
  return fmt::format("{}", fmt::join(sizes, ","));
}

}  // namespace

std::string text_of(bool flag) { return flag ? "true" : "false"; }
std::string text_of(double number) { return fmt::format("{}", number); }
std::string text_of(std::span<const std::int64_t> numbers) {
  return fmt::format("{}", fmt::join(numbers, ","));
}

std::string_view ir_type(DType dtype) {
  if (dtype == kFloat32) return "f32";
  if (dtype == kBool) return "boolean";
  if (dtype == kInt8) return "i8";
  if (dtype == kUInt8) return "u8";
  if (dtype == kInt32) return "i32";
  if (dtype == kInt64) return "i64";
  return "";
}

Value IrWriter::add(Layer layer) {
  layers_.push_back(std::move(layer));
  const auto number = static_cast<std::uint32_t>(layers_.size() - 1);
  return {number, static_cast<std::uint32_t>(layers_.back().inputs.size())};
}

Value IrWriter::input(const Type& type) {
  has_open_sizes_ = has_open_sizes_ || is_dynamic(type);
  return add(
      {"Parameter",
       1,
       {},
       {{"shape", shape_text(type.shape())}, {"element_type", std::string(ir_type(type.dtype()))}},
       1});
}

Value IrWriter::constant(const Tensor& tensor) {
  std::size_t offset = 0;
  if (keeps_bytes_) {
    const std::uint64_t hash = tensor.hash();
    const auto known = constants_.find(hash);
    if (known != constants_.end()) return known->second;
    constants_[hash] = {static_cast<std::uint32_t>(layers_.size()), 0};
    offset = (bytes_.size() + kAlignBytes - 1) / kAlignBytes * kAlignBytes;
    bytes_.resize(offset);
    const auto data = tensor.blob->bytes();
    bytes_.insert(bytes_.end(), data.begin(), data.end());
    tensor.blob->release_pages();
  }
  return add({"Const",
              1,
              {},
              {{"element_type", std::string(ir_type(tensor.dtype))},
               {"shape", text_of(tensor.shape)},
               {"offset", std::to_string(offset)},
               {"size", std::to_string(tensor.size_bytes())}},
              1});
}

Value IrWriter::layer(std::string_view type, int opset, std::span<const Value> inputs,
                      const std::vector<Attribute>& attributes, std::uint32_t outputs) {
  return add({type, opset, {inputs.begin(), inputs.end()}, attributes, outputs});
}

void IrWriter::result(Value value) { add({"Result", 1, {value}, {}, 0}); }

std::string IrWriter::layer_xml(std::size_t number) const {
  const Layer& layer = layers_[number];
  std::string text = fmt::format("<layer id=\"{}\" name=\"n{}\" type=\"{}\" version=\"opset{}\">",
                                 number, number, layer.type, layer.opset);
  if (!layer.attributes.empty()) {
    text += "<data";
    for (const Attribute& a : layer.attributes) text += fmt::format(" {}=\"{}\"", a.name, a.value);
    text += "/>";
  }
  const auto ports = [&](std::string_view what, std::size_t first, std::size_t count) {
    if (count == 0) return;
    text += fmt::format("<{}>", what);
    for (std::size_t i = first; i < first + count; ++i) {
      text += fmt::format("<port id=\"{}\" precision=\"UNSPECIFIED\"/>", i);  // it is inferred
    }
    text += fmt::format("</{}>", what);
  };
  ports("input", 0, layer.inputs.size());
  ports("output", layer.inputs.size(), layer.outputs);
  return text + "</layer>";
}

std::string IrWriter::xml() const {
  std::string text = "<?xml version=\"1.0\"?><net name=\"region\" version=\"11\"><layers>";
  for (std::size_t i = 0; i < layers_.size(); ++i) text += layer_xml(i);
  text += "</layers><edges>";
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    for (std::size_t k = 0; k < layers_[i].inputs.size(); ++k) {
      const Value from = layers_[i].inputs[k];
      text +=
          fmt::format("<edge from-layer=\"{}\" from-port=\"{}\" to-layer=\"{}\" to-port=\"{}\"/>",
                      from.layer, from.port, i, k);
    }
  }
  return text + "</edges></net>";
}

}  // namespace tessera::backends::openvino
