// SPDX-License-Identifier: Apache-2.0
// Writes a graph in OpenVINO's own form (IR, version 11): XML, and one buffer with the bytes of all
// constants. Names in it are ours: numbers of layers.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "constants/tensor.h"

namespace tessera::backends::openvino {

// Output `port` of layer `layer`.
struct Value {
  std::uint32_t layer = 0, port = 0;
};

struct Attribute {
  std::string_view name;  // a literal
  std::string value;      // of words and numbers of ours
};

std::string text_of(bool flag);
std::string text_of(double number);
std::string text_of(std::span<const std::int64_t> numbers);
inline std::string text_of(const std::vector<std::int64_t>& numbers) {
  return text_of(std::span(numbers));
}

// OpenVINO's name of a data type in IR; "" if there is none, or it computes with another.
std::string_view ir_type(DType dtype);

class IrWriter {
 public:
  // Without bytes it serves to find out what can be written. A graph that is `unfused` has forms
  // that OpenVINO recognises no rotary embedding by.
  explicit IrWriter(bool keeps_bytes = true, bool unfused = false)
      : keeps_bytes_(keeps_bytes), unfused_(unfused) {}

  Value input(const Type& type);  // sizes that are no numbers stay open
  Value constant(const Tensor& tensor);
  // The operation `type` of opset `opset`.
  Value layer(std::string_view type, int opset, std::span<const Value> inputs,
              const std::vector<Attribute>& attributes = {}, std::uint32_t outputs = 1);
  void result(Value value);

  bool is_unfused() const { return unfused_; }
  // Has a parameter sizes that are no numbers?
  bool has_open_sizes() const { return has_open_sizes_; }
  std::string xml() const;
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  struct Layer {
    std::string_view type;
    int opset;
    std::vector<Value> inputs;
    std::vector<Attribute> attributes;
    std::uint32_t outputs;
  };
  Value add(Layer layer);
  std::string layer_xml(std::size_t number) const;

  const bool keeps_bytes_, unfused_;
  bool has_open_sizes_ = false;
  std::vector<Layer> layers_;
  // Never empty: there must be a buffer for constants of no elements, too.
  std::vector<std::byte> bytes_ = std::vector<std::byte>(1);
  std::map<std::uint64_t, Value> constants_;  // by the hash of the tensor
};

}  // namespace tessera::backends::openvino
