// SPDX-License-Identifier: Apache-2.0
#include "lower/specialise.h"

#include "ops/inference/infer_types.h"
#include "relay/rewrite.h"

namespace tessera::lower {

Result<relay::Function> specialise(const relay::Function& f, relay::RegionId region,
                                   const std::vector<Type>& params, const ConstantPool& pool) {
  relay::Function out =
      region == relay::Function::kBody ? f : relay::outline(f, f.region(region).owner);
  for (std::size_t i = 0; i < params.size(); ++i) {
    out.set_annotation(out.params()[i], params[i]);
  }
  // What inference noted for the sizes of before would stand beside those of now; literals inside
  // take their parameters' types from the arguments.
  out.result_annotation = {};
  for (std::size_t i = 0; i < out.num_nodes(); ++i) {
    const relay::NodeId id(i);
    if (out.as<relay::Let>(id) != nullptr) out.set_annotation(id, {});
    const auto* literal = out.as<relay::Literal>(id);
    if (literal == nullptr) continue;
    out.set_annotation(id, {});
    for (const relay::NodeId param : out.region(literal->body).params) {
      out.set_annotation(param, {});
    }
  }
  return ops::infer_types(std::move(out), {nullptr, &pool});
}

}  // namespace tessera::lower
