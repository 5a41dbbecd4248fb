// SPDX-License-Identifier: Apache-2.0
// Shape arithmetic of exporters: which elements of small tensors are known because the sizes that
// they were computed from are.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "constants/pool.h"
#include "relay/function.h"
#include "relay/operator.h"

namespace tessera::passes {

class KnownSizes {
 public:
  KnownSizes(const relay::Function& f, const ConstantPool& pool) : f_(f), pool_(pool) {}

  // To be asked for every node, in order. The value of a call that was computed from sizes of
  // tensors and is known as a whole.
  std::optional<Tensor> visit(relay::NodeId id);

 private:
  struct Known {
    Tensor values;  // zero where not known
    Tensor mask;    // of the same type: 1 where known
    bool complete = true, from_sizes = false;
  };

  std::optional<Known> known(relay::NodeId id);
  std::optional<Known> sizes(relay::NodeId id) const;
  std::optional<Known> evaluated(relay::NodeId id) const;
  bool operands_of(relay::NodeId id, std::vector<const Known*>& out) const;

  const relay::Function& f_;
  const ConstantPool& pool_;
  std::map<relay::NodeId, Known> known_;
};

}  // namespace tessera::passes
