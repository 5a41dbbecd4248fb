// SPDX-License-Identifier: Apache-2.0
// What tests of `--partition collage` share.
#pragma once

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "driver/compile.h"
#include "driver/testing/model_test.h"
#include "ops/evaluation/compare.h"

namespace tessera::driver::testing {

inline constexpr const char* kAbsAndProduct = R"(
def @main(%x: Tensor[(64, 64), float32], %w: Tensor[(64, 64), float32]) {
  %0 = abs(%x);
  %1 = nn.dense(%0, %w, units=64);
  %2 = abs(%1);
  nn.softmax(%2)
})";

class CollageTest : public ModelTest {
 protected:
  CompileOptions collage(const std::string& text = kAbsAndProduct,
                         const std::string& ccompiler_header = "") {
    CompileOptions o = options(text);
    o.partition = Partition::kCollage;
    o.records = folder_.file("r.db");
    o.tuning.measures = true;
    o.tuning.evolve_s = 0;
    o.threads = 1;
    o.targets.push_back(ccompiler_header.empty()
                            ? Target("ccompiler")
                            : Target("ccompiler").with("header", ccompiler_header));
    return o;
  }
  static const WholePlan& plan(const CompileReport& report, const std::string& name) {
    for (const WholePlan& p : report.collage->plans) {
      if (p.name.find(name) != std::string::npos) return p;
    }
    throw std::runtime_error("no plan " + name);
  }
  static const WholePlan& chosen(const CompileReport& report) {
    const auto& plans = report.collage->plans;
    return *std::find_if(plans.begin(), plans.end(), [](const auto& p) { return p.is_chosen; });
  }
  static std::vector<Tensor> outputs_of(const std::string& library) {
    const auto session = value_of(exec::Session::open_library(library, {.threads = 1}));
    std::vector<Tensor> inputs;
    for (exec::PortInfo port : session->inputs()) {
      for (std::int64_t& size : port.shape) size = std::max<std::int64_t>(size, 1);
      inputs.push_back(exec::random_input(port, inputs.size() + 1));
    }
    return value_of(session->run(inputs));
  }
  std::vector<Tensor> native_outputs(const std::string& text) {
    CompileOptions native = options(text);
    native.output = new_library();
    native.partition = Partition::kNone;
    value_of(compile(native));
    return outputs_of(native.output);
  }
  static std::string bytes_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void expect_close(const std::vector<Tensor>& found, const std::vector<Tensor>& wanted) {
    ASSERT_EQ(found.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_LT(ops::relative_difference(found[i], wanted[i]), 1e-4);
    }
  }
};

}  // namespace tessera::driver::testing
