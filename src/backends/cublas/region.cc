// SPDX-License-Identifier: Apache-2.0
#include "backends/cublas/region.h"

#include "backends/cublas/fused_patterns.h"
#include "byoc/function_at_a_time.h"
#include "relay/patterns/refuse.h"

namespace tessera::backends::cublas {

using relay::Refusal;

Expected<Description, Refusal> describe_region(const relay::Function& region,
                                               const ConstantPool& pool, const Target& target) {
  static const auto table = fused_patterns();
  const auto operands = region.operands(region.result());
  const auto* literal = operands.empty() ? nullptr : region.as<relay::Literal>(operands[0]);
  if (literal == nullptr) return relay::refuse("the region is not a call of a composite");
  const std::string composite = literal->attrs.string_or_empty("Composite");
  Refusal why{fmt::format("the composite `{}` is not known", composite)};
  for (const relay::CompositePattern& row : table) {
    if (row.name != composite) continue;
    const auto match =
        relay::match(region, row.pattern, region.region(literal->body).result, &pool);
    if (!match) continue;
    auto described = describe(*match, target);
    if (!described) {
      why = described.error();
      continue;
    }
    const auto position = [&](relay::NodeId id) -> std::int64_t {
      return id ? static_cast<std::int64_t>(byoc::argument_position(region, id)) : -1;
    };
    described->spec.a = position(described->a);
    described->spec.b = position(described->b);
    described->spec.bias = position(described->bias);
    described->spec.residual = position(described->residual);
    described->spec.a_scale = position(described->a_scale);
    described->spec.b_scale = position(described->b_scale);
    return described;
  }
  return {Unexpected<Refusal>{why}};
}

std::string payload_of(const Spec& spec) {
  char text[kSpecBytes];
  const std::size_t length = write_spec(spec, text);
  return {text, length};
}

}  // namespace tessera::backends::cublas
