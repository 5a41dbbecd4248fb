// SPDX-License-Identifier: Apache-2.0
#include "lower/specialise.h"

#include "ops/infer_types.h"
#include "relay/rewrite.h"

namespace tessera::lower {

Result<relay::Function> specialise(const relay::Function& f, relay::RegionId region,
                                   const std::vector<Type>& params, const ConstantPool& pool) {
  relay::Function out =
      region == relay::Function::kBody ? f : relay::outline(f, f.region(region).owner);
  for (std::size_t i = 0; i < params.size(); ++i) {
    out.set_param_annotation(out.params()[i], params[i]);
  }
  out.result_annotation = {};
  // Literals inside take their parameters' types from the arguments, too.
  for (std::size_t i = 0; i < out.num_nodes(); ++i) {
    const auto* literal = out.as<relay::Literal>(relay::NodeId(i));
    if (literal == nullptr) continue;
    for (const relay::NodeId param : out.region(literal->body).params) {
      out.set_param_annotation(param, {});
    }
  }
  return ops::infer_types(std::move(out), {nullptr, &pool});
}

}  // namespace tessera::lower
