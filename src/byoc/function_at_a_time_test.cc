// SPDX-License-Identifier: Apache-2.0
#include "byoc/function_at_a_time.h"

#include <gtest/gtest.h>

#include "passes/testing/text.h"

namespace tessera::byoc {
namespace {

// Hands the sources back as objects.
class Echo final : public Toolchain {
 public:
  Result<std::vector<std::string>> compile(std::span<const CompileJob> jobs) override {
    std::vector<std::string> objects;
    for (const CompileJob& job : jobs) {
      flags = job.flags;
      objects.push_back("object of " + job.source.text());
    }
    return objects;
  }
  Result<std::string> archive(std::span<const std::string> objects) override {
    return "archive of " + objects[0];
  }
  std::string identity() const override { return "none"; }
  std::vector<std::string> flags;
};

// Refuses sources that hold a word.
class Fussy final : public Toolchain {
 public:
  explicit Fussy(std::string word) : word_(std::move(word)) {}
  Result<std::vector<std::string>> compile(std::span<const CompileJob> jobs) override {
    if (jobs[0].source.text().find(word_) == std::string::npos) {
      return std::vector{jobs[0].source.text()};
    }
    return fail(error(Code::kToolFailed, {}, "{} has {}", jobs[0].name, word_)
                    .with_remedy("see the folder"));
  }
  Result<std::string> archive(std::span<const std::string> objects) override { return objects[0]; }
  std::string identity() const override { return "none"; }
  bool blames_the_machine(const Diagnostic&) const override { return is_full; }
  bool is_full = false;  // the machine's disk

 private:
  std::string word_;
};

Module two_functions() {
  return passes::testing::module_of(R"(
def @one(%x: Tensor[(4), float32], %y: Tensor[(4), float32], Primitive=1, Compiler="onednn", global_symbol="one") {
  %0 = fn (%a: Tensor[(4), float32], %b: Tensor[(4), float32], Composite="onednn.subtract") { subtract(%a, %b) };
  %0(%y, %x)
}
def @two(%x: Tensor[(4), float32], Primitive=1, Compiler="onednn", global_symbol="two") { abs(%x) }
)");
}

Expected<Source, Refusal> emit_one(const std::string& symbol, const relay::Function&,
                                   const ConstantPool&) {
  if (symbol != "one") return Unexpected{Refusal{"it is not the first"}};
  return source("int {}();\n", c_name(symbol));
}

CompileOutcome compile(ArtifactKind kind, const EmitFunction& emit, Toolchain& toolchain) {
  Artifact artifact;
  artifact.kind = kind;
  artifact.backend = "onednn";
  artifact.compile_flags = {"-O2"};
  CompileContext context{toolchain, 1, false, {}};
  auto outcome = compile_function_at_a_time(two_functions(), std::move(artifact),
                                            Literal("#include <cmath>\n"), emit, context);
  EXPECT_TRUE(outcome) << render(outcome.error());
  return std::move(*outcome);
}

constexpr const char* kSource = "#include <cmath>\n\nextern \"C\" {\n\nint one();\n\n}\n";

Expected<Source, Refusal> emit_all(const std::string& symbol, const relay::Function&,
                                   const ConstantPool&) {
  return source("int {}();\n", c_name(symbol));
}

TEST(FunctionAtATime, WhatTheCompilerRefusesIsDeclinedAndTheRestIsCompiled) {
  Fussy toolchain("two");
  const CompileOutcome out = compile(ArtifactKind::kStaticLibrary, emit_all, toolchain);
  ASSERT_EQ(out.module.artifacts.size(), 1u);
  EXPECT_EQ(out.module.artifacts[0].symbols, std::vector<std::string>{"one"});
  EXPECT_EQ(out.module.artifacts[0].payload, kSource);
  ASSERT_EQ(out.declined.size(), 1u);
  EXPECT_EQ(out.declined[0].symbol, "two");
  EXPECT_EQ(out.declined[0].why.message, "back end `onednn` cannot compile `two`: two has two");
  EXPECT_EQ(out.declined[0].why.remedy, "see the folder");
}

// Not even where the compiler would have the others.
TEST(FunctionAtATime, WhatTheMachineFailsIsAnError) {
  Fussy toolchain("two");
  toolchain.is_full = true;
  Artifact artifact;
  artifact.kind = ArtifactKind::kStaticLibrary;
  artifact.backend = "onednn";
  CompileContext context{toolchain, 1, false, {}};
  const auto out =
      compile_function_at_a_time(two_functions(), std::move(artifact), {}, emit_all, context);
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().list.front().message, "onednn has two");
}

// Nothing is tried one by one where the frame itself is at fault.
TEST(FunctionAtATime, ABadPrologueDeclinesAll) {
  Fussy toolchain("cmath");
  const CompileOutcome out = compile(ArtifactKind::kStaticLibrary, emit_all, toolchain);
  EXPECT_TRUE(out.module.artifacts.empty());
  ASSERT_EQ(out.declined.size(), 2u);
  EXPECT_EQ(out.declined[0].why.message,
            "back end `onednn` cannot compile `one`: onednn has cmath");
}

TEST(FunctionAtATime, WhatHasTextIsDefinedByOneArtifactAndTheRestIsDeclined) {
  Echo toolchain;
  const CompileOutcome out = compile(ArtifactKind::kCSource, emit_one, toolchain);
  ASSERT_EQ(out.module.artifacts.size(), 1u);
  EXPECT_EQ(out.module.artifacts[0].payload, kSource);
  EXPECT_EQ(out.module.artifacts[0].symbols, std::vector<std::string>{"one"});
  EXPECT_EQ(out.module.externs.size(), 1u);
  EXPECT_EQ(out.module.externs.at("one").artifact, 0);
  ASSERT_EQ(out.declined.size(), 1u);
  EXPECT_EQ(out.declined[0].symbol, "two");
  EXPECT_EQ(out.declined[0].why.message,
            "back end `onednn` cannot compile `two`: it is not the first");
}

TEST(FunctionAtATime, AStaticLibraryIsMadeAtOnce) {
  Echo toolchain;
  const CompileOutcome out = compile(ArtifactKind::kStaticLibrary, emit_one, toolchain);
  ASSERT_EQ(out.module.artifacts.size(), 1u);
  EXPECT_EQ(out.module.artifacts[0].payload, std::string("archive of object of ") + kSource);
  EXPECT_EQ(toolchain.flags, std::vector<std::string>{"-O2"});
}

TEST(FunctionAtATime, NoArtifactWhereAllAreDeclined) {
  Echo toolchain;
  const auto none = [](const std::string&, const relay::Function&,
                       const ConstantPool&) -> Expected<Source, Refusal> {
    return Unexpected{Refusal{"no"}};
  };
  const CompileOutcome out = compile(ArtifactKind::kCSource, none, toolchain);
  EXPECT_TRUE(out.module.artifacts.empty());
  EXPECT_TRUE(out.module.externs.empty());
  EXPECT_EQ(out.declined.size(), 2u);
}

TEST(FunctionAtATime, ArgumentsOfACompositeByTheRegionsParameters) {
  const Module module = two_functions();
  const relay::Function& f = module.functions.at("one");
  const auto* composite = f.as<relay::Literal>(f.operands(f.result())[0]);
  const auto& params = f.region(composite->body).params;
  EXPECT_EQ(argument_position(f, params[0]), 1u);
  EXPECT_EQ(argument_position(f, params[1]), 0u);
}

}  // namespace
}  // namespace tessera::byoc
