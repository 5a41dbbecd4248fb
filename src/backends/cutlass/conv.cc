// SPDX-License-Identifier: Apache-2.0
#include "backends/cutlass/conv.h"

#include <algorithm>

#include <fmt/format.h>

#include "backends/cutlass/gemm.h"
#include "ops/convolution.h"
#include "relay/operator.h"

namespace tessera::backends::cutlass {
namespace {

using relay::Function;
using relay::NodeId;
using relay::Refusal;

std::optional<Refusal> check_layouts(const ops::Conv2DAttrs& p) {
  if (p.groups != 1) return Refusal{fmt::format("the convolution has {} groups", p.groups)};
  if (p.data_layout != "NHWC" || ops::result_layout(p) != "NHWC") {
    return Refusal{fmt::format("the data layout is {}, not NHWC", p.data_layout)};
  }
  if (p.kernel_layout != "OHWI") {
    return Refusal{fmt::format("the kernel layout is {}, not OHWI", p.kernel_layout)};
  }
  return std::nullopt;
}

std::optional<Refusal> check_sizes(const Shape& x, const Shape& w, const Shape& y) {
  if (x[0].is_unknown()) return Refusal{"a size is not known"};
  for (const Dim& d : {x[1], x[2], x[3], w[0], w[1], w[2], y[1], y[2]}) {
    if (!d.is_constant()) return Refusal{"a size of the image or of the kernel is not known"};
  }
  const Dim none = 0;
  for (const Shape* shape : {&x, &w, &y}) {
    if (std::find(shape->begin(), shape->end(), none) != shape->end()) {
      return Refusal{"the image or the kernel is empty"};
    }
  }
  return std::nullopt;
}

bool sees_one_element(const Convolution& c) {
  return std::all_of(c.window.begin(), c.window.end(), [](const ops::WindowAxis& a) {
    return a.size == 1 && a.stride == 1 && a.pad_begin == 0 && a.pad_end == 0;
  });
}

}  // namespace

std::string Convolution::text() const {
  const ops::WindowAxis &r = window[0], &s = window[1];
  return fmt::format("{}x{}x{}x{} by {}x{} strides {}x{} dilation {}x{} padding {},{},{},{}",
                     to_string(batch), height, width, channels, r.size, s.size, r.stride, s.stride,
                     r.dilation, s.dilation, r.pad_begin, s.pad_begin, r.pad_end, s.pad_end);
}

std::optional<Refusal> describe_convolution(const Function& f, NodeId call, Gemm& g) {
  const auto p = relay::read_attrs<ops::Conv2DAttrs>(f.as<relay::OpCall>(call)->attrs);
  if (auto why = check_layouts(p)) return why;
  g.a = f.operands(call)[0];
  g.b = f.operands(call)[1];
  const Shape &x = f.type(g.a).shape(), &w = f.type(g.b).shape(), &y = f.type(call).shape();
  if (auto why = check_sizes(x, w, y)) return why;
  Convolution c{
      x[0],
      x[1].constant(),
      x[2].constant(),
      x[3].constant(),
      y[1].constant(),
      y[2].constant(),
      ops::known_window({w[1].constant(), w[2].constant()}, p.strides, p.dilation, p.padding)};
  const auto rows_begin = y.begin() + static_cast<std::ptrdiff_t>(g.batch_rank);
  g.batch = num_elements({y.begin(), rows_begin});
  g.m = num_elements({rows_begin, y.end() - 1});
  g.n = w[0];
  g.k = w[1] * w[2] * w[3];
  g.b_repeats = g.batch != Dim(1);
  if (sees_one_element(c)) return std::nullopt;
  if (g.b_repeats) return Refusal{"the kernels for windows know no batch"};
  g.convolution = std::move(c);
  return std::nullopt;
}

bool suits_iterators(const Convolution& c) {
  return std::all_of(c.window.begin(), c.window.end(), [](const ops::WindowAxis& a) {
    return a.size <= 32 && a.pad_begin >= 0 && a.pad_end >= 0;
  });
}

bool suits_im2col(const Convolution& convolution) {
  return std::all_of(
      convolution.window.begin(), convolution.window.end(), [](const ops::WindowAxis& a) {
        const std::int64_t offset = (a.size - 1) * a.dilation, corner = a.pad_end - offset;
        return a.stride <= 8 && offset < 255 && a.pad_begin >= 0 && a.pad_begin <= 128 &&
               a.pad_end >= 0 && corner >= -128 && corner <= 127;
      });
}

}  // namespace tessera::backends::cutlass
