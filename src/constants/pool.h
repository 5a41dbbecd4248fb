// SPDX-License-Identifier: Apache-2.0
// The module's constants: each (dtype, shape, bytes) once; bytes are shared by content.
#pragma once

#include <map>
#include <vector>

#include "constants/tensor.h"

namespace tessera {

class ConstantPool {
 public:
  // The index of an equal constant, added if there is none. Blobs of equal bytes become one blob.
  ConstantIndex add(Tensor tensor);
  const Tensor& operator[](ConstantIndex i) const { return tensors_[i.index()]; }
  std::size_t size() const { return tensors_.size(); }
  bool empty() const { return tensors_.empty(); }
  // The tensor of either form of a constant.
  const Tensor& resolve(const ConstantValue& value) const;
  std::span<const Tensor> tensors() const { return tensors_; }

 private:
  std::vector<Tensor> tensors_;
  std::map<Hash128, std::vector<ConstantIndex>> by_bytes_;
};

}  // namespace tessera
