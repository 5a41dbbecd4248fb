// SPDX-License-Identifier: Apache-2.0
// What is computed element by element of one byte, and is a byte again, has 256 results: a table
// that is made when compiling. Quantised models have such chains wherever an activation is no
// operator of integers, and exporters quantise between all parts of one.
#include <algorithm>
#include <array>
#include <numeric>

#include "passes/evaluated_call.h"
#include "passes/pass.h"
#include "passes/regions.h"
#include "relay/rewrite.h"

namespace tessera::passes {
namespace {

using relay::Copier;
using relay::Function;
using relay::NodeId;
using relay::OpPattern;

// What a vector of these takes beside reading a table, which takes about two.
constexpr int kReading = 2;
int cost(std::string_view op) {
  constexpr std::string_view kQuick[] = {"divide", "sqrt", "rsqrt"};
  constexpr std::string_view kSlow[] = {
      "exp",     "erf",     "tanh",         "sigmoid",  "log",  "power",   "sin",     "cos",
      "nn.gelu", "nn.mish", "nn.gelu_tanh", "softplus", "atan", "nn.selu", "nn.celu", "nn.elu",
  };
  if (std::ranges::find(kQuick, op) != std::end(kQuick)) return 1;
  return std::ranges::find(kSlow, op) != std::end(kSlow) ? 3 : 0;
}

class Tabulation {
 public:
  Tabulation(const Function& f, const ConstantPool& pool, const relay::OperatorTable& operators)
      : f_(f),
        pool_(pool),
        uses_(f),
        closed_(closed_bodies(f)),
        roots_(f.num_nodes()),
        map_bytes_(*operators.find("qnn.map_bytes")) {
    for (std::uint32_t i = 0; i < f.num_nodes(); ++i) {
      const NodeId id{i};
      if (closed_[f[id].region.index()] || !f.type(id).is_tensor()) continue;
      roots_[i] = root_of_operands(id);
      if (!roots_[i] && f.type(id).dtype().is_byte()) roots_[i] = id;
    }
    find_tables();
  }

  Function run() const {
    return relay::rewrite(f_, [&](Copier& c, NodeId id) -> std::optional<NodeId> {
      if (!is_table_[id.index()]) return std::nullopt;
      const NodeId table = c.builder().constant(table_of(id));
      return c.builder().call(map_bytes_, {c.map(root(id)), table});
    });
  }

 private:
  NodeId root(NodeId id) const { return roots_[id.index()]; }
  bool is_number(NodeId id) const {
    const auto* constant = f_.as<relay::Constant>(id);
    return constant != nullptr && pool_.resolve(constant->value).num_elements() == 1;
  }

  // The one value of bytes that all operands of an element-wise call are functions of.
  NodeId root_of_operands(NodeId id) const {
    const relay::Operator* op = f_.op(id);
    const bool is_element_wise =
        op != nullptr && !op->has_effect &&
        (op->pattern == OpPattern::kElemWise || op->pattern == OpPattern::kBroadcast);
    if (!is_element_wise) return {};
    NodeId found;
    for (const NodeId operand : f_.operands(id)) {
      if (is_number(operand)) continue;
      const NodeId of_this = root(operand);
      const bool is_same = of_this && (!found || found == of_this) &&
                           f_.type(operand).shape() == f_.type(id).shape() &&
                           f_[of_this].region == f_[id].region;
      if (!is_same) return {};
      found = of_this;
    }
    return found;
  }

  // Marks bytes that somebody reads who is no function of the same root, where enough of what they
  // are computed by has no other reader.
  void find_tables() {
    std::vector<bool> goes(f_.num_nodes());
    std::vector<int> costs(f_.num_nodes());  // by root
    is_table_.resize(f_.num_nodes());
    for (std::size_t i = f_.num_nodes(); i-- > 0;) {
      const NodeId id{static_cast<std::uint32_t>(i)};
      if (!root(id) || root(id) == id) continue;
      const auto readers = uses_.of(id);
      const bool is_inside = !uses_.is_result(id) && std::ranges::all_of(readers, [&](NodeId r) {
        return root(r) == root(id) && (is_table_[r.index()] || goes[r.index()]);
      });
      const bool is_read = uses_.is_result(id) || !readers.empty();
      is_table_[i] = f_.type(id).dtype().is_byte() && is_read && !is_inside;
      goes[i] = is_inside;
      if (is_inside || is_table_[i]) costs[root(id).index()] += cost(f_.op(id)->name);
    }
    for (std::size_t i = 0; i < f_.num_nodes(); ++i) {
      if (is_table_[i]) is_table_[i] = costs[roots_[i].index()] > kReading;
    }
  }

  // What comes of all bytes in the order of their numbers.
  Tensor table_of(NodeId id) const {
    std::vector<NodeId> order = {id};  // it and what it is computed by, downwards
    for (std::size_t next = 0; next < order.size(); ++next) {
      if (order[next] == root(id)) continue;
      for (const NodeId operand : f_.operands(order[next])) {
        const bool is_known =
            is_number(operand) || std::ranges::find(order, operand) != order.end();
        if (!is_known) order.push_back(operand);
      }
    }
    std::ranges::sort(order);
    std::vector<Tensor> values;
    for (const NodeId at : order) {
      values.push_back(at == root(id) ? all_bytes(f_.type(at).dtype())
                                      : value_of(at, order, values));
    }
    return values.back();
  }

  Tensor value_of(NodeId id, const std::vector<NodeId>& order,
                  const std::vector<Tensor>& values) const {
    std::vector<Tensor> operands;
    for (const NodeId operand : f_.operands(id)) {
      if (is_number(operand)) {
        Tensor number = pool_.resolve(f_.as<relay::Constant>(operand)->value);
        number.shape.clear();
        operands.push_back(std::move(number));
      } else {
        operands.push_back(values[std::ranges::lower_bound(order, operand) - order.begin()]);
      }
    }
    const auto& call = *f_.as<relay::OpCall>(id);
    return passes::evaluated(*call.op, operands, call.attrs);
  }

  static constexpr std::int64_t kBytes = 256;
  static Tensor all_bytes(DType dtype) {
    std::array<std::uint8_t, kBytes> bytes;
    std::iota(bytes.begin(), bytes.end(), dtype == kInt8 ? std::uint8_t{128} : std::uint8_t{0});
    return Tensor({kBytes}, dtype, Blob::copy_of(std::as_bytes(std::span(bytes))));
  }

  const Function& f_;
  const ConstantPool& pool_;
  const relay::Uses uses_;
  const std::vector<relay::RegionId> closed_;
  std::vector<NodeId> roots_;  // by node: what it is a function of, element by element
  std::vector<bool> is_table_;
  const relay::Operator& map_bytes_;
};

Result<Module> run_tabulate_bytes(Module module, PassContext& context) {
  return map_optimizable(std::move(module), [&](const Function& f, const ConstantPool& pool) {
    return Tabulation(f, pool, context.operators).run();
  });
}

}  // namespace

extern const Pass tabulate_bytes;
const Pass tabulate_bytes{
    .name = "tabulate-bytes",
    .summary = "reads bytes that are computed of one byte out of a table",
    .run = run_tabulate_bytes,
};

}  // namespace tessera::passes
