// SPDX-License-Identifier: Apache-2.0
// For tests: the layers of a network as they were added. The stand-in's engine is their text.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <istream>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include <NvInfer.h>

namespace stand_in {

using Ints = std::vector<std::int64_t>;
using Floats = std::vector<float>;

struct Layer {
  std::string kind;  // "input", "constant" or that of an `add` function
  int type = 0;      // the enumerator
  Ints inputs;       // numbers of layers, each of which has one result
  std::map<std::string, Ints> lists = {};
  std::map<std::string, double> numbers = {};
  Floats weights = {};

  Ints list(const std::string& name) const {
    const auto found = lists.find(name);
    return found == lists.end() ? Ints() : found->second;
  }
  // Of one spatial dimension, if it was set.
  std::int64_t at(const std::string& name, std::size_t d, std::int64_t otherwise) const {
    const Ints all = list(name);
    return d < all.size() ? all[d] : otherwise;
  }
  std::int64_t number(const std::string& name, std::int64_t otherwise = 0) const {
    const auto found = numbers.find(name);
    return found == numbers.end() ? otherwise : static_cast<std::int64_t>(found->second);
  }
};

struct Binding {
  std::string name;
  std::int64_t layer = 0;
  bool is_half = false;
};

struct Plan {
  std::vector<Layer> layers;  // in the order of their dependence
  std::vector<Binding> inputs, outputs;
  std::string flags;  // "fp16 tf32 workspace=..."
};

inline std::int64_t count(const Ints& shape) {
  std::int64_t all = 1;
  for (const std::int64_t n : shape) all *= n;
  return all;
}

inline Ints shape_of(const Plan& plan, std::int64_t number);

inline Ints window_shape(const Layer& layer, const Ints& in) {
  Ints out = {in[0], layer.kind == "pooling" ? in[1] : layer.number("maps")};
  const Ints window = layer.list("window");
  for (std::size_t d = 0; d < window.size(); ++d) {
    const std::int64_t stride = layer.at("strides", d, 1);
    const std::int64_t reach = layer.at("dilation", d, 1) * (window[d] - 1) + 1;
    const std::int64_t padding = layer.at("begin", d, 0) + layer.at("end", d, 0);
    out.push_back(layer.kind == "deconvolution" ? (in[d + 2] - 1) * stride + reach - padding
                                                : (in[d + 2] + padding - reach) / stride + 1);
  }
  return out;
}

// Of an elementwise layer, or of a product of matrices.
inline Ints binary_shape(const Layer& layer, Ints in, const Ints& other) {
  if (other.size() != in.size()) return {-1};
  const std::size_t matrix = layer.kind == "matmul" ? 2 : 0;
  for (std::size_t d = 0; d + matrix < in.size(); ++d) in[d] = in[d] == 1 ? other[d] : in[d];
  if (matrix == 0) return in;
  if (layer.number("a") != 0) in[in.size() - 2] = in.back();
  in.back() = layer.number("b") != 0 ? other[other.size() - 2] : other.back();
  return in;
}

inline Ints shape_of(const Plan& plan, std::int64_t number) {
  const Layer& layer = plan.layers[static_cast<std::size_t>(number)];
  if (layer.lists.contains("shape")) return layer.list("shape");
  if (layer.lists.contains("reshape")) return layer.list("reshape");
  Ints in = shape_of(plan, layer.inputs[0]);
  if (layer.lists.contains("window")) return window_shape(layer, in);
  if (layer.kind == "elementwise" || layer.kind == "matmul") {
    return binary_shape(layer, in, shape_of(plan, layer.inputs[1]));
  }
  if (layer.kind == "shuffle") {
    Ints out;
    for (std::size_t d = 0; d < in.size(); ++d) {
      out.push_back(in[static_cast<std::size_t>(layer.list("order")[d])]);
    }
    return out;
  }
  if (layer.kind == "reduce") {
    Ints out;
    for (std::size_t d = 0; d < in.size(); ++d) {
      const bool goes = (layer.number("axes") >> d & 1) != 0;
      if (!goes) out.push_back(in[d]);
      if (goes && layer.number("keeps") != 0) out.push_back(1);
    }
    return out;
  }
  if (layer.kind == "concatenation") {
    const auto axis = static_cast<std::size_t>(layer.number("axis"));
    for (std::size_t i = 1; i < layer.inputs.size(); ++i) {
      in[axis] += shape_of(plan, layer.inputs[i])[axis];
    }
  }
  return in;
}

// ---- Text --------------------------------------------------------------------------------------

template <class T>
void write(std::ostream& out, const std::vector<T>& list) {
  out << list.size();
  for (const T value : list) out << ' ' << value;
  out << '\n';
}
template <class T>
void read(std::istream& in, std::vector<T>& list) {
  std::size_t size = 0;
  in >> size;
  list.resize(in ? size : 0);
  for (T& value : list) in >> value;
}

inline void write(std::ostream& out, const Plan& plan) {
  out.precision(17);
  out << plan.flags << '\n' << plan.layers.size() << '\n';
  for (const Layer& layer : plan.layers) {
    out << layer.kind << ' ' << layer.type << '\n';
    write(out, layer.inputs);
    write(out, layer.weights);
    out << layer.lists.size() << '\n';
    for (const auto& [name, list] : layer.lists) {
      out << name << ' ';
      write(out, list);
    }
    out << layer.numbers.size() << '\n';
    for (const auto& [name, number] : layer.numbers) out << name << ' ' << number << '\n';
  }
  for (const auto* bindings : {&plan.inputs, &plan.outputs}) {
    out << bindings->size() << '\n';
    for (const Binding& b : *bindings) out << b.name << ' ' << b.layer << ' ' << b.is_half << '\n';
  }
}

inline bool read(std::istream& in, Plan& plan) {
  std::size_t layers = 0, lists = 0, numbers = 0, bindings = 0;
  std::getline(in, plan.flags);
  for (in >> layers; in && layers > 0; --layers) {
    Layer layer;
    in >> layer.kind >> layer.type;
    read(in, layer.inputs);
    read(in, layer.weights);
    for (in >> lists; in && lists > 0; --lists) {
      std::string name;
      in >> name;
      read(in, layer.lists[name]);
    }
    for (in >> numbers; in && numbers > 0; --numbers) {
      std::string name;
      in >> name;
      in >> layer.numbers[name];
    }
    plan.layers.push_back(std::move(layer));
  }
  for (auto* all : {&plan.inputs, &plan.outputs}) {
    for (in >> bindings; in && bindings > 0; --bindings) {
      Binding& b = all->emplace_back();
      in >> b.name >> b.layer >> b.is_half;
    }
  }
  return !in.fail();
}

}  // namespace stand_in
