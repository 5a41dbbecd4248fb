// SPDX-License-Identifier: Apache-2.0
// Questions about the nodes of a composite that may be attention.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "constants/tensor.h"
#include "passes/factored_view.h"
#include "relay/patterns/pattern_table.h"

namespace tessera::attention {

class Nodes {
 public:
  explicit Nodes(const relay::Match& m) : m_(m), f_(*m.function) {}

  const relay::Match& match() const { return m_; }
  const relay::Function& function() const { return f_; }

  bool is(relay::NodeId id, std::string_view op) const;
  bool is_product(relay::NodeId id) const;  // of two matrices, or of batches of them
  bool transposes(relay::NodeId product, std::size_t operand) const;
  bool is_inside(relay::NodeId id) const;
  bool is_computed_inside(relay::NodeId id) const;  // no constant
  // For a sentence: "`add`", "a value".
  std::string name(relay::NodeId id) const;

  template <class A>
  A attrs(relay::NodeId call) const {
    return relay::read_attrs<A>(f_.as<relay::OpCall>(call)->attrs);
  }
  std::span<const relay::NodeId> operands(relay::NodeId id) const { return f_.operands(id); }
  Expected<passes::Sizes, relay::Refusal> sizes(relay::NodeId id) const;

  const Tensor* constant(relay::NodeId id) const;  // null for what is none
  std::optional<double> number(relay::NodeId id) const;
  // The operand that a product or quotient with a number scales.
  Expected<relay::NodeId, relay::Refusal> scaled(relay::NodeId id, double& factor) const;

 private:
  const relay::Match& m_;
  const relay::Function& f_;
};

// A value of the composite as a view of another one, `node`.
struct SeenAs {
  relay::NodeId node;
  passes::FactoredView view;
  double factor = 1;  // what it was multiplied by
};
// Back over slices, reshapes, transposes and scales.
Expected<SeenAs, relay::Refusal> see_heads(const Nodes& nodes, relay::NodeId id);

// The product that a composite ends with, as a view of its result: what reshapes and transposes do
// after it is undone.
Expected<SeenAs, relay::Refusal> see_product(const Nodes& nodes);

}  // namespace tessera::attention
