// SPDX-License-Identifier: Apache-2.0
// For tests: layers computed by their plain definitions, in float32.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "plan.h"

namespace stand_in {

// Steps through the indices of a shape, in row-major order.
template <class F>
void for_each_index(const Ints& shape, const F& f) {
  Ints index(shape.size(), 0);
  for (std::int64_t n = count(shape); n > 0; --n) {
    f(index);
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
}

// Where an index lies; along sizes of one all indices are the same.
inline std::size_t place(const Ints& shape, const Ints& index) {
  std::int64_t at = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    at = at * shape[d] + (shape[d] == 1 ? 0 : index[d]);
  }
  return static_cast<std::size_t>(at);
}

inline double activated(const Layer& l, double x) {
  const double a = l.numbers.at("alpha"), b = l.numbers.at("beta");
  switch (static_cast<nvinfer1::ActivationType>(l.type)) {
    case nvinfer1::ActivationType::kRELU:
      return std::max(x, 0.0);
    case nvinfer1::ActivationType::kSIGMOID:
      return 1 / (1 + std::exp(-x));
    case nvinfer1::ActivationType::kTANH:
      return std::tanh(x);
    case nvinfer1::ActivationType::kLEAKY_RELU:
      return x < 0 ? a * x : x;
    case nvinfer1::ActivationType::kELU:
      return x < 0 ? a * std::expm1(x) : x;
    case nvinfer1::ActivationType::kSOFTPLUS:
      return a * std::log1p(std::exp(b * x));
    case nvinfer1::ActivationType::kCLIP:
      return std::clamp(x, a, b);
    case nvinfer1::ActivationType::kHARD_SIGMOID:
      return std::clamp(a * x + b, 0.0, 1.0);
  }
  return NAN;
}

inline double unary(int type, double x) {
  switch (static_cast<nvinfer1::UnaryOperation>(type)) {
    case nvinfer1::UnaryOperation::kEXP:
      return std::exp(x);
    case nvinfer1::UnaryOperation::kLOG:
      return std::log(x);
    case nvinfer1::UnaryOperation::kSQRT:
      return std::sqrt(x);
    case nvinfer1::UnaryOperation::kRECIP:
      return 1 / x;
    case nvinfer1::UnaryOperation::kABS:
      return std::fabs(x);
    case nvinfer1::UnaryOperation::kNEG:
      return -x;
    case nvinfer1::UnaryOperation::kSIN:
      return std::sin(x);
    case nvinfer1::UnaryOperation::kCOS:
      return std::cos(x);
    case nvinfer1::UnaryOperation::kFLOOR:
      return std::floor(x);
    case nvinfer1::UnaryOperation::kCEIL:
      return std::ceil(x);
    case nvinfer1::UnaryOperation::kERF:
      return std::erf(x);
  }
  return NAN;
}

inline double combined(int type, double a, double b) {
  switch (static_cast<nvinfer1::ElementWiseOperation>(type)) {
    case nvinfer1::ElementWiseOperation::kSUM:
      return a + b;
    case nvinfer1::ElementWiseOperation::kPROD:
      return a * b;
    case nvinfer1::ElementWiseOperation::kSUB:
      return a - b;
    case nvinfer1::ElementWiseOperation::kDIV:
      return a / b;
    case nvinfer1::ElementWiseOperation::kPOW:
      return std::pow(a, b);
  }
  return NAN;
}

class Run {
 public:
  explicit Run(const Plan& plan) : plan_(plan), values_(plan.layers.size()) {}

  void set(std::int64_t layer, Floats values) {
    values_[static_cast<std::size_t>(layer)] = std::move(values);
  }
  const Floats& value(std::int64_t layer) const { return values_[static_cast<std::size_t>(layer)]; }
  Ints shape(std::int64_t layer) const { return shape_of(plan_, layer); }

  void compute() {
    for (std::size_t i = 0; i < plan_.layers.size(); ++i) {
      const Layer& l = plan_.layers[i];
      if (l.kind != "input") values_[i] = result(l, shape(static_cast<std::int64_t>(i)));
    }
  }

 private:
  Floats result(const Layer& l, const Ints& shape) {
    if (l.kind == "constant") return l.weights;
    const Floats& in = value(l.inputs[0]);
    if (l.kind == "shuffle" && l.lists.contains("reshape")) return in;
    out_.assign(static_cast<std::size_t>(count(shape)), 0);
    if (l.kind == "reduce") return reduced(l, shape);
    if (l.kind == "deconvolution") return scattered(l, shape);
    const Ints in_shape = this->shape(l.inputs[0]);
    std::size_t at = 0;
    for_each_index(shape, [&](const Ints& index) {
      out_[at++] = static_cast<float>(element(l, in_shape, in, index));
    });
    return l.kind == "softmax" ? softmax(l, shape) : out_;
  }

  double element(const Layer& l, const Ints& in_shape, const Floats& in, Ints index) {
    if (l.kind == "activation") return activated(l, in[place(in_shape, index)]);
    if (l.kind == "unary") return unary(l.type, in[place(in_shape, index)]);
    if (l.kind == "softmax") return in[place(in_shape, index)];
    if (l.kind == "elementwise") {
      return combined(l.type, in[place(in_shape, index)],
                      value(l.inputs[1])[place(shape(l.inputs[1]), index)]);
    }
    if (l.kind == "matmul") return product(l, in_shape, in, index);
    if (l.kind == "convolution" || l.kind == "pooling") return window(l, in_shape, in, index);
    if (l.kind == "slice") {
      for (std::size_t d = 0; d < index.size(); ++d) {
        index[d] = l.list("begin")[d] + index[d] * l.list("strides")[d];
      }
      return in[place(in_shape, index)];
    }
    if (l.kind == "shuffle") {
      Ints from(index.size());
      for (std::size_t d = 0; d < index.size(); ++d) {
        from[static_cast<std::size_t>(l.list("order")[d])] = index[d];
      }
      return in[place(in_shape, from)];
    }
    // A concatenation.
    const auto axis = static_cast<std::size_t>(l.number("axis"));
    for (const std::int64_t input : l.inputs) {
      const Ints part = shape(input);
      if (index[axis] < part[axis]) return value(input)[place(part, index)];
      index[axis] -= part[axis];
    }
    return NAN;
  }

  double product(const Layer& l, const Ints& a_shape, const Floats& a, const Ints& index) const {
    const Ints b_shape = shape(l.inputs[1]);
    const Floats& b = value(l.inputs[1]);
    const std::size_t rows = index.size() - 2, columns = index.size() - 1;
    const bool of_a = l.number("a") != 0, of_b = l.number("b") != 0;
    double sum = 0;
    for (std::int64_t k = 0; k < a_shape[of_a ? rows : columns]; ++k) {
      Ints at_a = index, at_b = index;
      at_a[of_a ? columns : rows] = index[rows];
      at_a[of_a ? rows : columns] = k;
      at_b[of_b ? rows : columns] = index[columns];
      at_b[of_b ? columns : rows] = k;
      sum += double{a[place(a_shape, at_a)]} * b[place(b_shape, at_b)];
    }
    return sum;
  }

  // What the window of a convolution or of pooling gives at one place.
  double window(const Layer& l, const Ints& in_shape, const Floats& in, const Ints& index) const {
    const Ints sizes = l.list("window");
    const bool is_pooling = l.kind == "pooling";
    const bool is_max = is_pooling && l.type == static_cast<int>(nvinfer1::PoolingType::kMAX);
    const std::int64_t groups = l.number("groups", 1);
    const std::int64_t depth = is_pooling ? 1 : in_shape[1] / groups;
    const std::int64_t group = is_pooling ? index[1] : index[1] / (l.number("maps") / groups);
    double sum = is_max ? -std::numeric_limits<double>::infinity() : 0;
    std::int64_t seen = 0, step = 0;
    for (std::int64_t channel = 0; channel < depth; ++channel) {
      for_each_index(sizes, [&](const Ints& w) {
        const double weight =
            is_pooling
                ? 1
                : l.weights[static_cast<std::size_t>(index[1] * depth * count(sizes) + step)];
        ++step;
        Ints at = {index[0], group * depth + channel};
        bool inside = true;
        for (std::size_t d = 0; d < sizes.size(); ++d) {
          at.push_back(index[d + 2] * l.at("strides", d, 1) + w[d] * l.at("dilation", d, 1) -
                       l.at("begin", d, 0));
          inside = inside && at[d + 2] >= 0 && at[d + 2] < in_shape[d + 2];
        }
        if (!inside) return;
        ++seen;
        const double x = in[place(in_shape, at)];
        sum = is_max ? std::max(sum, x) : sum + weight * x;
      });
    }
    if (!is_pooling || is_max) return sum;
    return sum / static_cast<double>(l.number("excludes", 1) != 0 ? seen : count(sizes));
  }

  Floats scattered(const Layer& l, const Ints& shape) {
    const Ints in_shape = this->shape(l.inputs[0]), sizes = l.list("window");
    const Floats& in = value(l.inputs[0]);
    const std::int64_t maps = l.number("maps") / l.number("groups", 1);
    const std::int64_t depth = in_shape[1] / l.number("groups", 1);
    for_each_index(in_shape, [&](const Ints& index) {
      for (std::int64_t map = 0; map < maps; ++map) {
        std::int64_t step = (index[1] * maps + map) * count(sizes);
        for_each_index(sizes, [&](const Ints& w) {
          const float weight = l.weights[static_cast<std::size_t>(step++)];
          Ints at = {index[0], index[1] / depth * maps + map};
          bool inside = true;
          for (std::size_t d = 0; d < sizes.size(); ++d) {
            at.push_back(index[d + 2] * l.at("strides", d, 1) + w[d] - l.at("begin", d, 0));
            inside = inside && at[d + 2] >= 0 && at[d + 2] < shape[d + 2];
          }
          if (inside) out_[place(shape, at)] += weight * in[place(in_shape, index)];
        });
      }
    });
    return out_;
  }

  Floats reduced(const Layer& l, const Ints& shape) {
    using Kind = nvinfer1::ReduceOperation;
    const auto kind = static_cast<Kind>(l.type);
    const Ints in_shape = this->shape(l.inputs[0]);
    Ints kept = in_shape;
    for (std::size_t d = 0; d < kept.size(); ++d) {
      if ((l.number("axes") >> d & 1) != 0) kept[d] = 1;
    }
    const double start = kind == Kind::kPROD ? 1 : kind == Kind::kMAX ? -INFINITY : 0;
    std::vector<double> sums(static_cast<std::size_t>(count(shape)), start);
    std::size_t from = 0;
    for_each_index(in_shape, [&](const Ints& index) {
      const double x = value(l.inputs[0])[from++];
      double& sum = sums[place(kept, index)];
      sum = kind == Kind::kPROD ? sum * x : kind == Kind::kMAX ? std::max(sum, x) : sum + x;
    });
    const double parts =
        kind == Kind::kAVG ? static_cast<double>(count(in_shape)) / static_cast<double>(sums.size())
                           : 1;
    for (std::size_t i = 0; i < sums.size(); ++i) out_[i] = static_cast<float>(sums[i] / parts);
    return out_;
  }

  Floats softmax(const Layer& l, const Ints& shape) {
    Ints rows = shape;
    for (std::size_t d = 0; d < rows.size(); ++d) {
      if ((l.number("axes") >> d & 1) != 0) rows[d] = 1;
    }
    std::vector<double> sums(static_cast<std::size_t>(count(rows)), 0);
    std::vector<float> most(sums.size(), -INFINITY);
    for_each_index(shape, [&](const Ints& i) {
      most[place(rows, i)] = std::max(most[place(rows, i)], out_[place(shape, i)]);
    });
    for_each_index(shape, [&](const Ints& i) {
      float& x = out_[place(shape, i)];
      x = std::exp(x - most[place(rows, i)]);
      sums[place(rows, i)] += x;
    });
    for_each_index(shape, [&](const Ints& i) {
      float& x = out_[place(shape, i)];
      x = static_cast<float>(x / sums[place(rows, i)]);
    });
    return out_;
  }

  const Plan& plan_;
  std::vector<Floats> values_;  // by layer
  Floats out_;
};

}  // namespace stand_in
