// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <tuple>

#include "passes/constant_product.h"
#include "passes/pass.h"
#include "relay/rewrite.h"

namespace tessera::passes {
namespace {

using relay::Copier;
using relay::Function;
using relay::NodeId;

class Combiner {
 public:
  Combiner(const Function& f, const relay::OperatorTable& operators)
      : f_(f), uses_(f), operators_(operators) {
    find_groups();
  }

  Function run() {
    if (group_of_.empty()) return f_;
    return relay::rewrite(f_, [&](Copier& c, NodeId id) { return visit(c, id); });
  }

 private:
  using Key = std::tuple<NodeId, std::string_view, std::uint64_t, bool>;

  // Groups by what they read, operator, attributes, and whether there is a bias; of two at least.
  void find_groups() {
    std::map<Key, std::vector<ConstantProduct>> groups;
    for (std::size_t i = 0; i < f_.num_nodes(); ++i) {
      const NodeId id{i};
      if (f_[id].region != Function::kBody) continue;
      if (const auto member = constant_product(f_, uses_, id)) {
        groups[{f_.operands(id)[0], f_.op(id)->name, attributes(id).hash(),
                member->root != member->product}]
            .push_back(*member);
      }
    }
    for (auto& [key, members] : groups) {
      if (members.size() < 2) continue;
      for (std::size_t i = 0; i < members.size(); ++i) {
        group_of_[members[i].root] = {groups_.size(), i};
      }
      groups_.push_back({std::move(members), {}});
    }
  }

  // The attributes of a product, but for the width of its result.
  relay::Attrs attributes(NodeId product) const {
    relay::Attrs attrs = f_.as<relay::OpCall>(product)->attrs;
    attrs.set("units", relay::AttrValue());
    return attrs;
  }

  struct Group {
    std::vector<ConstantProduct> members;
    NodeId combined;  // of the new function, once it is there
  };

  std::optional<NodeId> visit(Copier& c, NodeId id) {
    const auto found = group_of_.find(id);
    if (found == group_of_.end()) return std::nullopt;
    const auto [number, position] = found->second;
    Group& group = groups_[number];
    if (!group.combined) group.combined = combine(c, group);
    return slice(c, group, position);
  }

  NodeId concatenate(Copier& c, const Group& group, NodeId ConstantProduct::*part,
                     std::int64_t axis) {
    std::vector<NodeId> fields;
    for (const ConstantProduct& m : group.members) {
      fields.push_back(c.builder().copy(f_, m.*part, {}));
    }
    const NodeId tuple = c.builder().tuple(fields);
    return c.builder().call(*operators_.find("concatenate"), {tuple}, {{"axis", axis}});
  }

  NodeId combine(Copier& c, const Group& group) {
    const ConstantProduct& first = group.members.front();
    const NodeId weight =
        concatenate(c, group, &ConstantProduct::weight, first.has_rows_of_terms ? 0 : 1);
    NodeId result =
        c.builder().call(*f_.op(first.product), {c.map(f_.operands(first.product)[0]), weight},
                         attributes(first.product));
    if (first.root != first.product) {
      const NodeId bias = concatenate(c, group, &ConstantProduct::bias, 0);
      result = c.builder().call(*operators_.find("add"), {result, bias});
    }
    return result;
  }

  NodeId slice(Copier& c, const Group& group, std::size_t position) {
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < position; ++i) begin += group.members[i].width;
    const ConstantProduct& m = group.members[position];
    const auto last = static_cast<std::int64_t>(f_.type(m.product).shape().size()) - 1;
    using Ints = std::vector<std::int64_t>;
    return c.builder().call(*operators_.find("strided_slice"), {group.combined},
                            {{"begin", Ints{begin}},
                             {"end", Ints{begin + m.width}},
                             {"strides", Ints{1}},
                             {"axes", Ints{last}}});
  }

  const Function& f_;
  const relay::Uses uses_;
  const relay::OperatorTable& operators_;
  std::vector<Group> groups_;
  std::map<NodeId, std::pair<std::size_t, std::size_t>> group_of_;  // of roots: group, position
};

Result<Module> run_combine_parallel_dense(Module module, PassContext& context) {
  return map_optimizable(std::move(module), [&](const Function& f, const ConstantPool&) {
    return Combiner(f, context.operators).run();
  });
}

}  // namespace

extern const Pass combine_parallel_dense;
const Pass combine_parallel_dense{
    .name = "combine-parallel-dense",
    .summary = "makes one product of those that multiply the same value by constant matrices",
    .run = run_combine_parallel_dense,
};

}  // namespace tessera::passes
