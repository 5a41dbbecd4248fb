// SPDX-License-Identifier: Apache-2.0
// The importer's map: ONNX operator and opset to converter.
#pragma once

#include <span>
#include <string_view>

#include "import/node.h"

namespace tessera::import {

// The name alone in the default domain, else with its domain: "ai.onnx.preview.training.Adam".
std::string qualified_name(const onnx::NodeProto& node);
// The newest converter that is not newer than `opset`; null if there is none. Operators whose
// record names the ONNX type (relay::Operator::onnx) and that have no converter map one to one.
const Converter* find_converter(std::string_view op_type, int opset);
const relay::Operator* find_direct_operator(std::string_view op_type);

// Is there a converter, an operator that it maps to, or is it a loop or branch?
bool is_supported(std::string_view qualified_name, int opset);
// Why there is no converter for the operator, if that can be told; else "".
std::string_view refusal_reason(std::string_view qualified_name);

// All tables, in the order of converters.def.
std::span<const std::span<const Converter>> converter_tables();

}  // namespace tessera::import
