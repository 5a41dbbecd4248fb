// SPDX-License-Identifier: Apache-2.0
// Every back end against the samples of every operator: what it accepts compiles, and gives what
// `eval` gives. All samples are functions of one module, so that a back end compiles once.
#include <random>
#include <string_view>

#include <gtest/gtest.h>

#include "backends/table.h"
#include "backends/testing/graph_case.h"
#include "backends/testing/region_runner.h"
#include "ops/evaluation/compare.h"
#include "ops/inference/infer_types.h"
#include "ops/records/table.h"
#include "ops/samples/samples.h"
#include "support/testing/requirement.h"

namespace tessera::backends {
namespace {

struct Samples {
  Module module;
  std::map<std::string, ops::Sample> by_function;
};

bool is_static(const ops::Sample& sample) {
  for (const Type& t : flatten(sample.function.type(sample.function.result()))) {
    if (is_dynamic(t)) return false;
  }
  return true;
}

Samples all_samples() {
  Samples out;
  for (const relay::Operator* op : ops::operators().all()) {
    int number = 0;
    for (const std::string_view text : op->samples) {
      ops::Sample sample = ops::parse_sample(text);
      if (op->eval == nullptr || !is_static(sample)) continue;
      std::string name = fmt::format("{}_{}", op->name, number++);
      std::replace(name.begin(), name.end(), '.', '_');
      out.module.functions.emplace(name, sample.function);
      out.by_function.emplace(std::move(name), std::move(sample));
    }
  }
  return out;
}

class Conformance : public ::testing::TestWithParam<const byoc::Backend*> {};

TEST_P(Conformance, AcceptedSamplesMatchTheReference) {
  const byoc::Backend& backend = *GetParam();
  const Target target(backend.name());
  if (const auto missing = backend.available(target)) {
    (void)::tessera::testing::is_there(std::string(backend.name()), false);
    GTEST_SKIP() << missing->reason;
  }
  if (target.device() != DeviceType::kCpu) GTEST_SKIP() << "its code runs on a GPU";
  const Samples samples = all_samples();
  const byoc::BackendChoice choices[] = {{&backend, target}};
  const auto outcome = testing::compile_graph(samples.module, choices);
  const testing::CompiledModule code(outcome.module);
  int accepted = 0;
  for (const auto& [name, sample] : samples.by_function) {
    const relay::Function& placed = outcome.module.functions.at(name);
    bool taken = false;
    for (std::size_t i = 0; i < placed.num_nodes(); ++i) {
      taken |= placed.as<relay::GlobalRef>(relay::NodeId{i}) != nullptr;
    }
    if (!taken) continue;
    ++accepted;
    const auto inputs = ops::random_inputs(sample, 3);
    const auto wanted = testing::run_function(samples.module, code, name, inputs);
    const auto found = testing::run_function(outcome.module, code, name, inputs);
    ASSERT_EQ(found.size(), wanted.size()) << sample.text;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_LE(ops::relative_difference(found[i], wanted[i]),
                ops::operator_tolerance(wanted[i].dtype))
          << sample.text;
    }
  }
  RecordProperty("accepted", accepted);
  EXPECT_GE(accepted, 5) << "of " << samples.by_function.size() << " samples";
}

INSTANTIATE_TEST_SUITE_P(Backends, Conformance,
                         ::testing::ValuesIn(all_backends().begin(), all_backends().end()),
                         [](const auto& info) { return std::string(info.param->name()); });

}  // namespace
}  // namespace tessera::backends
