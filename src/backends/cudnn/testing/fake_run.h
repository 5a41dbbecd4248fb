// SPDX-License-Identifier: Apache-2.0
// For tests: how the stand-in of cuDNN runs a plan's text, by the plain definition, over the host's
// memory.
#pragma once

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
      word == "convolution" ? convolve() : apply();
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

  void apply() {
    int mode = 0, is_binary = 0;
    double low = 0, high = 0, slope = 0, alpha = 0;
    in_ >> mode >> is_binary >> low >> high >> slope >> alpha;
    const Tensor x = read_tensor(in_), b = is_binary != 0 ? read_tensor(in_) : Tensor();
    const Tensor y = read_tensor(in_);
    for_each(y, [&](const Index& at) {
      const double v = load(x, at), other = is_binary != 0 ? load(b, at) : 0;
      store(y, at, result(mode, v, other, low, high, slope, alpha));
    });
  }

  static double result(int mode, double x, double other, double low, double high, double slope,
                       double alpha) {
    switch (mode) {
      case CUDNN_POINTWISE_ADD:
        return x + other;
      case CUDNN_POINTWISE_MUL:
        return x * other;
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
