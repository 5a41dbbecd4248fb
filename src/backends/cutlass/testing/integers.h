// SPDX-License-Identifier: Apache-2.0
// For tests of integers of eight bits: what an import makes of a model, and the kernel it gets.
#pragma once

#include <initializer_list>

#include "backends/cutlass/testing/models.h"
#include "passes/manager.h"
#include "passes/pass.h"
#include "passes/pipeline_text.h"
#include "relay/rewrite.h"

namespace tessera::backends::cutlass::testing {

// The one whose symbol begins so.
inline const std::string& kernel_of(const RecordingToolchain& toolchain,
                                    const std::string& prefix = "tessera_gemm_") {
  for (const auto& [name, source] : toolchain.sources) {
    if (name.starts_with(prefix)) return source;
  }
  ADD_FAILURE() << "there is no kernel";
  return toolchain.sources.begin()->second;
}

inline void expect_lines(const std::string& text, std::initializer_list<const char*> lines) {
  for (const char* line : lines) EXPECT_NE(text.find(line), std::string::npos) << line << text;
}

// As an ONNX model brings it, with %w for a constant of that type, after the passes of a
// compilation.
inline Module imported(const std::string& text, const std::vector<std::int64_t>& weight,
                       const std::string& layout_passes = "") {
  Module module = parse(text);
  const relay::Function f = module.functions.at("main");
  std::vector<double> values;
  std::int64_t count = 1;
  for (const std::int64_t d : weight) count *= d;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<double>(i % 255 - 127));
  module.functions.at("main") =
      relay::rewrite(f, [&](relay::Copier& c, relay::NodeId id) -> std::optional<relay::NodeId> {
        const auto* param = f.as<relay::Param>(id);
        if (param == nullptr || param->name != "w") return std::nullopt;
        return c.builder().constant(tensor_from_doubles(weight, kInt8, values));
      });
  const auto calls = passes::parse_pipeline(
      "decompose-quantization,convert-quantized-products,fold-constant,simplify-expr," +
          layout_passes + "fold-constant,eliminate-dead-code",
      passes::all_passes());
  auto out = passes::run_passes(std::move(module), *calls, ops::operators());
  EXPECT_TRUE(out) << render(out.error());
  return *ops::infer_types(std::move(out->module));
}

}  // namespace tessera::backends::cutlass::testing
