// SPDX-License-Identifier: Apache-2.0
// What back ends declare for the passes: that each has a pattern for a graph of a form if, and only
// if, it says so for its target, and that what it makes of the graph computes the same.
#include <algorithm>

#include <gtest/gtest.h>

#include "backends/table.h"
#include "backends/testing/graph_case.h"
#include "ops/evaluation/compare.h"

namespace tessera::backends {
namespace {

using byoc::Capabilities;

constexpr const char* kInt8Product =
    "def @main(%x: Tensor[(64, 64), int8], %w: Tensor[(64, 64), int8]) {\n"
    "  nn.dense(%x, %w, units=64, out_dtype=\"int32\")\n}\n";
constexpr const char* kFloat8Product =
    "def @main(%x: Tensor[(64, 64), uint8], %w: Tensor[(64, 64), uint8],\n"
    "          %s: Tensor[(64, 1), float32], %t: Tensor[(64), float32]) {\n"
    "  qnn.dense_float8(%x, %w, %s, %t)\n}\n";
constexpr const char* kMixedProduct =
    "def @main(%x: Tensor[(64, 64), float16], %w: Tensor[(64, 32), int8],\n"
    "          %s: Tensor[(1, 1, 64), float16]) {\n"
    "  qnn.dense_mixed(%x, %w, %s, block_size=64, bits=4)\n}\n";
constexpr const char* kWidenedProduct =
    "def @main(%x: Tensor[(64, 64), uint8], %c_w: Tensor[(64, 64), int32]) {\n"
    "  nn.dense(cast(%x, dtype=\"int32\"), %c_w, units=64)\n}\n";
constexpr const char* kScaledRows =
    "def @main(%x: Tensor[(64, 64), float16], %w: Tensor[(64, 64), float16],\n"
    "          %factor: Tensor[(64, 1), float32], %bias: Tensor[(64), float32]) {\n"
    "  %0 = nn.dense(%x, %w, units=64, out_dtype=\"float32\");\n"
    "  cast(add(multiply(%0, %factor), %bias), dtype=\"float16\")\n}\n";

std::string product_of(const std::string& dtype) {
  return fmt::format(
      "def @main(%x: Tensor[(64, 64), {0}], %c_w: Tensor[(64, 64), {0}]) {{\n"
      "  nn.dense(%x, %c_w, units=64, out_dtype=\"{0}\")\n}}\n",
      dtype);
}

bool has(const Capabilities& c, DType dtype) {
  return std::ranges::find(c.types_of_16_bits, dtype) != c.types_of_16_bits.end();
}

struct Form {
  std::string text;
  bool (*is_declared)(const Capabilities&);
};

std::vector<Form> forms() {
  return {{kInt8Product, [](const Capabilities& c) { return c.int8_products; }},
          {kFloat8Product, [](const Capabilities& c) { return c.float8_products; }},
          {kMixedProduct, [](const Capabilities& c) { return c.mixed_products; }},
          {kWidenedProduct, [](const Capabilities& c) { return c.widened_products; }},
          {kScaledRows, [](const Capabilities& c) { return c.scaled_rows; }},
          {product_of("float16"), [](const Capabilities& c) { return has(c, kFloat16); }},
          {product_of("bfloat16"), [](const Capabilities& c) { return has(c, kBFloat16); }}};
}

// Does a pattern of the back end take all of the graph?
bool is_taken(const relay::Function& f, const byoc::Backend& backend, const Target& target) {
  std::size_t operators = 0;
  for (std::size_t i = 0; i < f.num_nodes(); ++i) operators += f.op(relay::NodeId(i)) != nullptr;
  const auto patterns = backend.patterns(target);
  return std::ranges::any_of(patterns, [&](const relay::CompositePattern& p) {
    const auto match = relay::match(f, p.pattern, f.result());
    if (!match || (p.check && p.check(*match, target))) return false;
    const auto is_operator = [&](relay::NodeId id) { return f.op(id) != nullptr; };
    return static_cast<std::size_t>(std::ranges::count_if(match->inside, is_operator)) == operators;
  });
}

// With all defaults, with each switch of the kind in its other position, and some more.
std::vector<Target> targets_of(const byoc::Backend& backend) {
  const Target usual(backend.name());
  std::vector<Target> all = {usual};
  for (const TargetOption& option : usual.kind().options) {
    if (const bool* on = std::get_if<bool>(&option.default_value)) {
      all.push_back(usual.with(option.name, !*on));
    }
  }
  if (backend.name() == "cutlass") {
    for (const char* option : {"-accumulator=float16", "-arch=sm_75", "-arch=sm_80", "-arch=sm_86",
                               "-arch=sm_90", "-split_k_slices=1,2,4"}) {
      all.push_back(*parse_target(std::string("cutlass ") + option));
    }
  }
  return all;
}

class CapabilitiesOf : public ::testing::TestWithParam<const byoc::Backend*> {};

TEST_P(CapabilitiesOf, AreWhatItTakes) {
  const byoc::Backend& backend = *GetParam();
  for (const Target& target : targets_of(backend)) {
    const Capabilities declared = backend.capabilities(target);
    for (const Form& form : forms()) {
      EXPECT_EQ(form.is_declared(declared),
                is_taken(testing::parse_graph(form.text).functions.at("main"), backend, target))
          << short_text(target) << "\n"
          << form.text;
    }
  }
}

TEST_P(CapabilitiesOf, ComputeTheSame) {
  const byoc::Backend& backend = *GetParam();
  const Target target(backend.name());
  if (target.device() != DeviceType::kCpu) GTEST_SKIP() << "its code runs on a GPU";
  const Capabilities declared = backend.capabilities(target);
  const byoc::BackendChoice choices[] = {{&backend, target}};
  for (const Form& form : forms()) {
    if (!form.is_declared(declared)) continue;
    const Module graph = testing::parse_graph(form.text);
    const relay::Function& f = graph.functions.at("main");
    testing::expect_same_results(
        testing::compile_graph(graph, choices).module, graph,
        std::max(2e-5, ops::operator_tolerance(f.type(f.result()).dtype())));
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, CapabilitiesOf,
                         ::testing::ValuesIn(all_backends().begin(), all_backends().end()),
                         [](const auto& info) { return std::string(info.param->name()); });

}  // namespace
}  // namespace tessera::backends
