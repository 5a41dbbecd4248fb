// SPDX-License-Identifier: Apache-2.0
#include "backends/openvino/region_graph.h"

#include <algorithm>

#include "byoc/region_values.h"
#include "relay/operator.h"

namespace tessera::backends::openvino {
namespace {

using relay::Function;
using relay::NodeId;

using GraphValues = byoc::RegionValues<Value, IrWriter>;

// The call of an operator, or the field of a result; of this type.
ValuesOr convert(const Function& f, NodeId id, const Type& result, GraphValues& known,
                 IrWriter& out) {
  if (const auto* field = f.as<relay::Project>(id)) {
    return Values{known.value(f.operands(id)[0]).values[static_cast<std::size_t>(field->index)]};
  }
  const auto* op = f.as<relay::OpCall>(id);
  const Converter* converter = op != nullptr ? find_converter(op->op->name) : nullptr;
  if (converter == nullptr) return refuse("there is no counterpart");
  Call call(op->attrs, result, known.operands_of(id), out);
  return openvino::convert(*converter, call);
}

}  // namespace

std::optional<Refusal> refusal_of(const relay::Match& match) {
  IrWriter nothing(false);
  GraphValues known(*match.function, match.pool, nothing);
  NodeId call = match.root;
  const bool is_field = match.function->as<relay::Project>(call) != nullptr;
  if (is_field) call = match.function->operands(call)[0];
  if (match.function->op(call) == nullptr) return Refusal{""};
  // OpenVINO computes it once, into memory that is another's by the next run.
  auto operands = match.function->operands(call);
  if (operands.size() == 1 && match.function->as<relay::Tuple>(operands[0]) != nullptr) {
    operands = match.function->operands(operands[0]);  // of concatenate and stack
  }
  const bool is_constant = std::all_of(operands.begin(), operands.end(), [&](NodeId operand) {
    return match.function->as<relay::Constant>(operand) != nullptr;
  });
  if (is_constant) return Refusal{"it depends on constants alone"};
  const auto values = convert(*match.function, call, match.function->type(call), known, nothing);
  if (values) return std::nullopt;
  return is_field ? Refusal{""} : values.error();
}

Expected<void, Refusal> write_region(const Function& region, const ConstantPool& pool,
                                     IrWriter& out) {
  GraphValues known(region, &pool, out);
  TESSERA_TRY_VOID(known.add_composites(
      [&](NodeId root, const Type& result) { return convert(region, root, result, known, out); }));
  for (const Value value : known.value(region.result()).values) out.result(value);
  return {};
}

}  // namespace tessera::backends::openvino
