// SPDX-License-Identifier: Apache-2.0
#include "passes/manager.h"

#include <gtest/gtest.h>

#include "module/text.h"
#include "ops/records/table.h"

namespace tessera::passes {
namespace {

Module parse_good(const std::string& definitions) {
  const auto file = std::make_shared<const SourceFile>(
      SourceFile{"m.relay", "#[version = \"0.0.5\"]\n" + definitions});
  auto module = parse_module(file, ops::operators());
  if (module) return std::move(*module);
  ADD_FAILURE() << render(module.error());
  return {};
}

const std::string kZeroAdded =
    "def @main(%x: Tensor[(2), float32]) {\n  %0 = add(%x, 0f);\n  exp(%0)\n}\n";

std::vector<PassCall> calls_of(std::string_view text) {
  return parse_pipeline(text, all_passes()).value();
}

TEST(Manager, TypesAreInferredBeforeAPassThatNeedsThem) {
  const auto outcome =
      run_passes(parse_good(kZeroAdded), calls_of("simplify-expr"), ops::operators());
  ASSERT_TRUE(outcome) << render(outcome.error());
  const relay::Function& f = outcome->module.functions.at("main");
  EXPECT_EQ(to_string(f.type(f.params()[0])), "Tensor[(2), float32]");
}

TEST(Manager, TimesAndTheFlagOfChange) {
  std::vector<std::string> seen;
  ManagerOptions options;
  options.after_each = [&](const PassTime& time, const Module& m) {
    seen.push_back(time.name + (time.changed ? " changed" : " left"));
    EXPECT_EQ(m.functions.size(), 1u);
    EXPECT_GE(time.seconds, 0);
  };
  const auto outcome =
      run_passes(parse_good(kZeroAdded), calls_of("simplify-expr,simplify-expr,fold-constant"),
                 ops::operators(), options);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(seen, (std::vector<std::string>{"simplify-expr changed", "simplify-expr left",
                                            "fold-constant left"}));
  ASSERT_EQ(outcome->times.size(), 3u);
  EXPECT_EQ(outcome->times[2].name, "fold-constant");
}

TEST(Manager, StopsAfterTheNamedPass) {
  ManagerOptions options;
  options.stop_after = "fold-constant";
  const auto outcome =
      run_passes(parse_good(kZeroAdded), calls_of("infer-type,fold-constant,simplify-expr"),
                 ops::operators(), options);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->times.size(), 2u);
  EXPECT_NE(print(outcome->module).find("add("), std::string::npos);
}

TEST(Manager, DumpsAreNumbered) {
  std::vector<std::string> stems;
  ManagerOptions options;
  options.dump_dir = "dumps";
  options.dump = [&](const Module&, const std::string& stem) -> Result<void> {
    stems.push_back(stem);
    return {};
  };
  ASSERT_TRUE(run_passes(parse_good(kZeroAdded), calls_of("infer-type,fuse-ops"), ops::operators(),
                         options));
  EXPECT_EQ(stems, (std::vector<std::string>{"dumps/00_infer-type", "dumps/01_fuse-ops"}));
}

TEST(Manager, AFailedDumpEndsTheRun) {
  ManagerOptions options;
  options.dump_dir = "dumps";
  options.dump = [](const Module&, const std::string& stem) -> Result<void> {
    return fail(error(Code::kFileNotWritable, {}, "cannot write {}", stem));
  };
  EXPECT_FALSE(
      run_passes(parse_good(kZeroAdded), calls_of("infer-type"), ops::operators(), options));
}

// A pass with a bug: its literal uses a value from outside although it is primitive.
Result<Module> capture(Module module, PassContext&) {
  relay::FunctionBuilder b;
  const relay::NodeId x = b.param("x", tensor_type({Dim(2)}, kFloat32));
  const relay::RegionId body = b.begin_region();
  b.end_region(b.call(ops::op("exp"), {x}));
  const relay::NodeId literal = b.literal(body, {{"Primitive", 1}});
  module.functions["main"] = b.finish(b.call_value(literal, {}));
  return module;
}

TEST(Manager, AMalformedOutcomeIsOurBug) {
  const Pass bad{.name = "bad", .summary = "", .run = capture};
  const PassCall calls[] = {{&bad, {}}};
  ManagerOptions options;
  options.verify_each = true;
  EXPECT_THROW((void)run_passes(parse_good(kZeroAdded), calls, ops::operators(), options),
               InternalError);
  EXPECT_TRUE(run_passes(parse_good(kZeroAdded), calls, ops::operators()));
}

TEST(Manager, WarningsAndTargetsReachTheirPlace) {
  const Pass loud{
      .name = "loud", .summary = "", .run = [](Module m, PassContext& context) -> Result<Module> {
        context.warnings.push_back(
            warning(Code::kNotSupported, {}, "{} targets", context.targets.size()));
        return m;
      }};
  const PassCall calls[] = {{&loud, {}}};
  const auto outcome = run_passes(parse_good(kZeroAdded), calls, ops::operators());
  ASSERT_TRUE(outcome);
  ASSERT_EQ(outcome->warnings.size(), 1u);
  EXPECT_EQ(outcome->warnings[0].message, "0 targets");
}

TEST(HoistConstants, EqualOnesOnceInThePool) {
  Module module = parse_good(
      "def @f(%x: float32, Extern=1) { add(%x, 9f) }\n"
      "def @main(%x: float32) { add(multiply(%x, 2f), multiply(exp(2f), 3f)) }\n");
  const auto outcome = run_passes(std::move(module), calls_of("hoist-constants"), ops::operators());
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->module.constants.size(), 2u) << "2 and 3; an extern keeps its own";
  const relay::Function& f = outcome->module.functions.at("main");
  for (std::size_t i = 0; i < f.num_nodes(); ++i) {
    const auto* constant = f.as<relay::Constant>(relay::NodeId(i));
    if (constant == nullptr) continue;
    EXPECT_TRUE(std::holds_alternative<ConstantIndex>(constant->value));
  }
}

}  // namespace
}  // namespace tessera::passes
