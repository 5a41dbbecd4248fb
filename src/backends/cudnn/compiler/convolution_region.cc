// SPDX-License-Identifier: Apache-2.0
// A convolution as cuDNN's operations, as a record's text, and by the plain definition.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/cudnn/compiler/convolution.h"

namespace tessera::backends::cudnn {
namespace {

using Ints = std::vector<std::int64_t>;
using Attributes = Operation::Attributes;

std::string sizes_of(const Convolution& c) {
  return fmt::format("{} by {} strides {}x{}", fmt::join(c.operands[0].view.dims, "x"),
                     fmt::join(c.operands[1].view.dims, "x"), c.window[0].stride,
                     c.window[1].stride);
}

std::string workload_of(const Convolution& c) {
  std::string text =
      fmt::format("convolution {}{} {} by {} to {}", to_string(c.dtype),
                  c.tf32 && c.dtype == kFloat32 ? " tf32" : "", text_of(c.operands[0].view),
                  text_of(c.operands[1].view), text_of(c.result));
  for (const ops::WindowAxis& a : c.window) {
    text += fmt::format(" stride {} dilation {} padding {},{}", a.stride, a.dilation, a.pad_begin,
                        a.pad_end);
  }
  if (c.runtime_engines) text += " runtime engines";
  for (const Step& step : c.steps) {
    text += " " + step.mode;
    for (const auto& [name, value] : step.numbers) text += fmt::format(" {}={}", name, value);
    if (step.operand) {
      text += fmt::format(" {}:{}", *step.operand, text_of(c.operands[*step.operand].view));
    }
  }
  return text;
}

// ---- Operations

std::vector<std::string> of_window(const ops::Window& window,
                                   std::int64_t ops::WindowAxis::*member) {
  std::vector<std::string> out;
  for (const ops::WindowAxis& axis : window) out.push_back(std::to_string(axis.*member));
  return out;
}

Attributes attributes_of(const ops::Window& window) {
  return {{"padding_begin", of_window(window, &ops::WindowAxis::pad_begin)},
          {"padding_end", of_window(window, &ops::WindowAxis::pad_end)},
          {"strides", of_window(window, &ops::WindowAxis::stride)},
          {"dilation", of_window(window, &ops::WindowAxis::dilation)}};
}

Attributes attributes_of(const Step& step) {
  Attributes out = {{"mode", {step.mode}}};
  for (const auto& [name, value] : step.numbers) out[name] = {fmt::format("{}", value)};
  return out;
}

// What is in between is float32.
void add_operations(const Convolution& c, Region& region) {
  const auto dtype_after = [&](std::size_t steps) {
    return steps == c.steps.size() ? c.dtype : kFloat32;
  };
  std::size_t last =
      region.add({"convolution", {0, 1}, attributes_of(c.window), c.result, dtype_after(0)});
  for (std::size_t i = 0; i < c.steps.size(); ++i) {
    std::vector<std::size_t> inputs = {last};
    if (c.steps[i].operand) inputs.push_back(*c.steps[i].operand);
    last = region.add(
        {"pointwise", std::move(inputs), attributes_of(c.steps[i]), c.result, dtype_after(i + 1)});
  }
}

// ---- The plain definition

double number_of(const Step& step, const std::string& name, double otherwise) {
  const auto at = step.numbers.find(name);
  return at == step.numbers.end() ? otherwise : at->second;
}

// The step's result for one element.
double computed(const Step& step, double x, double operand) {
  if (step.mode == "add") return x + operand;
  if (step.mode == "mul") return x * operand;
  if (step.mode == "sigmoid") return 1 / (1 + std::exp(-x));
  if (step.mode == "swish") return x / (1 + std::exp(-x));
  if (step.mode == "tanh") return std::tanh(x);
  if (step.mode == "gelu") return x / 2 * (1 + std::erf(x * M_SQRT1_2));
  if (step.mode == "elu") return x < 0 ? number_of(step, "alpha", 1) * std::expm1(x) : x;
  const double low = number_of(step, "lower_clip", 0), slope = number_of(step, "slope", 0);
  if (x < low) return low + slope * (x - low);
  return std::min(x, number_of(step, "upper_clip", x));
}

// What the window at that place of the result sees, times the weights.
double sum(const Convolution& c, const Region::Read& read, const Ints& at) {
  const View &x = c.operands[0].view, &w = c.operands[1].view;
  const std::int64_t channels = w.dims[1], groups = x.dims[1] / channels;
  const std::int64_t first = at[1] / (w.dims[0] / groups) * channels;
  double total = 0;
  for (std::int64_t r = 0; r < w.dims[2]; ++r) {
    const std::int64_t i =
        at[2] * c.window[0].stride - c.window[0].pad_begin + r * c.window[0].dilation;
    for (std::int64_t s = 0; s < w.dims[3]; ++s) {
      const std::int64_t j =
          at[3] * c.window[1].stride - c.window[1].pad_begin + s * c.window[1].dilation;
      if (i < 0 || i >= x.dims[2] || j < 0 || j >= x.dims[3]) continue;
      const std::int64_t image = at[0] * x.strides[0] + i * x.strides[2] + j * x.strides[3];
      const std::int64_t kernel = at[1] * w.strides[0] + r * w.strides[2] + s * w.strides[3];
      for (std::int64_t k = 0; k < channels; ++k) {
        total += read(0, image + (first + k) * x.strides[1]) * read(1, kernel + k * w.strides[1]);
      }
    }
  }
  return total;
}

double element(const Convolution& c, const Region::Read& read, const Ints& at) {
  double value = sum(c, read, at);
  for (const Step& step : c.steps) {
    const std::size_t i = step.operand.value_or(0);
    const double other = step.operand ? read(i, place(c.operands[i].view, at)) : 0;
    value = computed(step, value, other);
  }
  return value;
}

}  // namespace

Region region_of(const Convolution& c) {
  Region region;
  region.operands = c.operands;
  region.dtype = c.dtype;
  region.tf32 = c.tf32;
  region.runtime_engines = c.runtime_engines;
  region.sizes = sizes_of(c);
  region.workload = workload_of(c);
  add_operations(c, region);
  region.reference = [c](const Region::Read& read, const Ints& at) { return element(c, read, at); };
  const View& w = c.operands[1].view;
  const double products = static_cast<double>(count_of(w)) / static_cast<double>(w.dims[0]);
  region.scales.assign(c.operands.size(), 0.5);
  region.scales[0] = 1;
  region.scales[1] = 1 / std::sqrt(products);
  return region;
}

}  // namespace tessera::backends::cudnn
