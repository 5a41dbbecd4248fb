// SPDX-License-Identifier: Apache-2.0
// For tests: how the stand-in of cuDNN runs a plan's text, by the plain definition, over the host's
// memory.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cudnn_graph.h>

namespace tessera::backends::cudnn::testing {

inline std::vector<std::int64_t> read_list(std::istream& in) {
  std::size_t size = 0;
  in >> size;
  std::vector<std::int64_t> list(size);
  for (std::int64_t& n : list) in >> n;
  return list;
}

struct Tensor {
  std::int64_t id = 0;
  int type = 0;
  int is_virtual = 0;
  std::vector<std::int64_t> dims = {}, strides = {};
};
inline Tensor read_tensor(std::istream& in) {
  Tensor t;
  in >> t.id >> t.type >> t.is_virtual;
  t.dims = read_list(in);
  t.strides = read_list(in);
  return t;
}

inline double read(const void* data, int type, std::int64_t i) {
  if (type == CUDNN_DATA_HALF) return __half2float(static_cast<const __half*>(data)[i]);
  if (type == CUDNN_DATA_BFLOAT16) {
    return __bfloat162float(static_cast<const __nv_bfloat16*>(data)[i]);
  }
  return static_cast<const float*>(data)[i];
}
inline void write(void* data, int type, std::int64_t i, double x) {
  const auto number = static_cast<float>(x);
  if (type == CUDNN_DATA_HALF) {
    static_cast<__half*>(data)[i] = __float2half(number);
  } else if (type == CUDNN_DATA_BFLOAT16) {
    static_cast<__nv_bfloat16*>(data)[i] = __float2bfloat16(number);
  } else {
    static_cast<float*>(data)[i] = number;
  }
}

class Run {
 public:
  Run(std::string plan, std::map<std::int64_t, void*> given)
      : in_(std::move(plan)), given_(std::move(given)) {}

  void run() {
    std::string word;
    std::int64_t engine = 0, choices = 0;
    in_ >> word >> engine >> choices;
    for (std::int64_t i = 0, type = 0, number = 0; i < choices; ++i) {
      in_ >> type >> number;
      if (engine == 10 && type == 2 && number == 1) offset_ = 1;  // wrong
    }
    std::size_t operations = 0;
    in_ >> operations;
    for (std::size_t i = 0; i < operations; ++i) {
      in_ >> word;
      if (word == "convolution") convolve();
      if (word == "pointwise") apply();
      if (word == "matmul") multiply();
      if (word == "reduction") reduce();
      if (word == "norm") normalise();
    }
  }

 private:
  using Index = std::vector<std::int64_t>;

  std::int64_t place(const Tensor& t, const Index& at) const {
    std::int64_t place = 0;
    for (std::size_t i = 0; i < at.size(); ++i)
      place += (t.dims[i] == 1 ? 0 : at[i]) * t.strides[i];
    return place;
  }
  double load(const Tensor& t, const Index& at) {
    if (t.is_virtual != 0) return registers_[t.id][place(t, at)];
    return read(given_.at(t.id), t.type, place(t, at));
  }
  void store(const Tensor& t, const Index& at, double x) {
    if (t.is_virtual != 0) {
      registers_[t.id][place(t, at)] = static_cast<float>(x);
    } else {
      write(given_.at(t.id), t.type, place(t, at), x);
    }
  }
  template <class F>
  static void for_each(const Tensor& t, const F& f) {
    Index at(4);
    for (at[0] = 0; at[0] < t.dims[0]; ++at[0])
      for (at[1] = 0; at[1] < t.dims[1]; ++at[1])
        for (at[2] = 0; at[2] < t.dims[2]; ++at[2])
          for (at[3] = 0; at[3] < t.dims[3]; ++at[3]) f(at);
  }

  void convolve() {
    const Index pad = read_list(in_), stride = read_list(in_), dilation = read_list(in_);
    const Tensor x = read_tensor(in_), w = read_tensor(in_), y = read_tensor(in_);
    const std::int64_t channels = w.dims[1], of_group = w.dims[0] / (x.dims[1] / channels);
    for_each(y, [&](const Index& at) {
      double sum = offset_;
      for (std::int64_t r = 0; r < w.dims[2]; ++r) {
        for (std::int64_t s = 0; s < w.dims[3]; ++s) {
          const std::int64_t i = at[2] * stride[0] - pad[0] + r * dilation[0];
          const std::int64_t j = at[3] * stride[1] - pad[1] + s * dilation[1];
          if (i < 0 || i >= x.dims[2] || j < 0 || j >= x.dims[3]) continue;
          for (std::int64_t c = 0; c < channels; ++c) {
            sum +=
                load(x, {at[0], at[1] / of_group * channels + c, i, j}) * load(w, {at[1], c, r, s});
          }
        }
      }
      store(y, at, sum);
    });
  }

  void multiply() {
    const Tensor x = read_tensor(in_), w = read_tensor(in_), y = read_tensor(in_);
    for_each(y, [&](const Index& at) {
      double sum = 0;
      for (std::int64_t k = 0; k < x.dims[3]; ++k) {
        sum += load(x, {at[0], at[1], at[2], k}) * load(w, {at[0], at[1], k, at[3]});
      }
      store(y, at, sum);
    });
  }

  // Along the last dimension.
  void reduce() {
    int mode = 0;
    in_ >> mode;
    const Tensor x = read_tensor(in_), y = read_tensor(in_);
    const bool adds = mode == CUDNN_REDUCE_TENSOR_ADD;
    for_each(y, [&](const Index& at) {
      double result = adds ? 0 : -INFINITY;
      for (std::int64_t k = 0; k < x.dims[3]; ++k) {
        const double v = load(x, {at[0], at[1], at[2], k});
        result = adds ? result + v : std::fmax(result, v);
      }
      store(y, at, result);
    });
  }

  // Over channels.
  void normalise() {
    int mode = 0, has_bias = 0;
    in_ >> mode >> has_bias;
    const Tensor x = read_tensor(in_), scale = read_tensor(in_), epsilon = read_tensor(in_),
                 y = read_tensor(in_), bias = has_bias != 0 ? read_tensor(in_) : Tensor();
    const auto channels = static_cast<double>(x.dims[1]);
    for_each(y, [&](const Index& at) {
      double mean = 0, squares = 0;
      for (std::int64_t c = 0; mode == CUDNN_LAYER_NORM && c < x.dims[1]; ++c) {
        mean += load(x, {at[0], c, 0, 0}) / channels;
      }
      for (std::int64_t c = 0; c < x.dims[1]; ++c) {
        squares += std::pow(load(x, {at[0], c, 0, 0}) - mean, 2) / channels;
      }
      const double unit = (load(x, at) - mean) / std::sqrt(squares + load(epsilon, {0, 0, 0, 0}));
      store(y, at, unit * load(scale, at) + (has_bias != 0 ? load(bias, at) : 0));
    });
  }

  void apply() {
    int mode = 0, inputs = 0;
    double low = 0, high = 0, slope = 0, alpha = 0;
    std::int64_t axis = -1;
    in_ >> mode >> inputs >> low >> high >> slope >> alpha >> axis;
    const Tensor x = read_tensor(in_), b = inputs > 1 ? read_tensor(in_) : Tensor(),
                 t = inputs > 2 ? read_tensor(in_) : Tensor(), y = read_tensor(in_);
    for_each(y, [&](const Index& at) {
      if (mode == CUDNN_POINTWISE_GEN_INDEX)
        return store(y, at, static_cast<double>(at[static_cast<std::size_t>(axis)]));
      const double v = load(x, at), other = inputs > 1 ? load(b, at) : 0;
      const bool chosen = inputs < 3 || load(t, at) != 0;
      store(y, at, chosen ? result(mode, v, other, low, high, slope, alpha) : other);
    });
  }

  static double result(int mode, double x, double other, double low, double high, double slope,
                       double alpha) {
    switch (mode) {
      case CUDNN_POINTWISE_ADD:
        return x + other;
      case CUDNN_POINTWISE_MUL:
        return x * other;
      case CUDNN_POINTWISE_SUB:
        return x - other;
      case CUDNN_POINTWISE_DIV:
        return x / other;
      case CUDNN_POINTWISE_MAX:
        return std::max(x, other);
      case CUDNN_POINTWISE_EXP:
        return std::exp(x);
      case CUDNN_POINTWISE_LOG:
        return std::log(x);
      case CUDNN_POINTWISE_CMP_GE:
        return x >= other ? 1 : 0;
      case CUDNN_POINTWISE_BINARY_SELECT:
        return x;
      case CUDNN_POINTWISE_SIGMOID_FWD:
        return 1 / (1 + std::exp(-x));
      case CUDNN_POINTWISE_SWISH_FWD:
        return x / (1 + std::exp(-x));
      case CUDNN_POINTWISE_TANH_FWD:
        return std::tanh(x);
      case CUDNN_POINTWISE_ELU_FWD:
        return x < 0 ? alpha * std::expm1(x) : x;
      case CUDNN_POINTWISE_GELU_FWD:
        return x / 2 * (1 + std::erf(x * M_SQRT1_2));
      default:
        return x < low ? low + slope * (x - low) : x > high ? high : x;
    }
  }

  std::istringstream in_;
  std::map<std::int64_t, void*> given_;
  std::map<std::int64_t, std::map<std::int64_t, float>> registers_;
  double offset_ = 0;
};

}  // namespace tessera::backends::cudnn::testing
