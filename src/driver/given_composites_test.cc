// SPDX-License-Identifier: Apache-2.0
// Composites that a model brings for a back end which has no pattern for them.
#include "driver/compile.h"
#include "driver/load_model.h"
#include "driver/testing/model_test.h"
#include "ops/evaluation/compare.h"
#include "ops/evaluation/evaluate_function.h"

namespace tessera::driver {
namespace {

using testing::ModelTest;
using testing::value_of;

class GivenComposites : public ModelTest {
 protected:
  static void expect_right(const CompileOptions& options) {
    const Module module = value_of(load_model(options.model, {}));
    const auto library = value_of(exec::Session::open_library(options.output, {.threads = 1}));
    const std::vector<Tensor> inputs = {exec::random_input(library->inputs().at(0), 1)};
    const auto wanted = ops::evaluate(module, module.functions.at("main"), inputs);
    EXPECT_TRUE(value_of(library->run(inputs)) == wanted);
  }
};

// The composite `ccompiler.two`, of relu and another operator.
std::string composite_of_two(const std::string& op) {
  return "def @f(%p: Tensor[(8), float32], Compiler=\"ccompiler\", global_symbol=\"f\") {\n"
         "  %0 = fn (%q: Tensor[(8), float32], Composite=\"ccompiler.two\") {\n"
         "    " +
         op +
         "(nn.relu(%q))\n"
         "  };\n"
         "  %0(%p)\n"
         "}\n"
         "def @main(%x: Tensor[(8), float32]) { sqrt(@f(%x)) }\n";
}

TEST_F(GivenComposites, ACompositeThatABackEndHasNoPatternForStaysWhole) {
  CompileOptions o = options(composite_of_two("negative"));
  o.strict = true;
  const CompileReport report = value_of(compile(o));
  EXPECT_TRUE(report.warnings.empty());
  ASSERT_EQ(report.placement.size(), 2u);
  EXPECT_EQ(report.placement[0].backend, "ccompiler");
  EXPECT_EQ(report.placement[0].operators, (std::vector<std::string>{"nn.relu", "negative"}));
  expect_right(o);
}

TEST_F(GivenComposites, ACompositeThatFallsApartIsToldWithItsReason) {
  CompileOptions o = options(composite_of_two("tanh"));
  const CompileReport report = value_of(compile(o));
  ASSERT_EQ(report.warnings.size(), 1u);
  EXPECT_EQ(report.warnings[0].message,
            "`ccompiler` does not take the composite `ccompiler.two` of `@f` whole: it has no "
            "formula for `tanh`");
  ASSERT_GE(report.placement.size(), 2u);
  EXPECT_EQ(report.placement[1].reason, "ccompiler: it has no formula for `tanh`");
  expect_right(o);
  o.strict = true;
  const auto refused = compile(o);
  ASSERT_FALSE(refused);
  EXPECT_NE(render(refused.error()).find("ccompiler.two"), std::string::npos);
}

}  // namespace
}  // namespace tessera::driver
