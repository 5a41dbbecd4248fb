// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "emit/host.h"

namespace tessera::emit {

WeightsLayout layout_weights(const ConstantPool& constants) {
  WeightsLayout layout;
  std::map<const Blob*, std::uint64_t> seen;  // the pool makes equal bytes one blob
  for (const Tensor& t : constants.tensors()) {
    const auto [it, fresh] = seen.emplace(t.blob.get(), layout.bytes);
    if (fresh) {
      layout.pieces.push_back({layout.bytes, t.blob});
      layout.bytes += (t.blob->size_bytes() + kConstantAlignBytes - 1) / kConstantAlignBytes *
                      kConstantAlignBytes;
    }
    layout.offsets.push_back(it->second);
  }
  return layout;
}

}  // namespace tessera::emit
