// SPDX-License-Identifier: Apache-2.0
// What cuDNN can run: softmax and convolutions.
#include "backends/cudnn/patterns.h"

#include <fmt/format.h>

#include "ops/attrs/conv.h"
#include "ops/attrs/norm.h"

namespace tessera::backends::cudnn {
namespace {

using relay::Function;
using relay::is_op;
using relay::Match;
using relay::Pattern;
using relay::Refusal;
using relay::wildcard;
using Why = std::optional<Refusal>;

Why check_dtype(const Type& type) {
  const DType t = type.dtype();
  if (t == kFloat16 || t == kFloat32 || t == kFloat64) return std::nullopt;
  return Refusal{fmt::format("{} is not a floating-point type of cuDNN", to_string(t))};
}

Why check_data(const Match& m, const Target&) {
  return check_dtype(m.function->type(m.function->operands(m.root)[0]));
}

Why check_log_softmax(const Match& m, const Target& target) {
  if (Why why = check_data(m, target)) return why;
  const Function& f = *m.function;
  const std::size_t rank = f.type(f.operands(m.root)[0]).rank();
  if (rank != 2) return Refusal{fmt::format("the rank is {}, not 2", rank)};
  const auto attrs = relay::read_attrs<ops::SoftmaxAttrs>(f.as<relay::OpCall>(m.root)->attrs);
  if (attrs.axis == 1 || attrs.axis == -1) return std::nullopt;
  return Refusal{fmt::format("the axis is {}, not the last one", attrs.axis)};
}

Why check_conv2d(const Match& m, const Target& target) {
  if (Why why = check_data(m, target)) return why;
  const auto attrs =
      relay::read_attrs<ops::Conv2DAttrs>(m.function->as<relay::OpCall>(m.root)->attrs);
  if (attrs.data_layout != "NCHW" || attrs.kernel_layout != "OIHW") {
    return Refusal{fmt::format("the layouts are {} and {}, not NCHW and OIHW", attrs.data_layout,
                               attrs.kernel_layout)};
  }
  const auto& p = attrs.padding;  // begins, then ends, where there are four
  if (p.size() == 4 && (p[0] != p[2] || p[1] != p[3])) {
    return Refusal{"the padding differs between the two sides"};
  }
  return std::nullopt;
}

Why check_conv2d_bias_act(const Match& m, const Target&) {
  return check_dtype(m.function->type(m.function->operands(m.find("conv"))[0]));
}

}  // namespace

std::vector<relay::CompositePattern> patterns() {
  const auto convolution = [] { return is_op("nn.conv2d", {wildcard(), wildcard()}, "conv"); };
  const Pattern biased = is_op("nn.bias_add", {convolution(), wildcard()});
  const Pattern activated = biased.optional([](const Pattern& x) { return is_op("nn.relu", {x}); });
  return {{"cudnn.softmax", is_op("nn.softmax", {wildcard()}), check_data},
          {"cudnn.log_softmax", is_op("nn.log_softmax", {wildcard()}), check_log_softmax},
          {"cudnn.conv2d_bias_act", activated, check_conv2d_bias_act},
          {"cudnn.conv2d", convolution(), check_conv2d}};
}

}  // namespace tessera::backends::cudnn
