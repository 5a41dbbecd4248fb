// SPDX-License-Identifier: Apache-2.0
#include "constants/pool.h"

#include <algorithm>

#include "support/check.h"

namespace tessera {

ConstantIndex ConstantPool::add(Tensor tensor) {
  TESSERA_CHECK(tensor.blob != nullptr);
  auto& same_hash = by_bytes_[tensor.blob->hash()];
  for (const ConstantIndex i : same_hash) {
    if (tensors_[i.index()] == tensor) return i;
  }
  // The same bytes with another shape or type: a new constant over the old blob.
  if (!same_hash.empty()) tensor.blob = tensors_[same_hash.front().index()].blob;
  const ConstantIndex index(tensors_.size());
  tensors_.push_back(std::move(tensor));
  same_hash.push_back(index);
  return index;
}

const Tensor& ConstantPool::resolve(const ConstantValue& value) const {
  if (const auto* immediate = std::get_if<Tensor>(&value)) return *immediate;
  const ConstantIndex index = std::get<ConstantIndex>(value);
  TESSERA_CHECK(index.index() < tensors_.size(), "constant {} of {}", index.index(),
                tensors_.size());
  return tensors_[index.index()];
}

}  // namespace tessera
