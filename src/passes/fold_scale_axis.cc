// SPDX-License-Identifier: Apache-2.0
// A constant factor for each channel before or after a convolution moves into its weight:
//   conv(relu(x * s + b), w)  =  conv(relu(x + b / s), w * s)       over w's input channels, s > 0
//   relu(conv(x, w) + b) * s  =  relu(conv(x, w * s) + b * s)       over w's output channels, s > 0
// Between the two may stand additions of a value for each channel, other such factors, and nn.relu.
#include <algorithm>
#include <cmath>
#include <map>

#include "ops/records/convolution.h"
#include "ops/records/table.h"
#include "passes/pass.h"
#include "passes/regions.h"
#include "relay/function_attributes.h"
#include "relay/rewrite.h"

namespace tessera::passes {
namespace {

using relay::Copier;
using relay::is_call_of;
using relay::NodeId;

std::optional<ops::ConvAttrs> conv_attrs(const relay::OpCall& call) {
  if (call.op->name == "nn.conv1d") return relay::read_attrs<ops::Conv1DAttrs>(call.attrs);
  if (call.op->name == "nn.conv2d") return relay::read_attrs<ops::Conv2DAttrs>(call.attrs);
  if (call.op->name == "nn.conv3d") return relay::read_attrs<ops::Conv3DAttrs>(call.attrs);
  return std::nullopt;
}

// Where a factor goes: the convolution and the dimensions of data and weight that it multiplies.
struct Destination {
  NodeId conv;
  std::size_t data_axis = 0, weight_axis = 0;
};
struct Factor {
  Tensor value;
  Destination to;
};
enum class Change : std::uint8_t { kMultiply, kDivide };
// An addition on the way: its other operand is multiplied or divided by the factor.
struct BiasChange {
  std::size_t factor;
  Change change;
};

class ScaleFolder {
 public:
  ScaleFolder(const relay::Function& f, const ConstantPool& pool)
      : f_(f), pool_(pool), live_(relay::live_nodes(f)), uses_(f), closed_(closed_bodies(f)) {
    for (std::size_t i = 0; i < f.num_nodes(); ++i) {
      if (live_[i] && !closed_[f[NodeId(i)].region.index()]) consider(NodeId(i));
    }
  }

  relay::Function run() {
    if (factors_.empty()) return f_;
    return relay::rewrite(f_, [&](Copier& c, NodeId id) { return replace(c, id); });
  }

 private:
  // ---- Which factors move where

  void consider(NodeId id) {
    const auto factor = factor_of(id);
    if (!factor) return;
    const NodeId data = f_.operands(id)[1 - *factor];
    const Tensor value = pool_.resolve(f_.as<relay::Constant>(f_.operands(id)[*factor])->value);
    if (!(move(id, data, value, Change::kMultiply) || move(id, data, value, Change::kDivide)))
      return;
    moved_[id] = data;
  }

  // Which operand of a multiplication is a constant factor that leaves the type of the other alone.
  std::optional<std::size_t> factor_of(NodeId id) const {
    if (!is_call_of(f_, id, "multiply") || !f_.type(id).dtype().is_float()) return std::nullopt;
    for (const std::size_t i : {1, 0}) {
      const NodeId operand = f_.operands(id)[i];
      if (f_.as<relay::Constant>(operand) != nullptr &&
          f_.type(f_.operands(id)[1 - i]) == f_.type(id)) {
        return i;
      }
    }
    return std::nullopt;
  }

  // Looks for the convolution: upwards from the data for kMultiply, downwards else.
  bool move(NodeId start, NodeId data, const Tensor& value, Change change) {
    const bool up = change == Change::kMultiply;
    std::vector<NodeId> additions;
    bool has_relu = false;
    std::optional<NodeId> at = up ? only_used(data) : only_user(start);
    NodeId from = start;
    for (; at && !is_conv(*at); at = up ? only_used(passed_operand(*at)) : only_user(*at)) {
      if (f_[*at].region != f_[start].region) return false;
      if (!passes(*at, up ? NodeId() : from, additions, has_relu)) return false;
      from = *at;
    }
    if (!at || f_[*at].region != f_[start].region) return false;
    if (!up && f_.operands(*at)[0] != from) return false;
    const auto to = destination(*at, up);
    return to && accept({value, *to}, additions, has_relu, change);
  }

  // Can a factor go past the node? `from`: the operand that it comes from, if it goes down.
  bool passes(NodeId id, NodeId from, std::vector<NodeId>& additions, bool& has_relu) const {
    if (is_call_of(f_, id, "nn.relu")) return has_relu = true;
    const bool adds = is_call_of(f_, id, "add") || is_call_of(f_, id, "nn.bias_add");
    if (!adds && !factor_of(id)) return false;
    if (adds) additions.push_back(id);
    const NodeId data = passed_operand(id);
    return data && f_.type(data) == f_.type(id) && (!from || data == from);
  }

  // The operand of an addition, factor or relu that has all the channels: the other is a value for
  // each.
  NodeId passed_operand(NodeId id) const {
    const auto operands = f_.operands(id);
    if (operands.size() == 1 || is_call_of(f_, id, "nn.bias_add")) return operands[0];
    if (const auto factor = factor_of(id)) return operands[1 - *factor];
    for (const std::size_t i : {0, 1}) {
      const bool small = f_.as<relay::Constant>(operands[1 - i]) != nullptr ||
                         elements(operands[1 - i]) < elements(id);
      if (f_.type(operands[i]) == f_.type(id) && small) return operands[i];
    }
    return {};
  }

  std::optional<Destination> destination(NodeId conv, bool output) const {
    const auto& call = *f_.as<relay::OpCall>(conv);
    const ops::ConvAttrs p = *conv_attrs(call);
    const std::size_t n = p.strides.size();
    const auto data = ops::known_places(output ? ops::result_layout(p) : p.data_layout, "NC", n);
    const auto weight = ops::known_places(p.kernel_layout, "OI", n);
    if (output) return Destination{conv, data.second, weight.first};
    if (p.groups == 1) return Destination{conv, data.second, weight.second};
    // One input and one output channel a group: the weight's outputs are the inputs.
    const Type &x = f_.type(f_.operands(conv)[0]), &w = f_.type(f_.operands(conv)[1]);
    const Dim groups(p.groups);
    const bool depthwise = x.shape()[data.second] == groups && w.shape()[weight.first] == groups;
    return depthwise ? std::optional(Destination{conv, data.second, weight.first}) : std::nullopt;
  }

  bool accept(Factor factor, const std::vector<NodeId>& additions, bool has_relu, Change change) {
    const NodeId conv = factor.to.conv;
    const std::size_t rank = f_.type(conv).rank();
    if (!(f_.type(f_.operands(conv)[1]).dtype() == factor.value.dtype)) return false;
    if (!is_per_channel(factor.value.shape, rank, factor.to.data_axis)) return false;
    for (std::int64_t i = 0; i < factor.value.num_elements(); ++i) {
      const double s = element_as_double(factor.value, i);
      if (!std::isfinite(s) || (has_relu && s <= 0)) return false;
      if (change == Change::kDivide && !additions.empty() && s == 0) return false;
    }
    for (const NodeId add : additions) {
      if (!has_channel_bias(add, factor.to.data_axis)) return false;
    }
    for (const NodeId add : additions) bias_changes_[add].push_back({factors_.size(), change});
    by_conv_[conv].push_back(factors_.size());
    factors_.push_back(std::move(factor));
    return true;
  }

  bool has_channel_bias(NodeId add, std::size_t axis) const {
    const std::size_t rank = f_.type(add).rank();
    if (is_call_of(f_, add, "nn.bias_add")) {
      const relay::AttrValue* given = f_.as<relay::OpCall>(add)->attrs.find("axis");
      const std::int64_t at = given == nullptr ? 1 : *given->as<std::int64_t>();
      return static_cast<std::size_t>(at < 0 ? at + static_cast<std::int64_t>(rank) : at) == axis;
    }
    const auto shape = constant_shape(f_.type(bias_of(add)).shape());
    return shape && is_per_channel(*shape, rank, axis);
  }

  // Is every dimension 1 but that of the channels? Shapes are aligned at their ends.
  static bool is_per_channel(const std::vector<std::int64_t>& shape, std::size_t rank,
                             std::size_t axis) {
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] != 1 && rank - shape.size() + i != axis) return false;
    }
    return true;
  }

  // ---- The new function

  std::optional<NodeId> replace(Copier& c, NodeId id) {
    if (const auto moved = moved_.find(id); moved != moved_.end()) return c.map(moved->second);
    if (const auto at = by_conv_.find(id); at != by_conv_.end())
      return scaled_conv(c, id, at->second);
    if (const auto at = bias_changes_.find(id); at != bias_changes_.end()) {
      return changed_addition(c, id, at->second);
    }
    return std::nullopt;
  }

  NodeId scaled_conv(Copier& c, NodeId id, const std::vector<std::size_t>& factors) {
    NodeId weight = c.map(f_.operands(id)[1]);
    for (const std::size_t i : factors) {
      const Tensor& value = factors_[i].value;
      const std::size_t rank = f_.type(f_.operands(id)[1]).rank();
      // Broadcasting aligns shapes at their ends: none needs a 1 before the channels.
      std::vector<std::int64_t> shape(rank - factors_[i].to.weight_axis, 1);
      shape[0] = value.num_elements();
      const NodeId s = c.builder().constant(Tensor(shape, value.dtype, value.blob));
      weight = c.builder().call(ops::op("multiply"), {weight, s});
    }
    const NodeId operands[] = {c.map(f_.operands(id)[0]), weight};
    return c.copy(id, operands);
  }

  NodeId changed_addition(Copier& c, NodeId id, const std::vector<BiasChange>& changes) {
    const NodeId old = bias_of(id);
    NodeId bias = c.map(old);
    for (const auto& [i, change] : changes) {
      Tensor value = factors_[i].value;
      if (is_call_of(f_, id, "nn.bias_add")) value.shape = {value.num_elements()};
      const auto& op = ops::op(change == Change::kMultiply ? "multiply" : "divide");
      bias = c.builder().call(op, {bias, c.builder().constant(value)});
    }
    std::vector<NodeId> operands = c.operands(id);
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (f_.operands(id)[i] == old) operands[i] = bias;
    }
    return c.copy(id, operands);
  }

  // ---- Small questions

  bool is_conv(NodeId id) const {
    const auto* call = f_.as<relay::OpCall>(id);
    return call != nullptr && conv_attrs(*call).has_value();
  }
  NodeId bias_of(NodeId add) const {
    const auto operands = f_.operands(add);
    return operands[0] == passed_operand(add) ? operands[1] : operands[0];
  }
  double elements(NodeId id) const { return ops::element_count(f_.type(id)); }
  // The only user of a node, if it has no other and is no result.
  std::optional<NodeId> only_user(NodeId id) const {
    if (uses_.is_result(id)) return std::nullopt;
    std::optional<NodeId> only;
    for (const NodeId user : uses_.of(id)) {
      if (!live_[user.index()]) continue;
      if (only || f_.region(f_[id].region).result == id) return std::nullopt;
      only = user;
    }
    return only;
  }
  std::optional<NodeId> only_used(NodeId id) const {
    return id && only_user(id) ? std::optional(id) : std::nullopt;
  }

  const relay::Function& f_;
  const ConstantPool& pool_;
  const std::vector<bool> live_;
  const relay::Uses uses_;
  const std::vector<relay::RegionId> closed_;
  std::vector<Factor> factors_;
  std::map<NodeId, NodeId> moved_;  // multiplications that go, and what stands for them
  std::map<NodeId, std::vector<std::size_t>> by_conv_;
  std::map<NodeId, std::vector<BiasChange>> bias_changes_;
};

Result<Module> run_fold_scale_axis(Module module, PassContext&) {
  return map_optimizable(std::move(module), [](const relay::Function& f, const ConstantPool& pool) {
    return relay::is_primitive(f.attrs) ? f : ScaleFolder(f, pool).run();
  });
}

}  // namespace

extern const Pass fold_scale_axis;
const Pass fold_scale_axis{
    .name = "fold-scale-axis",
    .summary = "moves constant factors for each channel into the weights of convolutions",
    .run = run_fold_scale_axis,
};

}  // namespace tessera::passes
