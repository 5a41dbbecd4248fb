// SPDX-License-Identifier: Apache-2.0
#include "backends/cutlass/attention/attention.h"

#include "byoc/composite_match.h"
#include "relay/patterns/refuse.h"

namespace tessera::backends::cutlass {

using relay::Refusal;

Expected<Attention, Refusal> describe_attention(const relay::Match& match, const Target& target) {
  TESSERA_TRY(const attention::Attention described, attention::describe(match));
  Attention out{described};
  out.emulates_float32 = out.dtype == kFloat32 && target.get_bool("use_3xtf32");
  return out;
}

Expected<Attention, Refusal> describe_attention(const relay::Function& region,
                                                const ConstantPool& pool, const Target& target) {
  const auto match = byoc::composite_match(region, pool);
  if (!match) return relay::refuse("the region is not a call of a composite");
  return describe_attention(*match, target);
}

}  // namespace tessera::backends::cutlass
