// SPDX-License-Identifier: Apache-2.0
#include "attention/nodes.h"

#include <algorithm>

#include <fmt/format.h>

#include "byoc/composite_match.h"
#include "ops/attrs/matmul.h"
#include "passes/view_calls.h"
#include "relay/constant_mentions.h"
#include "relay/operator.h"
#include "relay/patterns/refuse.h"

namespace tessera::attention {

using passes::FactoredView;
using passes::Sizes;
using relay::NodeId;
using relay::Refusal;
using relay::refuse;

bool Nodes::is(NodeId id, std::string_view op) const { return relay::is_call_of(f_, id, op); }

bool Nodes::is_product(NodeId id) const { return is(id, "nn.matmul") || is(id, "nn.batch_matmul"); }

bool Nodes::transposes(NodeId product, std::size_t operand) const {
  const auto of = [operand](const auto& a) { return operand == 0 ? a.transpose_a : a.transpose_b; };
  return is(product, "nn.matmul") ? of(attrs<ops::MatmulAttrs>(product))
                                  : of(attrs<ops::BatchMatmulAttrs>(product));
}

// A constant is where another mention of it is: matches know one of them.
bool Nodes::is_inside(NodeId id) const {
  const auto* constant = f_.as<relay::Constant>(id);
  if (constant == nullptr) return std::binary_search(m_.inside.begin(), m_.inside.end(), id);
  relay::ConstantMentions inside;
  for (const NodeId other : m_.inside) {
    if (const auto* mention = f_.as<relay::Constant>(other)) inside.first(*mention, 1);
  }
  return inside.first(*constant, 0) == 1;
}

bool Nodes::is_computed_inside(NodeId id) const { return is_inside(id) && f_.op(id) != nullptr; }

std::string Nodes::name(NodeId id) const {
  return f_.op(id) != nullptr ? fmt::format("`{}`", f_.op(id)->name) : "a value";
}

Expected<Sizes, Refusal> Nodes::sizes(NodeId id) const {
  auto sizes = constant_shape(f_.type(id).shape());
  if (!sizes) return refuse("a size is not known");
  return *std::move(sizes);
}

const Tensor* Nodes::constant(NodeId id) const { return byoc::constant_of(f_, m_.pool, id); }

std::optional<double> Nodes::number(NodeId id) const {
  const Tensor* tensor = constant(id);
  if (tensor == nullptr || tensor->num_elements() != 1) return std::nullopt;
  return element_as_double(*tensor, 0);
}

Expected<NodeId, Refusal> Nodes::scaled(NodeId id, double& factor) const {
  const auto args = operands(id);
  if (const auto by = number(args[1])) {
    factor *= is(id, "divide") ? 1 / *by : *by;
    return args[0];
  }
  if (const auto by = number(args[0]); by && is(id, "multiply")) {
    factor *= *by;
    return args[1];
  }
  return refuse("scores are scaled by a tensor");
}

namespace {

Expected<FactoredView, Refusal> step(const Nodes& nodes, NodeId id, FactoredView view) {
  TESSERA_TRY(const Sizes sizes, nodes.sizes(id));
  auto seen = passes::view_after(nodes.function(), id, sizes, std::move(view));
  if (seen) return *std::move(seen);
  if (nodes.is(id, "strided_slice")) return refuse("a slice is not plain");
  return refuse("the heads are not a view of their source");
}

}  // namespace

Expected<SeenAs, Refusal> see_heads(const Nodes& nodes, NodeId id) {
  std::vector<NodeId> chain;
  SeenAs seen;
  while (nodes.is_inside(id)) {
    if (nodes.is(id, "multiply") || nodes.is(id, "divide")) {
      TESSERA_TRY(id, nodes.scaled(id, seen.factor));
    } else if (nodes.is(id, "reshape") || nodes.is(id, "transpose") ||
               nodes.is(id, "strided_slice")) {
      chain.push_back(id);
      id = nodes.operands(id)[0];
    } else {
      return refuse("{} comes before the heads", nodes.name(id));
    }
  }
  seen.node = id;
  TESSERA_TRY(const Sizes sizes, nodes.sizes(id));
  seen.view = FactoredView::of(sizes);
  for (auto at = chain.rbegin(); at != chain.rend(); ++at) {
    TESSERA_TRY(seen.view, step(nodes, *at, std::move(seen.view)));
  }
  return seen;
}

Expected<SeenAs, Refusal> see_product(const Nodes& nodes) {
  NodeId id = nodes.match().root;
  TESSERA_TRY(const Sizes sizes, nodes.sizes(id));
  FactoredView view = FactoredView::of(sizes);
  while (nodes.is(id, "reshape") || nodes.is(id, "transpose")) {
    const NodeId before = nodes.operands(id)[0];
    if (nodes.is(id, "transpose")) {
      const auto axes = passes::permutation_of(nodes.function(), id);
      std::vector<std::int64_t> inverse(axes.size());
      for (std::size_t i = 0; i < axes.size(); ++i) {
        inverse[static_cast<std::size_t>(axes[i])] = static_cast<std::int64_t>(i);
      }
      view = view.transpose(inverse);
    } else {
      TESSERA_TRY(const Sizes shape, nodes.sizes(before));
      auto undone = view.reshape(shape);
      if (!undone) return refuse("the result is not a view of the heads");
      view = *std::move(undone);
    }
    id = before;
  }
  if (!nodes.is_product(id) || !nodes.is_inside(id)) {
    return refuse("there is no product with the values");
  }
  return SeenAs{id, std::move(view)};
}

}  // namespace tessera::attention
