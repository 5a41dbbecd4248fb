// SPDX-License-Identifier: Apache-2.0
#include "passes/layout_converter.h"

#include <algorithm>

#include "ops/attrs/reduce.h"
#include "ops/attrs/shape.h"
#include "ops/inference/infer.h"
#include "ops/records/convolution.h"
#include "ops/records/table.h"
#include "passes/regions.h"
#include "relay/traced_rewrite.h"

namespace tessera::passes {
namespace {

using relay::Copier;
using relay::NodeId;
using relay::OpPattern;

Permutation between(std::string_view from, std::string_view to) {
  Permutation p;
  for (const char c : to) p.push_back(static_cast<std::int64_t>(from.find(c)));
  return p;
}

std::vector<std::int64_t> full_axes(const relay::Attrs& attrs, std::size_t rank) {
  const auto p = relay::read_attrs<ops::ReduceAttrs>(attrs);
  const std::vector<bool> chosen = ops::accepted_axes(p.axis, p.exclude, rank);
  std::vector<std::int64_t> axes;
  for (std::size_t i = 0; i < rank; ++i) {
    if (chosen[i]) axes.push_back(static_cast<std::int64_t>(i));
  }
  return axes;
}

class LayoutConverter {
 public:
  LayoutConverter(const relay::Function& f, const ConstantPool& pool, const LayoutsOf& layouts_of)
      : f_(f), forms_(pool), layouts_of_(layouts_of), closed_(closed_bodies(f)) {}

  ConvertedFunction run() {
    relay::Rewritten made =
        relay::traced_rewrite(f_, [&](Copier& c, NodeId id) { return replace(c, id); });
    ConvertedFunction out{std::move(made.function), {}};
    for (std::size_t i = 0; i < f_.num_nodes(); ++i) out.values.push_back(value(NodeId(i), made));
    return out;
  }

 private:
  std::optional<NodeId> replace(Copier& c, NodeId id) {
    const auto* call = f_.as<relay::OpCall>(id);
    if (call == nullptr || closed_[f_[id].region.index()]) return std::nullopt;
    const DesiredLayouts* desired = layouts_of_(id);
    if (desired == nullptr) return std::nullopt;
    if (const auto want = desired->find(call->op->name); want != desired->end()) {
      return convolution(c, id, *call, want->second);
    }
    if (call->op->name == "transpose") return transpose(c, id, *call);
    if (call->op->name == "concatenate") return concatenate(c, id, *call);
    const auto axes = wanted_axes(f_.operands(id));
    if (!axes) return std::nullopt;
    if (call->op->name == "nn.pad") return pad(c, id, *call, *axes);
    if (call->op->name == "nn.bias_add") return bias_add(c, id, *call, *axes);
    if (is_pool(*call)) return pool(c, id, *call, *axes);
    if (is_reduction(*call)) return reduce(c, id, *call, *axes);
    if (is_element_wise(*call)) return element_wise(c, id, *call, *axes);
    return std::nullopt;
  }

  ConvertedValue value(NodeId old, const relay::Rewritten& made) const {
    ConvertedValue out;
    out.plain = out.computed = made.of_old[old.index()];
    const auto now = [&](NodeId node) { return made.of_made[node.index()]; };
    const Form* form = forms_.find(old);
    if (form != nullptr && form->wanted) {
      out.computed = now(form->node);
      out.permuted = {out.computed};
      out.axes = form->axes;
      out.is_computed_permuted = true;
    }
    if (const auto tuple = tuples_.find(old); tuple != tuples_.end()) {
      out.computed = now(tuple->second.node);
      out.permuted = {out.computed};
      out.axes = tuple->second.axes;
      out.is_computed_permuted = true;
    }
    for (const auto& [axes, node] : forms_.asked_for(old)) {
      if (!out.permuted.empty() && axes != out.axes) continue;
      out.axes = axes;
      out.permuted.push_back(now(node));
    }
    out.is_view = is_view(old, form);
    return out;
  }

  // Does a transpose of the model change the order of nothing any more?
  bool is_view(NodeId old, const Form* form) const {
    if (!relay::is_call_of(f_, old, "transpose")) return false;
    const Form* data = forms_.find(f_.operands(old)[0]);
    if (data != nullptr && data->wanted) return true;
    const auto& asked = forms_.asked_for(old);
    return form != nullptr && std::any_of(asked.begin(), asked.end(), [&](const auto& made) {
             return made.second == form->node;
           });
  }

  // The order of the first operand that has changed its own.
  std::optional<Permutation> wanted_axes(std::span<const NodeId> operands) const {
    for (const NodeId o : operands) {
      const Form* form = forms_.find(o);
      if (form != nullptr && form->wanted) return form->axes;
    }
    return std::nullopt;
  }

  std::optional<NodeId> result(Copier& c, NodeId id, const Permutation& axes, NodeId made) {
    if (is_identity(axes)) return made;
    return forms_.define(c, id, {axes, made, true});
  }

  std::optional<NodeId> convolution(Copier& c, NodeId id, const relay::OpCall& call,
                                    const OperatorLayouts& want) {
    const std::string plain = want.data.size() == 3   ? "NCW"
                              : want.data.size() == 4 ? "NCHW"
                                                      : "NCDHW";
    const auto text = [&](std::string_view name, const std::string& fallback) {
      const std::string given = call.attrs.string_or_empty(name);
      return given.empty() ? fallback : given;
    };
    const std::string data = text("data_layout", plain), out = text("out_layout", data);
    const std::string kernel = text("kernel_layout", "OI" + plain.substr(2));
    const std::string& wanted_kernel = wanted_kernel_of(call, id, kernel, want);
    if (data == want.data && out == want.data && kernel == wanted_kernel) return std::nullopt;
    relay::Attrs attrs = call.attrs;
    attrs.set("data_layout", want.data);
    attrs.set("kernel_layout", wanted_kernel);
    attrs.erase("out_layout");
    const auto operands = f_.operands(id);
    const NodeId x = forms_.permuted(c, operands[0], between(data, want.data), id);
    const NodeId w =
        forms_.permuted(c, operands[1], between_kernels(*call.op, kernel, wanted_kernel), id);
    return result(c, id, between(out, want.data),
                  c.builder().call(*call.op, {x, w}, std::move(attrs)));
  }

  const std::string& wanted_kernel_of(const relay::OpCall& call, NodeId id,
                                      const std::string& kernel,
                                      const OperatorLayouts& want) const {
    const relay::AttrValue* groups = call.attrs.find("groups");
    if (groups == nullptr || *groups->as<std::int64_t>() == 1) return want.kernel;
    const Shape& shape = f_.type(f_.operands(id)[1]).shape();
    const bool is_channelwise = shape[kernel.find('I')] == Dim(1);
    return is_channelwise ? want.channelwise_kernel : want.grouped_kernel;
  }

  static Permutation between_kernels(const relay::Operator& op, const std::string& from,
                                     const std::string& to) {
    if (!op.name.ends_with("_transpose")) return between(from, to);
    return between(ops::transposed_kernel_layout(from), ops::transposed_kernel_layout(to));
  }

  // The operand itself is a form of the result.
  std::optional<NodeId> transpose(Copier& c, NodeId id, const relay::OpCall& call) {
    const NodeId data = f_.operands(id)[0];
    const std::size_t rank = f_.type(data).rank();
    const auto given = relay::read_attrs<ops::TransposeAttrs>(call.attrs).axes;
    Permutation axes;
    for (std::size_t i = 0; i < rank; ++i) {
      axes.push_back(given ? ops::front_axis((*given)[i], rank)
                           : static_cast<std::int64_t>(rank - 1 - i));
    }
    const Form* form = forms_.find(data);
    if (form == nullptr || !form->wanted) {
      forms_.note(id, {inverse(axes), c.map(data), false});
      return std::nullopt;
    }
    return result(c, id, compose(inverse(axes), form->axes), form->node);
  }

  std::optional<NodeId> concatenate(Copier& c, NodeId id, const relay::OpCall& call) {
    const NodeId tuple = f_.operands(id)[0];
    if (f_.as<relay::Tuple>(tuple) == nullptr) return std::nullopt;
    const auto axes = wanted_axes(f_.operands(tuple));
    if (!axes || f_.type(id).rank() != axes->size()) return std::nullopt;
    std::vector<NodeId> fields;
    for (const NodeId field : f_.operands(tuple))
      fields.push_back(forms_.permuted(c, field, *axes, id));
    const auto p = relay::read_attrs<ops::ConcatenateAttrs>(call.attrs);
    const std::int64_t axis = position(*axes, ops::front_axis(p.axis, axes->size()));
    const NodeId moved = c.builder().tuple(fields);
    tuples_[tuple] = {*axes, moved};
    return result(c, id, *axes, c.builder().call(*call.op, {moved}, {{"axis", axis}}));
  }

  std::optional<NodeId> pad(Copier& c, NodeId id, const relay::OpCall& call,
                            const Permutation& axes) {
    auto p = relay::read_attrs<ops::PadAttrs>(call.attrs);
    if (p.pad_width.size() != axes.size() || f_.type(f_.operands(id)[0]).rank() != axes.size()) {
      return std::nullopt;
    }
    const auto plain = p.pad_width;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      p.pad_width[i] = plain[static_cast<std::size_t>(axes[i])];
    }
    std::vector<NodeId> operands = c.operands(id);
    operands[0] = forms_.permuted(c, f_.operands(id)[0], axes, id);
    return result(c, id, axes, c.builder().call(*call.op, operands, relay::write_attrs(p)));
  }

  std::optional<NodeId> bias_add(Copier& c, NodeId id, const relay::OpCall& call,
                                 const Permutation& axes) {
    const relay::AttrValue* given = call.attrs.find("axis");
    const std::int64_t axis = given == nullptr ? 1 : *given->as<std::int64_t>();
    const NodeId data = forms_.permuted(c, f_.operands(id)[0], axes, id);
    const std::int64_t moved = position(axes, ops::front_axis(axis, axes.size()));
    return result(c, id, axes,
                  c.builder().call(*call.op, {data, c.map(f_.operands(id)[1])}, {{"axis", moved}}));
  }

  static bool is_pool(const relay::OpCall& call) {
    return call.op->name.find("pool") != std::string_view::npos &&
           call.op->attrs().find("layout") != nullptr;
  }

  std::optional<NodeId> pool(Copier& c, NodeId id, const relay::OpCall& call,
                             const Permutation& axes) {
    const relay::AttrSchema& schema = call.op->attrs();
    const auto text = [&](std::string_view name) {
      const relay::AttrValue* v = call.attrs.find(name);
      return *(v != nullptr ? v : &schema.find(name)->default_value)->as<std::string>();
    };
    const std::string layout = text("layout"), out = text("out_layout");
    if (!(out.empty() || out == layout) || layout.size() != axes.size()) return std::nullopt;
    std::string moved;
    for (const std::int64_t axis : axes) moved += layout[static_cast<std::size_t>(axis)];
    relay::Attrs attrs = call.attrs;
    attrs.set("layout", moved);
    attrs.erase("out_layout");
    const NodeId data = forms_.permuted(c, f_.operands(id)[0], axes, id);
    return result(c, id, axes, c.builder().call(*call.op, {data}, std::move(attrs)));
  }

  static bool is_reduction(const relay::OpCall& call) {
    const relay::AttrSchema& schema = call.op->attrs();
    return call.op->pattern == OpPattern::kCommReduce && call.op->operands.size() == 1 &&
           schema.find("axis") != nullptr && schema.find("keepdims") != nullptr &&
           schema.find("exclude") != nullptr;
  }

  std::optional<NodeId> reduce(Copier& c, NodeId id, const relay::OpCall& call,
                               const Permutation& axes) {
    std::vector<std::int64_t> reduced;
    for (const std::int64_t axis : full_axes(call.attrs, axes.size())) {
      reduced.push_back(position(axes, axis));
    }
    std::sort(reduced.begin(), reduced.end());
    relay::Attrs attrs = call.attrs;
    attrs.set("axis", reduced);
    attrs.erase("exclude");
    const NodeId made = c.builder().call(
        *call.op, {forms_.permuted(c, f_.operands(id)[0], axes, id)}, std::move(attrs));
    if (call.attrs.int_or_zero("keepdims") != 0) return result(c, id, axes, made);
    return result(c, id, kept_axes(axes, reduced), made);
  }

  // The order of the dimensions that a reduction leaves.
  static Permutation kept_axes(const Permutation& axes, const std::vector<std::int64_t>& reduced) {
    Permutation kept, plain;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      if (std::find(reduced.begin(), reduced.end(), at) == reduced.end()) kept.push_back(axes[i]);
    }
    plain = kept;
    std::sort(plain.begin(), plain.end());
    for (std::int64_t& axis : kept) {
      axis = std::find(plain.begin(), plain.end(), axis) - plain.begin();
    }
    return kept;
  }

  // Operators that treat each place alike and have operands that broadcast: no attribute names a
  // dimension.
  static bool is_element_wise(const relay::OpCall& call) {
    if (call.op->pattern != OpPattern::kElemWise && call.op->pattern != OpPattern::kBroadcast)
      return false;
    const std::string_view placed[] = {"axis", "axes", "shape", "newshape", "layout", "rows"};
    return !call.op->takes_tuples &&
           std::none_of(std::begin(placed), std::end(placed),
                        [&](auto name) { return call.op->attrs().find(name) != nullptr; });
  }

  std::optional<NodeId> element_wise(Copier& c, NodeId id, const relay::OpCall& call,
                                     const Permutation& axes) {
    if (!f_.type(id).is_tensor() || f_.type(id).rank() != axes.size()) return std::nullopt;
    for (const NodeId o : f_.operands(id)) {
      const Type& type = f_.type(o);
      if (!type.is_tensor() || type.rank() > axes.size()) return std::nullopt;
      if (type.rank() != 0 && type.rank() < axes.size() && is_dynamic(type)) return std::nullopt;
    }
    std::vector<NodeId> operands;
    for (const NodeId o : f_.operands(id)) operands.push_back(forms_.permuted(c, o, axes, id));
    return result(c, id, axes, c.builder().call(*call.op, operands, call.attrs));
  }

  const relay::Function& f_;
  LayoutForms forms_;
  std::map<NodeId, Form> tuples_;  // of values in another order, by those of plain ones
  const LayoutsOf& layouts_of_;
  const std::vector<relay::RegionId> closed_;
};

}  // namespace

ConvertedFunction converted_layouts(const relay::Function& f, const ConstantPool& pool,
                                    const LayoutsOf& layouts_of) {
  return LayoutConverter(f, pool, layouts_of).run();
}

}  // namespace tessera::passes
