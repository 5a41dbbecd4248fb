// SPDX-License-Identifier: Apache-2.0
// Values in another order of dimensions, for convert-layout.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "constants/pool.h"
#include "relay/rewrite.h"

namespace tessera::passes {

// Dimension k of the permuted value is dimension axes[k] of the plain one.
using Permutation = std::vector<std::int64_t>;

Permutation inverse(const Permutation& p);
// First `first`, then `second`.
Permutation compose(const Permutation& first, const Permutation& second);
bool is_identity(const Permutation& p);
// Where dimension `axis` of the plain value lies in the permuted one.
std::int64_t position(const Permutation& p, std::int64_t axis);

// What a value is in the new function besides itself: a node that holds it permuted.
struct Form {
  Permutation axes;
  relay::NodeId node;
  bool wanted =
      false;  // made by an operator that changed its layout, not by a transpose that was there
};

// The forms of the old function's values. Transposes cancel because each is made from the form that
// is there, and those that nothing uses are left out with the dead nodes.
class LayoutForms {
 public:
  explicit LayoutForms(const ConstantPool& pool) : pool_(pool) {}

  const Form* find(relay::NodeId old) const;
  // The new function has `node`, which is the old value permuted; makes the plain value of it,
  // which is returned.
  relay::NodeId define(relay::Copier& c, relay::NodeId old, Form form);
  void note(relay::NodeId old, Form form) { forms_[old] = std::move(form); }
  // The old value, permuted; `user` is the old node that wants it. Values of a lower rank are
  // aligned at their last dimension, as broadcasting does. Constants are transposed at once.
  relay::NodeId permuted(relay::Copier& c, relay::NodeId old, const Permutation& axes,
                         relay::NodeId user);
  // What `permuted` has given of the old value, by the order that was asked for.
  using Asked = std::vector<std::pair<Permutation, relay::NodeId>>;
  const Asked& asked_for(relay::NodeId old) const;

 private:
  relay::NodeId make_permuted(relay::Copier& c, relay::NodeId old, const Permutation& axes,
                              relay::NodeId user);
  relay::NodeId transposed(relay::Copier& c, relay::NodeId node, const Permutation& axes);
  relay::NodeId reshaped(relay::Copier& c, relay::NodeId node,
                         const std::vector<std::int64_t>& shape);

  const ConstantPool& pool_;
  std::map<relay::NodeId, Form> forms_;
  std::map<relay::NodeId, Asked> asked_;
  struct Key {
    relay::NodeId node;
    relay::RegionId region;
    Permutation axes;
    auto operator<=>(const Key&) const = default;
  };
  std::map<Key, relay::NodeId> made_;  // by old node, region of the user, permutation
};

}  // namespace tessera::passes
