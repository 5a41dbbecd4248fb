// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "driver/compile.h"
#include "driver/entries.h"
#include "driver/testing/model_test.h"
#include "driver/vendor_libraries.h"
#include "link/library_file.h"
#include "ops/evaluation/compare.h"
#include "ops/evaluation/evaluate_function.h"
#include "support/files.h"
#include "types/target_list.h"

namespace tessera::driver {
namespace {

using testing::ModelTest;
using testing::value_of;

class DriverTest : public ModelTest {
 protected:
  // Exported and interpreted, against the operators' evaluation.
  static void expect_right(const CompileOptions& options) {
    const Module module = value_of(load_model(options.model, {}));
    const auto interpreted = value_of(prepare_in_process(options, {.threads = 2}));
    const auto exported = value_of(exec::Session::open_library(options.output, {.threads = 2}));
    std::vector<Tensor> inputs;
    for (const exec::PortInfo& port : exported->inputs()) {
      inputs.push_back(exec::random_input(port, inputs.size() + 1));
    }
    const auto wanted = ops::evaluate(module, module.functions.at("main"), inputs);
    EXPECT_TRUE(value_of(interpreted->run(inputs)) == wanted);
    EXPECT_TRUE(value_of(exported->run(inputs)) == wanted);
  }
};

std::vector<std::string> backends_of(const CompileReport& report) {
  std::vector<std::string> out;
  for (const PlacementRow& row : report.placement) out.push_back(row.backend);
  std::sort(out.begin(), out.end());
  return out;
}

TEST_F(DriverTest, LongAxesAreSortedByTheRuntime) {
  const CompileOptions o = options(
      "def @main(%x: Tensor[(4, 300, 2), float32], %n: Tensor[(500), int32]) {\n"
      "  %0 = topk(%x, k=5, axis=1, dtype=\"int64\");\n"
      "  %1 = argsort(%n, is_ascend=False);\n"
      "  %2 = sort(%x, axis=1);\n"
      "  %3 = topk(%n, k=3, ret_type=\"indices\", is_ascend=True);\n"
      "  (%0.0, %0.1, %1, %2, %3)\n"
      "}\n");
  for (const Partition partition : {Partition::kNone, Partition::kGreedy}) {
    CompileOptions with = o;
    with.partition = partition;
    const CompileReport report = value_of(compile(with));
    EXPECT_EQ(backends_of(report), std::vector<std::string>(4, "runtime"));
    EXPECT_TRUE(report.needed_libraries.empty());
    expect_right(with);
  }
}

TEST_F(DriverTest, ManyUpdatesAreScatteredByTheRuntime) {
  const CompileOptions o = options(
      "def @main(%x: Tensor[(6, 5, 4), float32], %i: Tensor[(1, 50), int32], "
      "%u: Tensor[(50, 5, 4), float32], %e: Tensor[(60, 5, 4), int32]) {\n"
      "  %0 = nn.relu(%x);\n"
      "  %1 = scatter_nd(%0, floor_mod(%i, 6), %u);\n"
      "  %2 = concatenate((%u, %u), axis=0);\n"
      "  %3 = scatter_elements(%2, floor_mod(%e, 100), nn.relu(cast(%e, dtype=\"float32\")), "
      "axis=0, reduction=\"max\");\n"
      "  (%1, %3)\n"
      "}\n");
  const CompileReport report = value_of(compile(o));
  const auto backends = backends_of(report);
  EXPECT_EQ(std::count(backends.begin(), backends.end(), "runtime"), 2);
  expect_right(o);
}

TEST_F(DriverTest, ShortAxesAreSortedByLoops) {
  const CompileOptions o = options(
      "def @main(%x: Tensor[(300, 4), float32]) {\n"
      "  %0 = topk(%x, k=2);\n"
      "  (%0.0, %0.1)\n"
      "}\n");
  EXPECT_EQ(backends_of(value_of(compile(o))), std::vector<std::string>{"native"});
  expect_right(o);
}

TEST_F(DriverTest, AResultMayBeAnInputOrAConstantOrGivenTwice) {
  const CompileOptions o = options(
      "def @main(%x: Tensor[(3), float32]) {\n"
      "  %0 = negative(%x);\n"
      "  (%x, %0, %0, 2f)\n"
      "}\n");
  value_of(compile(o));
  expect_right(o);
}

// A global, a literal, an equal one, one bound by `let` that calls another, and one for nobody;
// with composites of somebody else's names, and more in them than the back end takes.
constexpr const char* kFunctionsOfBackends = R"(
def @outlined(%p: Tensor[(8), float32], Compiler="ccompiler", Primitive=1, Inline=1, global_symbol="outlined") {
  %0 = fn (%a: Tensor[(8), float32], Composite="cutlass.something") { add(%a, %a) };
  %0(%p)
}
def @nobody(%p: Tensor[(8), float32], Compiler="nowhere", Primitive=1, global_symbol="nobody") {
  multiply(%p, 2f)
}
def @unused(%p: Tensor[(8), float32], Compiler="ccompiler", Primitive=1, global_symbol="unused") {
  add(%p, %p)
}
def @main(%x: Tensor[(8), float32]) {
  %4 = fn (%p: Tensor[(8), float32], Compiler="ccompiler", Primitive=1, global_symbol="a name") {
    negative(add(%p, 1.5f))
  };
  let %f = fn (%p: Tensor[(8), float32], Compiler="ccompiler", Primitive=1) {
    %1 = fn (%q: Tensor[(8), float32], Compiler="ccompiler", Primitive=1) { multiply(%q, %q) };
    add(%1(%p), 1f)
  };
  %2 = fn (%p: Tensor[(8), float32], Compiler="ccompiler", Primitive=1) { add(%p, %p) };
  %3 = %2(@nobody(%f(%4(@outlined(%x)))));
  subtract(%3, %x)
}
)";

TEST_F(DriverTest, FunctionsOfBackEndsComeInAnyForm) {
  CompileOptions o = options(kFunctionsOfBackends);
  const CompileReport report = value_of(compile(o));
  std::vector<std::string> regions;
  for (const PlacementRow& row : report.placement) {
    if (row.backend == "ccompiler") regions.push_back(row.region);
  }
  EXPECT_GE(regions.size(), 3u);
  for (const std::string& r : regions) EXPECT_EQ(r.find("unused"), std::string::npos);
  ASSERT_EQ(report.warnings.size(), 1u);
  EXPECT_NE(report.warnings[0].message.find("`nowhere`"), std::string::npos);
  expect_right(o);
  o.strict = true;
  EXPECT_FALSE(compile(o));
}

// The function that case studies of partitioned transformers end in: scalars of a folded GELU
// inside of the composite, the bias as a constant in its call.
constexpr const char* kGeluOfBackEnd = R"(
def @region(%i0: Tensor[(16, 32), float16], %i1: Tensor[(24, 32), float16], Inline=1, Compiler="BACKEND", global_symbol="region", Primitive=1) -> Tensor[(16, 24), float16] {
  %9 = fn (%p0: Tensor[(16, 32), float16], %p1: Tensor[(24, 32), float16], %p2: Tensor[(24), float16], Composite="cutlass.dense_bias_gelu_fp16") -> Tensor[(16, 24), float16] {
    %1 = nn.dense(%p0, %p1, units=None, out_dtype="float16");
    %2 = add(%1, %p2);
    %3 = multiply(%2, 0.707f16);
    %4 = cast(%3, dtype="float32");
    %5 = erf(%4);
    %6 = cast(%5, dtype="float16");
    %7 = multiply(%6, 0.5f16);
    %8 = add(%7, 0.5f16);
    multiply(%8, %2)
  };
  %9(%i0, %i1, full(0.25f16, shape=[24]))
}
def @main(%x: Tensor[(16, 32), float16], %w: Tensor[(24, 32), float16], %y: Tensor[(16, 32), float16]) {
  (@region(%x, %w), @region(%y, %w))
}
)";

// A literal reads what is around it, inside of a compiler function too; a composite that no back
// end is named for is as good as its body.
TEST_F(DriverTest, PlainLiteralsAreTheirBodies) {
  const CompileOptions o = options(
      "def @main(%x: Tensor[(2, 3), float32]) {\n"
      "  %0 = negative(%x);\n"
      "  %1 = fn (%p: Tensor[(2, 3), float32]) { subtract(%p, %0) };\n"
      "  %2 = %1(%x);\n"
      "  %3 = fn (%p: Tensor[(2, 3), float32], Composite=\"nobody.abs\") { abs(%p) };\n"
      "  %4 = %3(%2);\n"
      "  %5 = fn (%p: Tensor[(2, 3), float32], Compiler=\"ccompiler\") {\n"
      "    %6 = fn (%q: Tensor[(2, 3), float32]) { add(%q, %p) };\n"
      "    %6(%p)\n"
      "  };\n"
      "  (%5(%4), %1(%4))\n"
      "}\n");
  const CompileReport report = value_of(compile(o));
  const std::vector<std::string> used = backends_of(report);
  EXPECT_EQ(std::count(used.begin(), used.end(), "ccompiler"), 1);
  expect_right(o);
}

TEST_F(DriverTest, ConstantsOfACompositeSurviveEveryBackEnd) {
  for (const std::string backend : {"onednn", "blas", "ccompiler", "cutlass"}) {
    SCOPED_TRACE(backend);
    std::string text = kGeluOfBackEnd;
    text.replace(text.find("BACKEND"), std::string("BACKEND").size(), backend);
    const CompileOptions o = options(text);
    const CompileReport report = value_of(compile(o));
    EXPECT_FALSE(report.warnings.empty()) << "no back end here takes the composite whole";
    const Module module = value_of(load_model(o.model, {}));
    const auto exported = value_of(exec::Session::open_library(o.output, {}));
    std::vector<Tensor> inputs;
    for (const exec::PortInfo& port : exported->inputs()) {
      inputs.push_back(exec::random_input(port, inputs.size() + 1));
    }
    const auto wanted = ops::evaluate(module, module.functions.at("main"), inputs);
    const auto found = value_of(exported->run(inputs));
    ASSERT_EQ(found.size(), wanted.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_LT(ops::relative_difference(found[i], wanted[i]), ops::graph_tolerance(kFloat16));
    }
  }
}

// As arrays of an .npz do.
TEST_F(DriverTest, InputsMayLieAtAnyByte) {
  const CompileOptions o = options("def @main(%x: Tensor[(3), float32]) { add(%x, %x) }\n");
  (void)value_of(compile(o));
  const Tensor x = Tensor::of({3}, kFloat32, std::vector<float>{1, 2, 3});
  std::vector<std::byte> shifted(1);
  const auto bytes = x.blob->bytes();
  shifted.insert(shifted.end(), bytes.begin(), bytes.end());
  const Tensor odd({3}, kFloat32, Blob::slice(Blob::adopt(std::move(shifted)), 1, bytes.size()));
  const auto exported = value_of(exec::Session::open_library(o.output, {}));
  const auto interpreted = value_of(prepare_in_process(o, {}));
  EXPECT_TRUE(value_of(exported->run({{odd}})) == value_of(exported->run({{x}})));
  EXPECT_TRUE(value_of(interpreted->run({{odd}})) == value_of(exported->run({{x}})));
}

TEST_F(DriverTest, EntriesShareOneKernelLibrary) {
  const CompileOptions o = options(
      "def @double(%x: Tensor[(3), float32]) { add(%x, %x) }\n"
      "def @four(%x: Tensor[(3), float32]) { %0 = add(%x, %x); add(%0, %0) }\n"
      "def @main(%x: Tensor[(3), float32]) { %x }\n");
  Module module = value_of(load_model(o.model, {}));
  auto toolchain = value_of(link::Toolchain::find({.root = TESSERA_BUILD_DIR, .cache_folder = ""}));
  const MachineCode code = value_of(machine_code(Target(), toolchain.compiler()));
  const EntryLibrary library =
      value_of(EntryLibrary::build(std::move(module), Target(), code, toolchain));
  EXPECT_EQ(library.names(), (std::vector<std::string>{"double", "four", "main"}));
  const std::vector<Tensor> x = {Tensor::of<float>({3}, kFloat32, {1, 2, 3})};
  const auto run = [&](const std::string& entry) {
    return value_of(value_of(library.open(entry, {}))->run(x)).front();
  };
  EXPECT_EQ(run("double"), Tensor::of<float>({3}, kFloat32, {2, 4, 6}));
  EXPECT_EQ(run("four"), Tensor::of<float>({3}, kFloat32, {4, 8, 12}));
  EXPECT_EQ(run("main"), x.front());
}

TEST_F(DriverTest, DumpsAreWritten) {
  CompileOptions o = options("def @main(%x: Tensor[(3), float32]) { nn.relu(%x) }\n");
  o.dump_dir = folder_.file("dump");
  value_of(compile(o));
  EXPECT_NE(read_file(o.dump_dir + "/loops.tir")->find("T.prim_func"), std::string::npos);
  EXPECT_TRUE(read_file(o.dump_dir + "/plan.txt")->starts_with("pool arena"));
  EXPECT_NE(read_file(o.dump_dir + "/kernels_0.cc")->find("//   ops: nn.relu"), std::string::npos);
  EXPECT_NE(read_file(o.dump_dir + "/host.cc")->find("tessera_program"), std::string::npos);
}

TEST_F(DriverTest, VendorLibrariesAreBundledWholeOrNotAtAll) {
  Module module;
  Artifact artifact;
  artifact.backend = "onednn";
  artifact.vendor_libraries = {"libdnnl.so.3"};
  module.artifacts.push_back(artifact);
  const std::string output = folder_.file("m.so"), copy = folder_.file("libdnnl.so.3");
  struct rlimit old {};
  getrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, SIG_IGN);
  const struct rlimit small { 4096, old.rlim_max };
  setrlimit(RLIMIT_FSIZE, &small);
  const auto full = bundle_libraries(module, output);
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, SIG_DFL);
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().list.front().code, Code::kFileNotWritable);
  EXPECT_NE(full.error().list.front().message.find(copy), std::string::npos);
  EXPECT_NE(full.error().list.front().remedy.find("make room"), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
  for (int times = 0; times < 2; ++times) {  // what is there already is written over
    ASSERT_TRUE(bundle_libraries(module, output));
    const auto original = read_file(vendor_library_folders(module).back() + "/libdnnl.so.3");
    ASSERT_TRUE(original);
    EXPECT_TRUE(*read_file(copy) == *original);
  }
  artifact.backend = "blas";
  module.artifacts.push_back(artifact);
  const auto foreign = bundle_libraries(module, output);  // its own back end is asked, and no other
  ASSERT_FALSE(foreign);
  EXPECT_EQ(foreign.error().list.front().code, Code::kBackendMissing);
}

TEST_F(DriverTest, ARequiredBackEndWithoutAPatternForAConvolutionIsAnError) {
  CompileOptions o = options(
      "def @main(%x: Tensor[(1, 2, 4, 4, 4), float32], %w: Tensor[(3, 2, 1, 1, 1), float32]) {\n"
      "  nn.conv3d(%x, %w)\n}\n");
  o.require = {"blas"};
  const std::pair<Partition, const char*> cases[] = {
      {Partition::kGreedy, "no pattern of blas fits `nn.conv3d`"},
      {Partition::kNone, "no back end was asked"}};
  o.targets = {Target(), Target("blas")};
  for (const auto& [partition, reason] : cases) {
    o.partition = partition;
    const auto refused = compile(o);
    ASSERT_FALSE(refused);
    const Diagnostic& d = refused.error().list.front();
    EXPECT_EQ(d.code, Code::kRequirementUnmet);
    EXPECT_NE(d.message.find(reason), std::string::npos) << d.message;
    EXPECT_NE(to_string(d.location), "");
    EXPECT_FALSE(d.remedy.empty());
  }
}

TEST_F(DriverTest, NativeRowsSayWhyNobodyElseTookTheOperator) {
  CompileOptions o = options(
      "def @main(%x: Tensor[(3, 4), int32], %w: Tensor[(5, 4), int32]) {\n"
      "  %0 = nn.dense(%x, %w, units=5);\n  abs(%0)\n}\n");
  o.targets = {Target(), Target("blas")};
  const auto report = compile(o);
  ASSERT_TRUE(report) << render(report.error());
  ASSERT_EQ(report->placement.size(), 1u);
  EXPECT_EQ(report->placement[0].reason, "blas: data type int32 is neither float32 nor float64");
}

TEST_F(DriverTest, WhereTheModelLiesIsNotInTheLibrary) {
  CompileOptions o = options("def @main(%x: Tensor[(3), float32]) {\n  abs(%x)\n}\n");
  ASSERT_TRUE(compile(o));
  const auto here = read_file(o.output);
  const std::string elsewhere = folder_.file("elsewhere");
  std::filesystem::create_directories(elsewhere);
  std::filesystem::rename(o.model, elsewhere + "/model.relay");
  o.model = elsewhere + "/model.relay";
  ASSERT_TRUE(compile(o));
  const auto there = read_file(o.output);
  ASSERT_TRUE(here && there);
  EXPECT_TRUE(*here == *there);
  EXPECT_EQ(here->find(folder_.path()), std::string::npos);
}

TEST_F(DriverTest, TheLibraryDoesNotReplaceTheModel) {
  CompileOptions o = options("def @main(%x: Tensor[(3), float32]) {\n  abs(%x)\n}\n");
  o.output = o.model;
  const auto refused = compile(o);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().list.front().code, Code::kFileNotWritable);
  EXPECT_TRUE(compile(options("def @main(%x: Tensor[(3), float32]) {\n  abs(%x)\n}\n")));
}

TEST_F(DriverTest, ARequiredBackEndThatDoesNotTakeAProductIsAnError) {
  CompileOptions o = options(
      "def @main(%x: Tensor[(3, 4), int32], %w: Tensor[(5, 4), int32]) {\n"
      "  nn.dense(%x, %w, units=5)\n}\n");
  o.targets = {Target(), Target("blas")};
  o.require = {"blas"};
  const auto refused = compile(o);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().list.front().code, Code::kRequirementUnmet);
  EXPECT_NE(refused.error().list.front().message.find("`nn.dense` went to native"),
            std::string::npos)
      << refused.error().list.front().message;
  EXPECT_FALSE(std::filesystem::exists(o.output));
}

// How often the bytes of a number that each of 24 layers multiplies by are in the library.
TEST_F(DriverTest, EqualLayersHaveOneCopyOfTheirKernels) {
  constexpr std::int64_t kFactor = 0x0123456789abcdef;
  const auto copies = [&](bool equal) {
    std::string layers = "def @main(%x0: Tensor[(1), int64]) {\n";
    for (int i = 0; i < 24; ++i) {
      const int summand = equal ? 7 : 7 + i;
      layers += fmt::format(
          "  let %x{} = sum(add(multiply(%x{}, {}i64), {}i64), axis=[0], keepdims=True);\n", i + 1,
          i, kFactor, summand);
    }
    const CompileOptions o = options(layers + "  %x24\n}\n");
    value_of(compile(o));
    const std::string library = read_file(o.output).value();
    const std::string_view number(reinterpret_cast<const char*>(&kFactor), sizeof(kFactor));
    int count = 0;
    for (auto at = library.find(number); at != library.npos; at = library.find(number, at + 1)) {
      ++count;
    }
    return count;
  };
  EXPECT_EQ(copies(true), 1);
  EXPECT_GE(copies(false), 24);
}

TEST(DimBindings, AreReadOrRefused) {
  EXPECT_EQ(value_of(parse_dim_binding("batch=4")).size, 4);
  const DimBinding range = value_of(parse_dim_binding("seq=8..512:128"));
  EXPECT_FALSE(range.size);
  EXPECT_EQ(range.range.min, 8);
  EXPECT_EQ(range.range.max, 512);
  EXPECT_EQ(range.range.likely, 128);
  EXPECT_FALSE(value_of(parse_dim_binding("seq=1..9")).range.likely);
  EXPECT_EQ(value_of(parse_dim_binding("seq=4..")).range.max, -1);
  EXPECT_EQ(value_of(parse_dim_binding("seq=8..64 step 8:16")).range.step, 8);
  for (const char* wrong : {"", "seq", "=4", "seq=", "seq=x", "seq=-1", "seq=..4", "seq=9..1",
                            "seq=1..9:10", "seq=1..9:", "seq=4 "}) {
    const auto binding = parse_dim_binding(wrong);
    EXPECT_FALSE(binding) << wrong;
    if (!binding) {
      EXPECT_EQ(binding.error().list[0].code, Code::kBadOption);
    }
  }
}

TEST(DimBindings, SayWhichBoundIsWrong) {
  const auto finding = [](const std::string& text) {
    const auto binding = parse_dim_binding(text);
    return binding ? std::string() : binding.error().list[0].message;
  };
  EXPECT_EQ(finding("n=5..1"), "--dim n=5..1: the maximum 1 is below the minimum 5");
  EXPECT_EQ(finding("n=1..8:9"), "--dim n=1..8:9: the likely size 9 is above the maximum 8");
  EXPECT_EQ(finding("n=2..8:1"), "--dim n=2..8:1: the likely size 1 is below the minimum 2");
  EXPECT_EQ(finding("n=2..:1"), "--dim n=2..:1: the likely size 1 is below the minimum 2");
  EXPECT_EQ(finding("n=1..8 step 0"), "--dim n=1..8 step 0: the step 0 is below 1");
  EXPECT_NE(finding("n=a..b").find("are numbers"), std::string::npos);
  EXPECT_NE(finding("=1..2").find("is neither NAME=SIZE nor"), std::string::npos);
  EXPECT_EQ(finding("n+1=1..2"), "") << "files have such names";
}

TEST(DimBindings, AreGivenOnce) {
  const std::vector<std::string> apart = {"n=4", "m=1..5"}, twice = {"n=4", "m=3", "n=1..5"};
  EXPECT_EQ(value_of(parse_dim_bindings(apart)).size(), 2u);
  const auto refused = parse_dim_bindings(twice);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().list[0].message, "--dim n=1..5: `n` is given more than once");
}

}  // namespace
}  // namespace tessera::driver
