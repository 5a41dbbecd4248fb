// SPDX-License-Identifier: Apache-2.0
// A constant may have many nodes in a graph. Mentions of one share their bytes; two constants that
// are merely equal do not.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "relay/function.h"

namespace tessera::relay {

class ConstantMentions {
 public:
  // The number given with the first mention of this constant; `self` if this is the first.
  std::uint32_t first(const Constant& constant, std::uint32_t self) {
    if (const auto* pooled = std::get_if<ConstantIndex>(&constant.value)) {
      return pooled_.emplace(pooled->index(), self).first->second;
    }
    const Tensor& tensor = std::get<Tensor>(constant.value);
    auto& mentions = tensors_[tensor.blob.get()];
    for (const auto& [number, other] : mentions) {
      if (other->dtype == tensor.dtype && other->shape == tensor.shape) return number;
    }
    mentions.emplace_back(self, &tensor);
    return self;
  }

 private:
  std::map<std::uint32_t, std::uint32_t> pooled_;  // by number in the pool
  // By bytes, never iterated.
  std::unordered_map<const Blob*, std::vector<std::pair<std::uint32_t, const Tensor*>>> tensors_;
};

}  // namespace tessera::relay
