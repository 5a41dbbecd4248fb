// SPDX-License-Identifier: Apache-2.0
#include "import/converters.h"

#include <map>

#include "ops/records/table.h"

namespace tessera::import {

#define CONVERTERS(family) extern const std::span<const Converter> family##_converters;
#include "import/converters.def"
#undef CONVERTERS

std::span<const std::span<const Converter>> converter_tables() {
  static const std::span<const Converter> tables[] = {
#define CONVERTERS(family) family##_converters,
#include "import/converters.def"
#undef CONVERTERS
  };
  return tables;
}

std::string qualified_name(const onnx::NodeProto& node) {
  return is_default_domain(node.domain()) ? node.op_type() : node.domain() + "." + node.op_type();
}

std::string_view refusal_reason(std::string_view qualified_name) {
#define REFUSED(prefix, why) \
  if (qualified_name.starts_with(prefix)) return why;
#include "import/refused.def"
#undef REFUSED
  return "";
}

const Converter* find_converter(std::string_view op_type, int opset) {
  const Converter* best = nullptr;
  for (const auto& table : converter_tables()) {
    for (const Converter& c : table) {
      if (c.op_type != op_type || c.since_opset > opset) continue;
      if (best == nullptr || c.since_opset > best->since_opset) best = &c;
    }
  }
  return best;
}

const relay::Operator* find_direct_operator(std::string_view op_type) {
  static const std::map<std::string_view, const relay::Operator*> direct = [] {
    std::map<std::string_view, const relay::Operator*> map;
    for (const relay::Operator* op : ops::operators().all()) {
      for (const std::string_view name : op->onnx) map.emplace(name, op);
    }
    return map;
  }();
  const auto it = direct.find(op_type);
  return it == direct.end() ? nullptr : it->second;
}

bool is_supported(std::string_view qualified_name, int opset) {
  const bool is_control_flow = qualified_name == "If" || qualified_name == "Loop" ||
                               qualified_name == "Scan" || qualified_name == "SequenceMap";
  return is_control_flow || find_converter(qualified_name, opset) != nullptr ||
         find_direct_operator(qualified_name) != nullptr;
}

}  // namespace tessera::import
