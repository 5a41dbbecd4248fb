// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "passes/fusion_groups.h"
#include "passes/pass.h"
#include "relay/function_attributes.h"
#include "relay/rewrite.h"
#include "relay/shape_needs.h"

namespace tessera::passes {
namespace {

using relay::Copier;
using relay::FunctionBuilder;
using relay::NodeId;

constexpr relay::AttrRule kGroupSize{
    "from 1 to 2147483647", [](const relay::AttrValue& v) {
      const std::int64_t calls = relay::AttrCodec<std::int64_t>::decode(v);
      return calls >= 1 && calls <= std::numeric_limits<int>::max();
    }};

struct FuseOpsOptions {
  std::int64_t max_depth = kFusedCalls;
  bool link_params = false;
  bool norms = false;
  static constexpr auto fields =
      std::tuple{relay::attr("max_depth", &FuseOpsOptions::max_depth, kGroupSize),
                 relay::attr("link_params", &FuseOpsOptions::link_params),
                 relay::attr("norms", &FuseOpsOptions::norms)};
};

// Replaces the last node of each group by the call of a `Primitive=1` literal that holds the group.
class GroupOutliner {
 public:
  GroupOutliner(const relay::Function& f, const ConstantPool& pool, const FuseOpsOptions& options)
      : f_(f),
        pool_(pool),
        options_(options),
        groups_(find_fusion_groups(f, static_cast<int>(options.max_depth), options.norms)) {}

  relay::Function run() {
    return relay::rewrite(f_, [&](Copier& c, NodeId id) -> std::optional<NodeId> {
      const FusionGroup* group = groups_.ending_at(id);
      return group == nullptr ? std::nullopt : std::optional(call_group(c, *group));
    });
  }

 private:
  NodeId call_group(Copier& c, const FusionGroup& group) {
    FunctionBuilder& b = c.builder();
    const std::vector<NodeId> inputs = group_inputs(group);
    std::vector<NodeId> arguments;
    for (const NodeId in : inputs) arguments.push_back(c.map(in));
    const NodeId literal = make_literal(c, group, inputs);
    b.at(f_[group.last()].location);
    const NodeId call = b.call_value(literal, arguments);
    b.set_type(call, f_.type(group.last()));
    return call;
  }

  // Values from outside, in order of first use; what stays inside is none of them.
  std::vector<NodeId> group_inputs(const FusionGroup& group) const {
    std::vector<NodeId> inputs;
    for (const NodeId id : group.nodes) {
      const auto operands = f_.operands(id);
      for (std::size_t k = 0; k < operands.size(); ++k) {
        const NodeId operand = operands[k];
        if (group.contains(operand) || stays_inside(operand) || says_shape(id, k)) continue;
        if (std::find(inputs.begin(), inputs.end(), operand) == inputs.end())
          inputs.push_back(operand);
      }
    }
    return inputs;
  }

  // A list that an operator needs to know its result's shape, and that has no inputs itself:
  // inside, it is known when the kernel is made.
  bool says_shape(NodeId user, std::size_t k) const {
    const relay::Operator* op = f_.op(user);
    return op != nullptr && relay::shape_need_of(*op, k) == relay::ShapeNeed::kData &&
           relay::has_no_inputs(f_, f_.operands(user)[k]);
  }

  bool stays_inside(NodeId id) const {
    const auto* constant = f_.as<relay::Constant>(id);
    return constant != nullptr &&
           (options_.link_params || pool_.resolve(constant->value).is_scalar());
  }

  NodeId make_literal(Copier& c, const FusionGroup& group, const std::vector<NodeId>& inputs) {
    FunctionBuilder& b = c.builder();
    b.at(f_[group.last()].location);
    const relay::RegionId body = b.begin_region();
    std::map<NodeId, NodeId> inside;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      inside[inputs[i]] = b.param("p" + std::to_string(i), f_.type(inputs[i]));
      b.set_type(inside[inputs[i]], f_.type(inputs[i]));
    }
    for (const NodeId id : group.nodes) {
      std::vector<NodeId> operands;
      for (const NodeId o : f_.operands(id)) {
        const auto [it, fresh] = inside.try_emplace(o);
        if (fresh) it->second = b.copy(f_, o, {});  // what stays inside
        operands.push_back(it->second);
      }
      inside[id] = b.copy(f_, id, operands);
    }
    b.end_region(inside.at(group.last()));
    return b.literal(body, {{"Primitive", 1}}, f_.type(group.last()));
  }

  const relay::Function& f_;
  const ConstantPool& pool_;
  const FuseOpsOptions options_;
  FusionGroups groups_;
};

Result<Module> run_fuse_ops(Module module, PassContext& context) {
  const auto options = relay::read_attrs<FuseOpsOptions>(context.options);
  return map_optimizable(std::move(module),
                         [&](const relay::Function& f, const ConstantPool& pool) {
                           if (relay::is_primitive(f.attrs)) return f;
                           return GroupOutliner(f, pool, options).run();
                         });
}

}  // namespace

extern const Pass fuse_ops;
const Pass fuse_ops{
    .name = "fuse-ops",
    .summary = "groups operator calls into primitive functions by their pattern kinds",
    .options = relay::attr_schema<FuseOpsOptions>,
    .run = run_fuse_ops,
};

}  // namespace tessera::passes
