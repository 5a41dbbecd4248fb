// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <tuple>

#include "ops/attrs/matmul.h"
#include "passes/pass.h"
#include "relay/rewrite.h"

namespace tessera::passes {
namespace {

using relay::Copier;
using relay::Function;
using relay::NodeId;

// A product with a constant matrix, and the addition of a constant vector that alone reads it.
struct Member {
  NodeId product, root;  // the root is the product itself where there is no bias
  NodeId weight, bias;
  std::int64_t width = 0;  // columns of the result
};

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
    std::map<Key, std::vector<Member>> groups;
    for (std::size_t i = 0; i < f_.num_nodes(); ++i) {
      const NodeId id{i};
      if (f_[id].region != Function::kBody) continue;
      if (const auto member = member_of(id)) {
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

  bool widens_first(NodeId product) const {  // weights are [N, K]
    return f_.op(product)->name == "nn.dense" ||
           relay::read_attrs<ops::MatmulAttrs>(f_.as<relay::OpCall>(product)->attrs).transpose_b;
  }

  // Sums of integers have scales of their own, in the kernel of their product.
  std::optional<Member> member_of(NodeId id) const {
    if (f_.op(id) == nullptr || !f_.type(id).is_tensor()) return std::nullopt;
    if (!f_.type(id).dtype().is_float()) return std::nullopt;
    if (f_.op(id)->name != "nn.dense" && f_.op(id)->name != "nn.matmul") return std::nullopt;
    const NodeId weight = f_.operands(id)[1];
    const Shape& shape = f_.type(weight).shape();
    if (f_.as<relay::Constant>(weight) == nullptr || shape.size() != 2) return std::nullopt;
    Member m{id, id, weight, {}, shape[widens_first(id) ? 0 : 1].constant()};
    const auto users = uses_.of(id);
    if (users.size() != 1 || f_.op(users[0]) == nullptr || f_.op(users[0])->name != "add" ||
        f_[users[0]].region != Function::kBody) {
      return m;
    }
    const auto operands = f_.operands(users[0]);
    const NodeId bias = operands[operands[0] == id ? 1 : 0];
    const bool is_vector = f_.as<relay::Constant>(bias) != nullptr &&
                           f_.type(bias).shape() == Shape{Dim(m.width)} &&
                           f_.type(bias).dtype() == f_.type(id).dtype();
    if (is_vector) {
      m.root = users[0];
      m.bias = bias;
    }
    return m;
  }

  struct Group {
    std::vector<Member> members;
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

  NodeId concatenate(Copier& c, const Group& group, NodeId Member::*part, std::int64_t axis) {
    std::vector<NodeId> fields;
    for (const Member& m : group.members) {
      fields.push_back(c.builder().copy(f_, m.*part, {}));
    }
    const NodeId tuple = c.builder().tuple(fields);
    return c.builder().call(*operators_.find("concatenate"), {tuple}, {{"axis", axis}});
  }

  NodeId combine(Copier& c, const Group& group) {
    const Member& first = group.members.front();
    const NodeId weight =
        concatenate(c, group, &Member::weight, widens_first(first.product) ? 0 : 1);
    NodeId result =
        c.builder().call(*f_.op(first.product), {c.map(f_.operands(first.product)[0]), weight},
                         attributes(first.product));
    if (first.root != first.product) {
      const NodeId bias = concatenate(c, group, &Member::bias, 0);
      result = c.builder().call(*operators_.find("add"), {result, bias});
    }
    return result;
  }

  NodeId slice(Copier& c, const Group& group, std::size_t position) {
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < position; ++i) begin += group.members[i].width;
    const Member& m = group.members[position];
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

Result<Module> run(Module module, PassContext& context) {
  return map_optimizable(std::move(module), [&](const Function& f, const ConstantPool&) {
    return Combiner(f, context.operators).run();
  });
}

}  // namespace

extern const Pass combine_parallel_dense;
const Pass combine_parallel_dense{
    .name = "combine-parallel-dense",
    .summary = "makes one product of those that multiply the same value by constant matrices",
    .run = run,
};

}  // namespace tessera::passes
