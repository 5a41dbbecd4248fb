// SPDX-License-Identifier: Apache-2.0
#include "backends/tensorrt/region_graph.h"

#include "byoc/region_values.h"
#include "relay/operator.h"

namespace tessera::backends::tensorrt {
namespace {

using relay::Function;
using relay::NodeId;

using GraphValues = byoc::RegionValues<Value, Graph>;

ValueOr convert(const Function& f, NodeId id, const Target& target, GraphValues& known,
                Graph& out) {
  const auto* op = f.as<relay::OpCall>(id);
  const Converter* converter = op != nullptr ? find_converter(op->op->name) : nullptr;
  if (converter == nullptr) return refuse("there is no counterpart");
  Call call(composite_name(converter->op), converter->type, op->attrs, f.type(id),
            known.operands_of(id), out);
  return tensorrt::convert(*converter, call, target.get_bool("use_fp16"));
}

}  // namespace

std::string composite_name(std::string_view op) { return fmt::format("tensorrt.{}", op); }

std::optional<Refusal> refusal_of(const relay::Match& match, const Target& target) {
  Graph nothing(target);
  GraphValues known(*match.function, match.pool, nothing);
  const ValueOr value = convert(*match.function, match.root, target, known, nothing);
  if (value) return std::nullopt;
  return value.error();
}

Expected<std::vector<Value>, Refusal> write_region(const Function& region, const ConstantPool& pool,
                                                   const Target& target, Graph& out) {
  GraphValues known(region, &pool, out);
  TESSERA_TRY_VOID(
      known.add_composites([&](NodeId root, const Type&) -> Expected<std::vector<Value>, Refusal> {
        TESSERA_TRY(const Value value, convert(region, root, target, known, out));
        return std::vector<Value>{value};
      }));
  return known.value(region.result()).values;
}

}  // namespace tessera::backends::tensorrt
