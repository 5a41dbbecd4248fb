// SPDX-License-Identifier: Apache-2.0
#include "ops/attrs/conv.h"

#include <algorithm>
#include <map>

#include "ops/attrs/elementwise.h"
#include "passes/pass.h"
#include "relay/rewrite.h"

namespace tessera::passes {
namespace {

using relay::Copier;
using relay::Function;
using relay::NodeId;
using Ints = std::vector<std::int64_t>;

// x[batch, channels, down * height, across * width] in windows of height x width that do not
// overlap and leave nothing out.
struct Patches {
  std::int64_t batch, channels, down, across, height, width, outputs;
};

std::optional<Patches> patches_of(const Function& f, NodeId conv) {
  const auto attrs = relay::read_attrs<ops::Conv2DAttrs>(f.as<relay::OpCall>(conv)->attrs);
  const auto data = constant_shape(f.type(f.operands(conv)[0]).shape());
  const auto weight = constant_shape(f.type(f.operands(conv)[1]).shape());
  const auto all = [](const Ints& list, std::int64_t value) {
    return std::all_of(list.begin(), list.end(), [&](std::int64_t v) { return v == value; });
  };
  const bool is_plain = attrs.data_layout == "NCHW" && attrs.kernel_layout == "OIHW" &&
                        (attrs.out_layout.empty() || attrs.out_layout == "NCHW") &&
                        attrs.groups == 1 && all(attrs.padding, 0) && all(attrs.dilation, 1) &&
                        f.type(conv).dtype() == f.type(f.operands(conv)[0]).dtype();
  if (!is_plain || !data || !weight || attrs.strides.size() != 2) return std::nullopt;
  const std::int64_t height = (*weight)[2], width = (*weight)[3];
  const bool is_cut = height * width > 1 && attrs.strides == Ints{height, width} &&
                      (*data)[2] % height == 0 && (*data)[3] % width == 0;
  if (!is_cut) return std::nullopt;
  return Patches{(*data)[0], (*data)[1], (*data)[2] / height, (*data)[3] / width,
                 height,     width,      (*weight)[0]};
}

class PatchConverter {
 public:
  PatchConverter(const Function& f, const relay::OperatorTable& operators)
      : f_(f), operators_(operators) {}

  Function run() {
    return relay::rewrite(f_, [&](Copier& c, NodeId id) { return visit(c, id); });
  }

 private:
  // The same values with channels last.
  struct Rows {
    NodeId node;  // [batch, down * across, outputs], of the new function
    Patches patches;
  };

  std::optional<NodeId> visit(Copier& c, NodeId id) {
    if (f_.op(id) == nullptr || f_[id].region != Function::kBody) return std::nullopt;
    if (f_.op(id)->name == "nn.conv2d") {
      const auto patches = patches_of(f_, id);
      return patches ? std::optional(define(c, id, {product(c, id, *patches), *patches}))
                     : std::nullopt;
    }
    if (f_.op(id)->name != "add" && f_.op(id)->name != "nn.bias_add") return std::nullopt;
    const NodeId a = f_.operands(id)[0], b = f_.operands(id)[1];
    const auto found = rows_.find(rows_.contains(a) ? a : b);
    if (found == rows_.end()) return std::nullopt;
    const Rows rows = found->second;
    const NodeId bias = rows_.contains(a) ? b : a;
    const bool is_along_channels =
        f_.op(id)->name == "nn.bias_add"
            ? relay::read_attrs<ops::BiasAddAttrs>(f_.as<relay::OpCall>(id)->attrs).axis == 1
            : is_of_channels(bias, rows.patches.outputs);
    if (!is_along_channels) return std::nullopt;
    const NodeId vector = call(c, "reshape", {c.map(bias)}, {{"newshape", Ints{-1}}});
    return define(c, id, {call(c, "add", {rows.node, vector}), rows.patches});
  }

  bool is_of_channels(NodeId bias, std::int64_t outputs) const {
    Shape shape = f_.type(bias).shape();
    if (shape.size() == 4 && shape[0] == Dim(1)) shape.erase(shape.begin());
    return shape == Shape{Dim(outputs), Dim(1), Dim(1)};
  }

  NodeId call(Copier& c, std::string_view op, std::initializer_list<NodeId> operands,
              relay::Attrs attrs = {}) const {
    return c.builder().call(*operators_.find(op), operands, std::move(attrs));
  }

  NodeId product(Copier& c, NodeId conv, const Patches& p) const {
    const NodeId cut =
        call(c, "reshape", {c.map(f_.operands(conv)[0])},
             {{"newshape", Ints{p.batch, p.channels, p.down, p.height, p.across, p.width}}});
    const NodeId in_order = call(c, "transpose", {cut}, {{"axes", Ints{0, 2, 4, 1, 3, 5}}});
    const std::int64_t terms = p.channels * p.height * p.width;
    const NodeId rows =
        call(c, "reshape", {in_order}, {{"newshape", Ints{p.batch, p.down * p.across, terms}}});
    const NodeId weight =
        call(c, "reshape", {c.map(f_.operands(conv)[1])}, {{"newshape", Ints{p.outputs, terms}}});
    return call(c, "nn.dense", {rows, weight}, {{"units", p.outputs}});
  }

  // Remembers the rows, and makes of them what the old node was.
  NodeId define(Copier& c, NodeId old, const Rows& rows) {
    rows_.emplace(old, rows);
    const Patches& p = rows.patches;
    const NodeId first = call(c, "transpose", {rows.node}, {{"axes", Ints{0, 2, 1}}});
    return call(c, "reshape", {first}, {{"newshape", Ints{p.batch, p.outputs, p.down, p.across}}});
  }

  const Function& f_;
  const relay::OperatorTable& operators_;
  std::map<NodeId, Rows> rows_;  // by old nodes
};

Result<Module> run_convert_patch_conv(Module module, PassContext& context) {
  return map_optimizable(std::move(module), [&](const Function& f, const ConstantPool&) {
    return PatchConverter(f, context.operators).run();
  });
}

}  // namespace

extern const Pass convert_patch_conv;
const Pass convert_patch_conv{
    .name = "convert-patch-conv",
    .summary = "makes matrix products of convolutions whose windows do not overlap",
    .run = run_convert_patch_conv,
};

}  // namespace tessera::passes
