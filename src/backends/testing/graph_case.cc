// SPDX-License-Identifier: Apache-2.0
#include "backends/testing/graph_case.h"

#include <cmath>
#include <random>

#include "backends/testing/region_runner.h"
#include "byoc/placer.h"
#include "ops/evaluation/compare.h"
#include "ops/inference/infer_types.h"
#include "ops/records/table.h"
#include "relay/rewrite.h"
#include "relay/text/parse.h"
#include "support/check.h"

namespace tessera::backends::testing {
namespace {

using relay::Function;
using relay::NodeId;

// Integers of eight bits are any, others less than `magnitude`, as floats less than 1.
Tensor random_tensor(const Type& type, std::mt19937_64& random, double magnitude = 4) {
  const auto shape = *constant_shape(type.shape());
  std::vector<double> values;
  std::int64_t count = 1;
  for (const std::int64_t d : shape) count *= d;
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (std::int64_t i = 0; i < count; ++i) values.push_back(uniform(random));
  if (type.dtype().is_float()) return tensor_from_doubles(shape, type.dtype(), values);
  std::vector<std::int64_t> ints;
  const double middle = type.dtype() == kUInt8 ? 128 : 0;
  if (type.dtype().is_byte()) magnitude = 128;
  for (const double v : values) {
    ints.push_back(static_cast<std::int64_t>(std::floor(middle + v * magnitude)));
  }
  return tensor_from_ints(shape, type.dtype(), ints);
}

Function with_constants(const Function& f) {
  std::mt19937_64 random(7);
  return relay::rewrite(f, [&](relay::Copier& c, NodeId id) -> std::optional<NodeId> {
    const auto* param = f.as<relay::Param>(id);
    if (param == nullptr || param->name.rfind("c_", 0) != 0) return std::nullopt;
    constexpr double kWeights = 127;
    return c.builder().constant(random_tensor(param->annotation, random, kWeights));
  });
}

template <class T>
T expect(Result<T> result) {
  if (!result) throw std::runtime_error(render(result.error()));
  return std::move(*result);
}

}  // namespace

Module parse_graph(const std::string& text) {
  const auto file =
      std::make_shared<SourceFile>(SourceFile{"test", "#[version = \"0.0.5\"]" + text});
  auto parsed = expect(relay::parse_text(file, ops::operators()));
  Module module;
  for (auto& [name, f] : parsed.functions) module.functions.emplace(name, with_constants(f));
  return expect(ops::infer_types(std::move(module)));
}

byoc::PartitionOutcome compile_graph(const Module& module,
                                     std::span<const byoc::BackendChoice> choices,
                                     byoc::MadeParts* made) {
  byoc::CompileContext context{test_toolchain(), 1, true, {}, nullptr, made};
  auto outcome = expect(byoc::partition_greedy(module, choices));
  outcome.module = expect(ops::infer_types(std::move(outcome.module)));
  return expect(byoc::compile_backends(std::move(outcome), choices, context));
}

std::vector<std::string> composites_of(const byoc::PartitionOutcome& outcome) {
  std::vector<std::string> out;
  for (const auto& region : outcome.regions) {
    for (const std::string& c : region.composites) out.push_back(c.substr(c.find('.') + 1));
  }
  return out;
}

void expect_same_results(const Module& compiled, const Module& reference, double tolerance,
                         std::vector<int> threads) {
  std::mt19937_64 random(11);
  const Function& f = reference.functions.at("main");
  std::vector<Tensor> inputs;
  for (const NodeId param : f.params()) inputs.push_back(random_tensor(f.type(param), random));
  const CompiledModule code(compiled);
  const auto wanted = run_function(reference, code, "main", inputs);
  for (const int t : threads) {
    const auto found = run_function(compiled, code, "main", inputs, t);
    ASSERT_EQ(found.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_LE(ops::relative_difference(found[i], wanted[i]), tolerance)
          << "output " << i << " with " << t << " threads";
    }
  }
}

}  // namespace tessera::backends::testing
