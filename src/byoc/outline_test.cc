// SPDX-License-Identifier: Apache-2.0
#include "byoc/outline.h"

#include <gtest/gtest.h>

#include "byoc/passes.h"
#include "byoc/share_functions.h"
#include "module/text.h"
#include "ops/inference/infer_types.h"
#include "ops/records/table.h"
#include "passes/manager.h"
#include "support/files.h"

namespace tessera::byoc {
namespace {

Module read(const std::string& body) {
  const auto file = std::make_shared<const SourceFile>(
      SourceFile{"test.relay", "#[version = \"0.0.5\"]\n" + body});
  auto module = parse_module(file, ops::operators());
  EXPECT_TRUE(module.has_value());
  auto typed = ops::infer_types(std::move(*module));
  EXPECT_TRUE(typed.has_value());
  return std::move(*typed);
}

constexpr const char* kThreeLiterals = R"(
def @main(%x: Tensor[(2), float32]) {
  %0 = fn (%p: Tensor[(2), float32], Compiler="c", global_symbol="first") { exp(%p) };
  %1 = fn (%q: Tensor[(2), float32], Compiler="c", global_symbol="second") { exp(%q) };
  %2 = fn (%r: Tensor[(2), float32], Compiler="c") { sqrt(%r) };
  add(%0(%x), add(%1(%x), %2(%x)))
}
)";

TEST(SharedGlobalSymbols, EqualFunctionsShareOneWhateverTheirSymbol) {
  Module module = read(kThreeLiterals);
  SharedGlobalSymbols symbols([](const relay::Function&) { return "shared"; }, module);
  const auto outlined = outline_functions(std::move(module), symbols, "");
  ASSERT_TRUE(outlined.has_value());
  std::vector<std::string> names;
  for (const auto& [name, f] : outlined->functions) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"main", "shared", "shared_1"}));
  EXPECT_EQ(outlined->functions.at("shared").attrs.string_or_empty("global_symbol"), "shared");
  EXPECT_EQ(outlined->functions.at("shared_1").attrs.string_or_empty("global_symbol"), "shared_1");
}

TEST(SharedGlobalSymbols, NamesOfTheModuleAreNotGiven) {
  Module module = read(kThreeLiterals);
  SharedGlobalSymbols symbols([](const relay::Function&) { return "main"; }, module);
  const auto outlined = outline_functions(std::move(module), symbols, "");
  ASSERT_TRUE(outlined.has_value());
  EXPECT_TRUE(outlined->functions.contains("main_1"));
  EXPECT_TRUE(outlined->functions.contains("main_2"));
  EXPECT_TRUE(ops::infer_types(*outlined).has_value());
}

TEST(ExistingGlobalSymbols, EveryFunctionWithoutSymbolIsAnError) {
  Module module = read(kThreeLiterals);
  ExistingGlobalSymbols symbols;
  const auto outlined = outline_functions(std::move(module), symbols, "");
  ASSERT_FALSE(outlined.has_value());
  ASSERT_EQ(outlined.error().list.size(), 1u);
  EXPECT_NE(outlined.error().list[0].message.find("`global_symbol`"), std::string::npos);
}

// The text of a partitioned transformer's function with its metadata section, as it was printed
// elsewhere: its bias becomes an argument, its scalars stay.
TEST(UnbindConstants, ReadsThemFromAMetadataSection) {
  const std::string path = TESSERA_SOURCE_DIR "/src/relay/text/testdata/bert_constants.relay";
  const auto file =
      std::make_shared<const SourceFile>(SourceFile{"bert.relay", read_file(path).value()});
  Module module = parse_module(file, ops::operators()).value();
  const auto calls = passes::parse_pipeline("unbind-constants", all_passes()).value();
  const auto outcome = passes::run_passes(std::move(module), calls, ops::operators());
  ASSERT_TRUE(outcome.has_value());
  const relay::Function& f = outcome->module.functions.at("tvmgen_default_cutlass_main_267");
  ASSERT_EQ(f.params().size(), 3u);
  EXPECT_EQ(to_string(f.type(f.params()[2])), "Tensor[(4096), float16]");
  const std::string text = print(outcome->module);
  EXPECT_EQ(text.find("relay.Constant"), std::string::npos) << "no constant is left but literals";
  EXPECT_NE(text.find("0.707f16"), std::string::npos);
}

TEST(ShareEqualFunctions, OneDefinitionForAllCalls) {
  Module module = read(R"(
def @a(%p: Tensor[(2), float32], %w: Tensor[(2), float32], Compiler="c", global_symbol="a") { add(%p, %w) }
def @b(%q: Tensor[(2), float32], %v: Tensor[(2), float32], Compiler="c", global_symbol="b") { add(%q, %v) }
def @c(%q: Tensor[(2), float32], %v: Tensor[(2), float32], Compiler="other", global_symbol="c") { add(%q, %v) }
def @d(%q: Tensor[(2), float32], %v: Tensor[(2), float32], Compiler="c", global_symbol="d") { add(%v, %q) }
def @main(%x: Tensor[(2), float32]) { @a(@b(@c(@d(%x, %x), %x), %x), %x) }
)");
  const Shared shared = share_equal_functions(std::move(module), "c");
  EXPECT_EQ(shared.replaced, (std::map<std::string, std::string>{{"b", "a"}}));
  const Module wanted = read(R"(
def @a(%p: Tensor[(2), float32], %w: Tensor[(2), float32], Compiler="c", global_symbol="a") { add(%p, %w) }
def @c(%q: Tensor[(2), float32], %v: Tensor[(2), float32], Compiler="other", global_symbol="c") { add(%q, %v) }
def @d(%q: Tensor[(2), float32], %v: Tensor[(2), float32], Compiler="c", global_symbol="d") { add(%v, %q) }
def @main(%x: Tensor[(2), float32]) { @a(@a(@c(@d(%x, %x), %x), %x), %x) }
)");
  EXPECT_TRUE(compare(shared.module, wanted).equal);
}

}  // namespace
}  // namespace tessera::byoc
