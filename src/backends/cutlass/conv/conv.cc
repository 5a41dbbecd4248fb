// SPDX-License-Identifier: Apache-2.0
#include "backends/cutlass/conv/conv.h"

#include <algorithm>

#include <fmt/format.h>

#include "backends/cutlass/gemm/gemm.h"
#include "ops/records/convolution.h"
#include "relay/operator.h"
#include "relay/patterns/refuse.h"

namespace tessera::backends::cutlass {
namespace {

using relay::Function;
using relay::NodeId;
using relay::Refusal;
using relay::refuse;

constexpr std::string_view kForward = "nn.conv2d", kTransposed = "nn.conv2d_transpose",
                           kWeightGradient = "nn.conv2d_backward_weight";

std::optional<Refusal> check_data_layouts(const ops::ConvAttrs& p, const std::string& operand,
                                          const std::string& other) {
  if (p.groups != 1) return Refusal{fmt::format("the convolution has {} groups", p.groups)};
  for (const std::string& layout : {operand, other}) {
    if (layout != "NHWC") return Refusal{fmt::format("the data layout is {}, not NHWC", layout)};
  }
  return std::nullopt;
}

std::optional<Refusal> check_kernel_layout(const std::string& layout, std::string_view wanted) {
  if (layout == wanted) return std::nullopt;
  return Refusal{fmt::format("the kernel layout is {}, not {}", layout, wanted)};
}

// The image and what its places have are NHWC; `kernel` in any order.
std::optional<Refusal> check_sizes(const Shape& image, const Shape& kernel, const Shape& places) {
  const Dim none = 0;
  const Shape* shapes[] = {&image, &kernel, &places};
  for (const Shape* shape : shapes) {
    for (std::size_t i = 0; i < shape->size(); ++i) {
      const bool is_batch = i == 0 && shape != &kernel;
      const Dim& size = (*shape)[i];
      if (is_batch && size.is_unknown()) return Refusal{"a size is not known"};
      if (!is_batch && !size.is_constant()) {
        return Refusal{"a size of the image or of the kernel is not known"};
      }
    }
  }
  for (const Shape* shape : shapes) {
    if (std::find(shape->begin(), shape->end(), none) != shape->end()) {
      return Refusal{"the image or the kernel is empty"};
    }
  }
  return std::nullopt;
}

// Sizes are checked.
Convolution convolution_of(ConvolutionKind kind, const Shape& image, const Shape& places,
                           ops::Window window) {
  return {image[0],
          image[1].constant(),
          image[2].constant(),
          image[3].constant(),
          places[1].constant(),
          places[2].constant(),
          places[3].constant(),
          std::move(window),
          kind};
}

ops::Window window_of(const ops::ConvAttrs& p, const Dim& rows, const Dim& columns) {
  return ops::known_window({rows.constant(), columns.constant()}, p.strides, p.dilation, p.padding);
}

// For a convolution whose tensors are NHWC, and whose kernel is laid out so.
template <class A>
Expected<A, Refusal> attrs_of(const Function& f, NodeId call, std::string_view kernel_layout) {
  const A p = relay::read_attrs<A>(f.as<relay::OpCall>(call)->attrs);
  if (auto why = check_data_layouts(p, p.data_layout, ops::result_layout(p))) {
    return {Unexpected<Refusal>{*why}};
  }
  if (auto why = check_kernel_layout(p.kernel_layout, kernel_layout)) {
    return {Unexpected<Refusal>{*why}};
  }
  return p;
}

using Described = Expected<Convolution, Refusal>;

Described describe_forward(const Function& f, NodeId call) {
  TESSERA_TRY(const auto p, attrs_of<ops::Conv2DAttrs>(f, call, "OHWI"));
  const Shape &x = f.type(f.operands(call)[0]).shape(), &w = f.type(f.operands(call)[1]).shape(),
              &y = f.type(call).shape();
  if (auto why = check_sizes(x, w, y)) return {Unexpected<Refusal>{*why}};
  return convolution_of(ConvolutionKind::kForward, x, y, window_of(p, w[1], w[2]));
}

Described describe_transposed(const Function& f, NodeId call) {
  TESSERA_TRY(const auto p, attrs_of<ops::Conv2DTransposeAttrs>(f, call, "IHWO"));
  const Shape &x = f.type(f.operands(call)[0]).shape(), &w = f.type(f.operands(call)[1]).shape(),
              &y = f.type(call).shape();
  if (auto why = check_sizes(y, w, x)) return {Unexpected<Refusal>{*why}};
  Convolution c = convolution_of(ConvolutionKind::kTransposed, y, x, window_of(p, w[1], w[2]));
  const bool is_dilated =
      std::any_of(c.window.begin(), c.window.end(),
                  [](const ops::WindowAxis& a) { return a.size > 1 && a.dilation > 1; });
  if (c.is_strided() && is_dilated) {
    return refuse("there is no kernel for strides with dilation");
  }
  return c;
}

Described describe_weight_gradient(const Function& f, NodeId call) {
  const auto p = relay::read_attrs<ops::Conv2DAttrs>(f.as<relay::OpCall>(call)->attrs);
  const ops::GradientLayouts l = ops::gradient_layouts(p);
  if (auto why = check_data_layouts(p, l.grad, l.data)) return {Unexpected<Refusal>{*why}};
  if (auto why = check_kernel_layout(l.weight, "OHWI")) return {Unexpected<Refusal>{*why}};
  const Shape &grad = f.type(f.operands(call)[0]).shape(), &x = f.type(f.operands(call)[1]).shape(),
              &w = f.type(call).shape();
  if (auto why = check_sizes(x, w, grad)) return {Unexpected<Refusal>{*why}};
  if (!x[0].is_constant()) return refuse("the number of images to sum over is not known");
  return convolution_of(ConvolutionKind::kWeightGradient, x, grad, window_of(p, w[1], w[2]));
}

Described describe(const Function& f, NodeId call) {
  const std::string_view op = f.op(call)->name;
  if (op == kForward) return describe_forward(f, call);
  return op == kTransposed ? describe_transposed(f, call) : describe_weight_gradient(f, call);
}

bool sees_one_element(const Convolution& c) {
  const bool is_plain = std::all_of(c.window.begin(), c.window.end(), [](const ops::WindowAxis& a) {
    return a.size == 1 && a.stride == 1 && a.pad_begin == 0 && a.pad_end == 0;
  });
  return is_plain && c.height == c.out_height && c.width == c.out_width;
}

// The product's sizes; `y` is the call's shape.
void set_sizes(const Convolution& c, const Shape& y, Gemm& g) {
  const Dim elements = c.window[0].size * c.window[1].size;
  if (c.kind == ConvolutionKind::kWeightGradient) {
    g.m = c.out_channels;
    g.n = elements * Dim(c.channels);
    g.k = c.batch * Dim(c.out_height * c.out_width);
    g.a_is_column_major = g.b_is_row_major = true;
    return;
  }
  const bool is_forward = c.kind == ConvolutionKind::kForward;
  const auto rows_begin = y.begin() + static_cast<std::ptrdiff_t>(g.batch_rank);
  g.batch = num_elements({y.begin(), rows_begin});
  g.m = num_elements({rows_begin, y.end() - 1});
  g.n = is_forward ? c.out_channels : c.channels;
  g.k = elements * Dim(is_forward ? c.channels : c.out_channels);
  g.b_is_row_major = !is_forward;
  g.b_repeats = g.batch != Dim(1);
}

}  // namespace

bool Convolution::is_strided() const {
  return kind == ConvolutionKind::kTransposed &&
         std::any_of(window.begin(), window.end(),
                     [](const ops::WindowAxis& a) { return a.stride != 1; });
}

std::int64_t Convolution::made_channels() const {
  return kind == ConvolutionKind::kTransposed ? channels : out_channels;
}

std::string Convolution::text() const {
  const ops::WindowAxis &r = window[0], &s = window[1];
  std::string image = fmt::format("{}x{}x{}x{}", to_string(batch), height, width, channels);
  if (kind == ConvolutionKind::kTransposed) {  // what the data do not say is the result's size
    image = fmt::format("{}x{}x{}x{} to {}x{}", to_string(batch), out_height, out_width,
                        out_channels, height, width);
  }
  return fmt::format("{} by {}x{} strides {}x{} dilation {}x{} padding {},{},{},{}", image, r.size,
                     s.size, r.stride, s.stride, r.dilation, s.dilation, r.pad_begin, s.pad_begin,
                     r.pad_end, s.pad_end);
}

bool is_convolution(std::string_view op) {
  return op == kForward || op == kTransposed || op == kWeightGradient;
}

std::optional<Refusal> describe_convolution(const Function& f, NodeId call, Gemm& g) {
  auto c = describe(f, call);
  if (!c) return c.error();
  g.a = f.operands(call)[0];
  g.b = f.operands(call)[1];
  set_sizes(*c, f.type(call).shape(), g);
  const bool has_batch =
      c->kind == ConvolutionKind::kWeightGradient ? g.batch_rank > 0 : g.b_repeats;
  const bool is_product = sees_one_element(*c);
  if (has_batch && (!is_product || c->kind == ConvolutionKind::kWeightGradient)) {
    return Refusal{"the kernels for windows know no batch"};
  }
  if (!is_product) g.convolution = *std::move(c);
  return std::nullopt;
}

bool suits_iterators(const Convolution& c) {
  if (c.kind == ConvolutionKind::kWeightGradient) return true;
  return std::all_of(c.window.begin(), c.window.end(), [](const ops::WindowAxis& a) {
    return a.size <= 32 && a.pad_begin >= 0 && a.pad_end >= 0;
  });
}

bool suits_im2col(const Convolution& c) {
  if (c.kind != ConvolutionKind::kForward) return false;
  return std::all_of(c.window.begin(), c.window.end(), [](const ops::WindowAxis& a) {
    const std::int64_t offset = (a.size - 1) * a.dilation, corner = a.pad_end - offset;
    return a.stride <= 8 && offset < 255 && a.pad_begin >= 0 && a.pad_begin <= 128 &&
           a.pad_end >= 0 && corner >= -128 && corner <= 127;
  });
}

}  // namespace tessera::backends::cutlass
