// SPDX-License-Identifier: Apache-2.0
// What TensorRT is given of a region: its layers as a JSON graph, which shim/network.h reads, and
// the constants that the graph names.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "byoc/json_graph_writer.h"
#include "constants/tensor.h"
#include "support/hash.h"
#include "types/target.h"

namespace tessera::backends::tensorrt {

using Value = byoc::JsonGraphWriter::Entry;  // a tensor of the graph
using Attributes = byoc::JsonGraphWriter::Attributes;

class Graph {
 public:
  // The target's options stand in every layer. Names are the same whatever the region is called.
  explicit Graph(const Target& target);

  Value input(const Type& type);  // in the order of the region's parameters
  Value constant(const Tensor& tensor);
  // A layer with one result, for the composite of that name.
  Value layer(const std::string& composite, std::string_view kind, std::vector<Value> inputs,
              Attributes attributes, const Type& result);

  std::string text(const std::vector<Value>& results) const { return writer_.text(results); }
  using NamedTensor = std::pair<std::string, Tensor>;
  const std::vector<NamedTensor>& constants() const { return constants_; }
  // All that an engine is built from: text and constants.
  Hash128 hash(const std::vector<Value>& results) const;

 private:
  Attributes options_;
  byoc::JsonGraphWriter writer_;
  std::size_t num_inputs_ = 0;
  std::vector<NamedTensor> constants_;
  std::map<std::uint64_t, Value> known_;  // constants, by the hash of the tensor
};

// As attributes hold numbers.
std::vector<std::string> texts_of(const std::vector<std::int64_t>& numbers);
std::vector<std::string> text_of(std::int64_t number);
std::vector<std::string> text_of(double number);

}  // namespace tessera::backends::tensorrt
