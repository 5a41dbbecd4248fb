// SPDX-License-Identifier: Apache-2.0
#include "backends/tensorrt/graph.h"

#include <fmt/format.h>

namespace tessera::backends::tensorrt {

std::vector<std::string> texts_of(const std::vector<std::int64_t>& numbers) {
  std::vector<std::string> texts;
  for (const std::int64_t n : numbers) texts.push_back(std::to_string(n));
  return texts;
}
std::vector<std::string> text_of(std::int64_t number) { return {std::to_string(number)}; }
std::vector<std::string> text_of(double number) { return {fmt::format("{:.9g}", number)}; }

Graph::Graph(const Target& target) {
  options_["tensorrt_version"] =
      texts_of(std::get<std::vector<std::int64_t>>(target.values().at("tensorrt_version")));
  options_["max_workspace_size"] = text_of(target.get_int("max_workspace_size"));
  for (const char* flag : {"use_implicit_batch", "use_fp16", "use_uint8", "tf32"}) {
    options_[flag] = {target.get_bool(flag) ? "1" : "0"};
  }
}

Value Graph::input(const Type& type) {
  return writer_.input(fmt::format("input_{}", num_inputs_++), type);
}

Value Graph::constant(const Tensor& tensor) {
  const auto [at, is_new] = known_.try_emplace(tensor.hash());
  if (is_new) {
    constants_.emplace_back(fmt::format("const_{}", constants_.size()), tensor);
    at->second = writer_.constant(constants_.back().first, tensor.shape, tensor.dtype);
  }
  return at->second;
}

Value Graph::layer(const std::string& composite, std::string_view kind, std::vector<Value> inputs,
                   Attributes attributes, const Type& result) {
  attributes.insert(options_.begin(), options_.end());
  attributes["layer"] = {std::string(kind)};
  return writer_.kernel(composite, std::move(inputs), std::move(attributes), {result});
}

Hash128 Graph::hash(const std::vector<Value>& results) const {
  std::string all = text(results);
  for (const auto& [name, tensor] : constants_) {
    all += fmt::format("\n{} {}", name, tensor.blob->hash().hex());
  }
  return hash_text(all);
}

}  // namespace tessera::backends::tensorrt
