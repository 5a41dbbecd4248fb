// SPDX-License-Identifier: Apache-2.0
#include "lower/lowered_call.h"

namespace tessera::lower {
namespace {

using relay::AttrArray;
using relay::AttrValue;
using relay::Copier;
using relay::NodeId;

// Attributes hold no maps: a map is its entries, `[["key", value], ...]`, sorted by key.
AttrValue as_entries(const relay::Attrs& attrs) {
  AttrArray entries;
  for (const auto& [key, value] : attrs) entries.emplace_back(AttrArray{AttrValue(key), value});
  return entries;
}

NodeId typed(Copier& c, NodeId id, const Type& type) {
  c.builder().set_type(id, type);
  return id;
}

void add_fields(Copier& c, NodeId value, const Type& type, std::vector<NodeId>& values,
                std::vector<Type>& types) {
  if (!type.is_tuple()) {
    values.push_back(value);
    types.push_back(type);
    return;
  }
  for (std::size_t i = 0; i < type.fields().size(); ++i) {
    const Type& field = type.fields()[i];
    const NodeId part = c.builder().project(value, static_cast<int>(i));
    add_fields(c, typed(c, part, field), field, values, types);
  }
}

NodeId rebuild(Copier& c, NodeId call, const std::vector<Type>& parts, const Type& type,
               std::size_t& next) {
  if (!type.is_tuple()) {
    const auto i = static_cast<int>(next++);
    return parts.size() == 1 ? call : typed(c, c.builder().project(call, i), type);
  }
  std::vector<NodeId> fields;
  for (const Type& field : type.fields()) fields.push_back(rebuild(c, call, parts, field, next));
  return typed(c, c.builder().tuple(fields), type);
}

}  // namespace

NodeId lowered_call(Copier& c, const relay::Operator& call_lowered, NodeId id,
                    const std::string& symbol, const relay::Attrs& attrs, relay::Attrs metadata,
                    Passing passing) {
  const bool flat = passing == Passing::kFlat;
  relay::FunctionBuilder& b = c.builder();
  const std::vector<NodeId> operands = c.operands(id);
  const auto old = c.from().operands(id);
  std::vector<NodeId> arguments;
  std::vector<Type> types;
  for (std::size_t i = 1; i < operands.size(); ++i) {
    const Type& type = c.from().type(old[i]);
    if (flat) {
      add_fields(c, operands[i], type, arguments, types);
    } else {
      arguments.push_back(operands[i]);
      types.push_back(type);
    }
  }
  const NodeId tuple = typed(c, b.tuple(arguments), tuple_type(types));
  metadata.set("relay_attrs", as_entries(attrs));
  const Type& result = c.from().type(id);
  const std::vector<Type> parts = flatten(result);
  const bool rebuilds =
      flat && !result.is_tensor() && !(tuple_type(parts) == result && parts.size() != 1);
  const Type given = !rebuilds ? result : parts.size() == 1 ? parts[0] : tuple_type(parts);
  const NodeId call = typed(
      c, b.call(call_lowered, {b.global(symbol), tuple}, {{"metadata", as_entries(metadata)}}),
      given);
  std::size_t next = 0;
  return rebuilds ? rebuild(c, call, parts, result, next) : call;
}

}  // namespace tessera::lower
