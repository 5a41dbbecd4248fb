// SPDX-License-Identifier: Apache-2.0
// A transposed convolution of stride s gives s results for each place of the data, and each of them
// is a convolution with every s-th element of the kernel: one convolution with s times the
// channels, whose results are put side by side.
#include "ops/attrs/conv.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "passes/pass.h"
#include "relay/rewrite.h"

namespace tessera::passes {
namespace {

using relay::Copier;
using relay::Function;
using relay::NodeId;
using Ints = std::vector<std::int64_t>;

constexpr std::int64_t kFewChannels = 16;  // below it oneDNN's transposed convolutions are slow

struct TransposedConvOptions {
  bool all = false;  // those that back ends are fast with, too
  static constexpr auto fields = std::tuple{relay::attr("all", &TransposedConvOptions::all)};
};

// One spatial dimension, with the weight's elements k = taps * stride, the last ones zeros.
struct Axis {
  std::int64_t kernel, stride, dilation;
  std::int64_t taps, pad_begin, pad_end;  // of the convolution
  std::int64_t skipped, cut;              // of what it gives, side by side, before and after
};

struct Transposed {
  std::int64_t inputs, outputs, groups;  // channels of all groups
  std::vector<Axis> axes;
};

std::optional<Axis> axis_of(const ops::ConvAttrs& p, std::size_t s, std::int64_t kernel) {
  const std::int64_t stride = p.strides[s], dilation = p.dilation[s];
  const bool both = p.padding.size() == p.strides.size();
  const std::int64_t before = p.padding[s], after = p.padding[both ? s : s + p.strides.size()];
  const std::int64_t last = (kernel - 1) * dilation + p.output_padding[s] - after;
  if ((stride > 1 && dilation > 1) || last < 0) return std::nullopt;
  Axis a{kernel, stride,        dilation,        (kernel + stride - 1) / stride,
         0,      last / stride, before % stride, 0};
  a.pad_begin = (a.taps - 1) * dilation - before / stride;
  a.cut = (a.pad_end + 1) * stride - (last + 1);
  return a.pad_begin < 0 ? std::nullopt : std::optional(a);
}

// The size of what is cut out, as strided_slice has it: one that is open may take another form, in
// which nobody knows it again.
Dim cut_size(const Axis& a, const Dim& data) {
  const Dim places = data + Dim(a.pad_begin + a.pad_end - (a.taps - 1) * a.dilation);
  const Dim all = places * Dim(a.stride);
  return max(max(all - Dim(a.cut), Dim(0)) - min(Dim(a.skipped), all), Dim(0));
}

template <class Attrs>
std::optional<Transposed> transposed_of(const Function& f, NodeId conv, bool all) {
  const auto p = relay::read_attrs<Attrs>(f.as<relay::OpCall>(conv)->attrs);
  const std::size_t n = p.strides.size();
  const NodeId weight = f.operands(conv)[1];
  const auto w = constant_shape(f.type(weight).shape());
  const bool is_plain =
      p.data_layout == Attrs().data_layout && p.kernel_layout == Attrs().kernel_layout &&
      (p.out_layout.empty() || p.out_layout == p.data_layout) && f.type(conv).dtype() == kFloat32 &&
      f.type(weight).dtype() == kFloat32 && p.groups > 0 && p.dilation.size() == n &&
      p.output_padding.size() == n && (p.padding.size() == n || p.padding.size() == 2 * n);
  if (!is_plain || f.as<relay::Constant>(weight) == nullptr || !w) return std::nullopt;
  Transposed t{(*w)[0], (*w)[1] * p.groups, p.groups, {}};
  bool has_strides = false;
  for (std::size_t s = 0; s < n; ++s) {
    const auto a = (*w)[2 + s] > 0 ? axis_of(p, s, (*w)[2 + s]) : std::nullopt;
    if (!a) return std::nullopt;
    const Dim found = cut_size(*a, f.type(f.operands(conv)[0]).shape()[2 + s]);
    if (found != f.type(conv).shape()[2 + s] || found.is_unknown()) return std::nullopt;
    has_strides |= a->stride > 1;
    t.axes.push_back(*a);
  }
  if (t.inputs < 1 || t.outputs < 1) return std::nullopt;
  const bool is_narrow = std::min(t.inputs, t.outputs) / t.groups < kFewChannels;
  return all || is_narrow || !has_strides ? std::optional(std::move(t)) : std::nullopt;
}

class Rewriter {
 public:
  Rewriter(Copier& c, const relay::OperatorTable& operators, const Transposed& t)
      : c_(c), operators_(operators), t_(t), n_(static_cast<std::int64_t>(t.axes.size())) {
    for (const Axis& a : t.axes) has_strides_ |= a.stride > 1;
  }

  NodeId run(NodeId data, NodeId weight) const {
    Ints padding, ends, dilation, kernel;
    std::int64_t channels = t_.outputs;
    for (const Axis& a : t_.axes) {
      padding.push_back(a.pad_begin);
      ends.push_back(a.pad_end);
      dilation.push_back(a.dilation);
      kernel.push_back(a.taps);
      channels *= a.stride;
    }
    padding.insert(padding.end(), ends.begin(), ends.end());
    const NodeId y = call(fmt::format("nn.conv{}d", n_), {data, rearranged(weight)},
                          {{"strides", Ints(t_.axes.size(), 1)},
                           {"padding", padding},
                           {"dilation", dilation},
                           {"groups", t_.groups},
                           {"channels", channels},
                           {"kernel_size", kernel}});
    return has_strides_ ? cut(side_by_side(y)) : y;
  }

 private:
  NodeId call(std::string_view op, const std::vector<NodeId>& operands, relay::Attrs attrs) const {
    return c_.builder().call(*operators_.find(op), operands, std::move(attrs));
  }

  // (inputs, outputs / groups, kernel...) as (outputs * strides, inputs / groups, taps...).
  NodeId rearranged(NodeId w) const {
    std::vector<Ints> pads(2, Ints{0, 0});
    Ints parts{t_.groups, t_.inputs / t_.groups, t_.outputs / t_.groups};
    Ints order{0, 2}, behind{1}, shape{t_.outputs, t_.inputs / t_.groups};
    bool is_padded = false;
    for (const Axis& a : t_.axes) {
      pads.push_back({0, a.taps * a.stride - a.kernel});
      is_padded |= pads.back()[1] > 0;
      order.push_back(static_cast<std::int64_t>(parts.size()) + 1);
      behind.push_back(static_cast<std::int64_t>(parts.size()));
      parts.insert(parts.end(), {a.taps, a.stride});
      shape[0] *= a.stride;
      shape.push_back(a.taps);
    }
    order.insert(order.end(), behind.begin(), behind.end());
    if (is_padded) {
      relay::AttrArray widths;
      for (const Ints& p : pads) widths.emplace_back(relay::AttrArray{p[0], p[1]});
      w = call("nn.pad", {w, scalar()}, {{"pad_width", widths}});
    }
    w = call("reshape", {w}, {{"newshape", parts}});
    for (std::int64_t s = 0; s < n_; ++s) w = call("reverse", {w}, {{"axis", 3 + 2 * s}});
    w = call("transpose", {w}, {{"axes", order}});
    return call("reshape", {w}, {{"newshape", shape}});
  }

  NodeId scalar() const {
    return c_.builder().constant(tensor_from_doubles({}, kFloat32, std::vector{0.0}));
  }

  // (batch, outputs * strides, places...) as (batch, outputs, places * stride...), by reshape's
  // codes.
  NodeId side_by_side(NodeId y) const {
    constexpr std::int64_t kRest = -2, kMerged = -3, kSplit = -4;
    std::int64_t strides = 1;
    for (const Axis& a : t_.axes) strides *= a.stride;
    y = call("reshape", {y}, {{"newshape", Ints{0, kSplit, t_.outputs, strides, kRest}}});
    Ints order{0, 1}, merged{0, 0};
    for (std::int64_t s = 0; s < n_; ++s) {
      const std::int64_t stride = t_.axes[static_cast<std::size_t>(s)].stride;
      strides /= stride;
      if (s + 1 < n_) {
        Ints split(static_cast<std::size_t>(2 + s), 0);
        split.insert(split.end(), {kSplit, stride, strides, kRest});
        y = call("reshape", {y}, {{"newshape", split}});
      }
      order.insert(order.end(), {2 + n_ + s, 2 + s});
      merged.push_back(kMerged);
    }
    y = call("transpose", {y}, {{"axes", order}});
    return call("reshape", {y}, {{"newshape", merged}});
  }

  NodeId cut(NodeId y) const {
    Ints begin, end, axes;
    bool is_whole = true;
    for (std::int64_t s = 0; s < n_; ++s) {
      const Axis& a = t_.axes[static_cast<std::size_t>(s)];
      begin.push_back(a.skipped);
      end.push_back(a.cut > 0 ? -a.cut : std::numeric_limits<std::int64_t>::max());
      axes.push_back(2 + s);
      is_whole &= a.skipped == 0 && a.cut == 0;
    }
    if (is_whole) return y;
    return call(
        "strided_slice", {y},
        {{"begin", begin}, {"end", end}, {"strides", Ints(axes.size(), 1)}, {"axes", axes}});
  }

  Copier& c_;
  const relay::OperatorTable& operators_;
  const Transposed& t_;
  std::int64_t n_;
  bool has_strides_ = false;
};

std::optional<Transposed> transposed_of(const Function& f, NodeId id, bool all) {
  if (f.op(id) == nullptr) return std::nullopt;
  const std::string_view op = f.op(id)->name;
  if (op == "nn.conv1d_transpose") return transposed_of<ops::Conv1DTransposeAttrs>(f, id, all);
  if (op == "nn.conv2d_transpose") return transposed_of<ops::Conv2DTransposeAttrs>(f, id, all);
  if (op == "nn.conv3d_transpose") return transposed_of<ops::Conv3DTransposeAttrs>(f, id, all);
  return std::nullopt;
}

Result<Module> run_convert_transposed_conv(Module module, PassContext& context) {
  const bool all = relay::read_attrs<TransposedConvOptions>(context.options).all;
  return map_optimizable(std::move(module), [&](const Function& f, const ConstantPool&) {
    return relay::rewrite(f, [&](Copier& c, NodeId id) -> std::optional<NodeId> {
      const auto t = transposed_of(f, id, all);
      if (!t) return std::nullopt;
      return Rewriter(c, context.operators, *t)
          .run(c.map(f.operands(id)[0]), c.map(f.operands(id)[1]));
    });
  });
}

}  // namespace

extern const Pass convert_transposed_conv;
const Pass convert_transposed_conv{
    .name = "convert-transposed-conv",
    .summary = "makes convolutions of transposed ones with few channels, or without strides",
    .options = relay::attr_schema<TransposedConvOptions>,
    .run = run_convert_transposed_conv,
};

}  // namespace tessera::passes
