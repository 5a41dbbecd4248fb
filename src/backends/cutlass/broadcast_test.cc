// SPDX-License-Identifier: Apache-2.0
// Products in which the matrices of a batch share something: a factor, or what stands behind them.
// Strides say so, and what they say is checked by loops on the host in place of the kernels.
#include <algorithm>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "backends/cutlass/gemm.h"
#include "backends/cutlass/measure_source.h"
#include "backends/cutlass/source.h"
#include "backends/cutlass/testing/host_kernel.h"
#include "backends/cutlass/testing/kernel_test.h"
#include "backends/cutlass/testing/models.h"
#include "byoc/compiler_functions.h"
#include "link/link_library.h"
#include "link/toolchain.h"
#include "ops/evaluate_function.h"
#include "support/files.h"
#include "support/subprocess.h"

namespace tessera::backends {
namespace {

using cutlass::Gemm;
using cutlass::testing::compile;
using cutlass::testing::composites_of;
using cutlass::testing::parse;
using cutlass::testing::RecordingToolchain;
using relay::Function;
using Lines = std::vector<std::string>;

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

// A function with these results.
std::string model(const Lines& results, const std::string& dtype = "float32") {
  std::string body, tuple;
  for (std::size_t i = 0; i < results.size(); ++i) {
    body += fmt::format("  %{} = {};\n", i, results[i]);
    tuple += fmt::format("%{}, ", i);
  }
  return replaced(R"(
def @main(%a: Tensor[(3, 40, 16), T], %u: Tensor[(3, 24, 16), T], %w: Tensor[(24, 16), T],
          %a1: Tensor[(1, 40, 16), T], %u1: Tensor[(1, 24, 16), T], %t: Tensor[(3, 16, 40), T],
          %t1: Tensor[(1, 16, 40), T], %v: Tensor[(3, 16, 24), T], %v1: Tensor[(1, 16, 24), T],
          %h: Tensor[(2, 3, 40, 16), T], %hv: Tensor[(2, 3, 16, 24), T],
          %h1: Tensor[(1, 1, 40, 16), T], %hb: Tensor[(2, 1, 16, 24), T],
          %hr: Tensor[(1, 3, 16, 24), T], %few: Tensor[(3, 2, 16), T],
          %i: Tensor[(2, 6, 7, 16), T], %k: Tensor[(24, 1, 1, 16), T],
          %k3: Tensor[(24, 3, 3, 16), T], %gate: Tensor[(2, 1, 1, 24), T],
          %s: Tensor[(1, 1, 1), T], %n: Tensor[(24), T], %m: Tensor[(40, 1), T],
          %mn: Tensor[(40, 24), T], %b: Tensor[(3, 1, 1), T], %bn: Tensor[(3, 1, 24), T],
          %bm: Tensor[(3, 40, 1), T], %bmn: Tensor[(3, 40, 24), T], %v40: Tensor[(40), T],
          %v3: Tensor[(3), T], %hn: Tensor[(2, 1, 1, 24), T], %hmn: Tensor[(2, 3, 1, 24), T]) {
)" + body + "  (" + tuple +
                      ")\n}",
                  ", T]", ", " + dtype + "]");
}

const char* const kBatch = "nn.batch_matmul(%a, %u, transpose_b=True)";
const char* const kShared = "nn.dense(%a, %w, units=None)";  // B is the same for all
const char* const kPointwise =
    "nn.conv2d(%i, %k, padding=[0, 0, 0, 0], data_layout=\"NHWC\", kernel_layout=\"OHWI\")";
const char* const kWindow =
    "nn.conv2d(%i, %k3, padding=[1, 1, 1, 1], data_layout=\"NHWC\", kernel_layout=\"OHWI\")";

std::string add(const std::string& product, const std::string& operand) {
  return fmt::format("add({}, {})", product, operand);
}

// Every way in which the three dimensions may be there or be one.
const Lines kOperands = {"%s", "%n", "%m", "%mn", "%b", "%bn", "%bm", "%bmn"};

// Products with factors that matrices share, and with operands behind them that they share.
Lines products() {
  Lines all = {
      "nn.batch_matmul(%a1, %u, transpose_b=True)",
      "nn.batch_matmul(%a, %u1, transpose_b=True)",
      "nn.batch_matmul(%a1, %v, transpose_b=False)",
      "nn.batch_matmul(%t, %v1, transpose_a=True)",
      "nn.batch_matmul(%t1, %v, transpose_a=True)",
      "nn.matmul(%t, %w, units=None, transpose_a=True, transpose_b=True)",
      "nn.matmul(%h, %hb, units=None)",
      "nn.matmul(%h1, %hv, units=None)",
      "nn.matmul(%a1, %hv, units=None)",
      "nn.matmul(%w, %hv, units=None)",
      "nn.matmul(%h, %v1, units=None)",
      "nn.matmul(%h, %hv, units=None)",
      add("nn.matmul(%h, %hb, units=None)", "%hn"),
      add("nn.matmul(%h, %v1, units=None)", "%hn"),
      add("nn.matmul(%h, %v1, units=None)", "%hmn"),
      fmt::format("nn.bias_add({}, %v40, axis=1)", kBatch),
      fmt::format("nn.bias_add({}, %v40, axis=-2)", kShared),
      fmt::format("nn.bias_add({}, %v3, axis=0)", kShared),
      fmt::format("multiply(%gate, {})", kPointwise),
      add(add(kShared, "%mn"), "%bn"),
  };
  for (const char* product : {kBatch, kShared}) {
    for (const std::string& operand : kOperands) all.push_back(add(product, operand));
  }
  return all;
}

// What the patterns make of the text, not yet compiled.
Module placed(const std::string& text, const Target& target = Target("cutlass")) {
  const byoc::BackendChoice choices[] = {{&cutlass_backend(), target}};
  auto outcome = byoc::partition_greedy(parse(text), choices);
  EXPECT_TRUE(outcome) << render(outcome.error());
  return std::move(outcome->module);
}

Gemm gemm_of(const std::string& product, const Target& target = Target("cutlass")) {
  const Module module = placed(model({product}), target);
  const auto symbols = byoc::compiler_functions(module, "cutlass");
  EXPECT_EQ(symbols.size(), 1u) << product;
  auto gemm = cutlass::describe_gemm(module.functions.at(symbols.at(0)), module.constants, target);
  EXPECT_TRUE(gemm) << product;
  return *std::move(gemm);
}

// Operators that the back end leaves, and why it does.
struct Left {
  std::ptrdiff_t operators = 0;
  std::string reason;
};
Left left(const std::string& product, const std::string& dtype = "float32") {
  RecordingToolchain toolchain;
  const auto outcome = compile(model({product}, dtype), toolchain);
  const Function& f = outcome.module.functions.at("main");
  Left left;
  for (std::size_t i = 0; i < f.num_nodes(); ++i) {
    left.operators += f.op(relay::NodeId(i)) != nullptr;
  }
  if (!outcome.refusals.empty()) left.reason = outcome.refusals.front().reason;
  return left;
}

TEST(CutlassBroadcasts, EachIsOneRegion) {
  for (const std::string& product : products()) EXPECT_EQ(left(product).operators, 0) << product;
}

// ---- On the host

std::string shape_text(const Shape& shape) {
  std::string text;
  for (const Dim& d : shape) text += to_string(d) + ", ";
  return "{" + text + "}";
}

// A program that prints the result of each region in a line.
std::string host_program(const Module& module, const Lines& symbols) {
  std::string kernels, declared, calls;
  std::set<std::string> known;
  const Target target("cutlass");
  for (const std::string& symbol : symbols) {
    const Function& f = module.functions.at(symbol);
    const Gemm gemm = *cutlass::describe_gemm(f, module.constants, target);
    const auto all = cutlass::candidates(gemm, target, cutlass::device_of(target));
    const std::string kernel = cutlass::kernel_symbol(gemm, all.front());
    if (known.insert(kernel).second) {
      kernels += fmt::format(
          "namespace of_{0} {{\n{1}}}\nextern \"C\" int32_t {0}(const tessera_call*, const "
          "GemmArguments* g) {{\n  return run_on_host<of_{0}::Function, {2}, {3}>(*g);\n}}\n",
          kernel,
          cutlass::function_text(gemm.epilogue, {"HostWords", "", cutlass::measured_element}),
          gemm.a_is_column_major, gemm.b_is_row_major);
    }
    std::string shapes;
    for (const relay::NodeId param : f.params()) {
      shapes += shape_text(f.type(param).shape()) + ", ";
    }
    declared += fmt::format("extern \"C\" tessera_backend_fn_of {};\n", symbol);
    calls += fmt::format("  print_region({}, {{{}{}}});\n", symbol, shapes,
                         shape_text(f.type(f.result()).shape()));
  }
  return "#include \"backends/cutlass/testing/host_kernel.h\"\n\n"
         "using namespace tessera::cutlass;\n"
         "using tessera_backend_fn_of = int32_t(const tessera_call*, tessera_tensor**, "
         "int32_t);\n" +
         kernels + declared + "int main() {\n" + calls + "}\n";
}

std::string output_of(link::Toolchain& toolchain, const std::string& regions,
                      const std::string& program) {
  const byoc::CompileJob jobs[] = {
      {"regions", regions, "cc", {"-O1"}, {TESSERA_SOURCE_DIR "/src"}, {}},
      {"program",
       program,
       "cc",
       {"-O1"},
       {TESSERA_SOURCE_DIR "/src"},
       {"backends/cutlass/testing/host_kernel.h"}}};
  const auto objects = toolchain.compile(jobs);
  if (!objects) ADD_FAILURE() << render(objects.error());
  const auto folder = TempDir::make("tessera-broadcasts");
  if (!objects || !folder) return "";
  const auto linked = link::link_program(toolchain, *objects, {}, folder->file("program"));
  EXPECT_TRUE(linked) << render(linked.error());
  const auto ran = run_process({folder->file("program")});
  EXPECT_TRUE(ran && ran->ok());
  return ran ? ran->out : "";
}

std::vector<double> wanted_of(const Module& module, const Function& f) {
  std::vector<Tensor> inputs;
  for (const relay::NodeId param : f.params()) {
    const auto shape = constant_shape(f.type(param).shape());
    std::vector<float> values(
        static_cast<std::size_t>(num_elements(f.type(param).shape()).constant()));
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = tessera::cutlass::host_value(static_cast<std::int64_t>(inputs.size()),
                                               static_cast<std::int64_t>(i));
    }
    inputs.push_back(Tensor::of(*shape, kFloat32, values));
  }
  const Tensor result = ops::evaluate(module, f, inputs).front();
  std::vector<double> values;
  for (std::int64_t i = 0; i < result.num_elements(); ++i) {
    values.push_back(element_as_double(result, i));
  }
  return values;
}

TEST(CutlassBroadcasts, KernelsAreHandedWhatTheOperatorsRead) {
  auto toolchain = link::Toolchain::find({.root = TESSERA_BUILD_DIR, .jobs = 2});
  ASSERT_TRUE(toolchain) << render(toolchain.error());
  const Lines all = products();
  const Module module = placed(model(all));
  const Lines symbols = byoc::compiler_functions(module, "cutlass");
  ASSERT_EQ(symbols.size(), all.size());
  RecordingToolchain recorded;
  compile(model(all), recorded);
  std::istringstream lines(
      output_of(*toolchain, recorded.sources.at("cutlass_regions"), host_program(module, symbols)));
  for (const std::string& symbol : symbols) {
    std::string line;
    ASSERT_TRUE(std::getline(lines, line)) << symbol;
    std::istringstream numbers(line);
    std::vector<double> values;
    for (double value; numbers >> value;) values.push_back(value);
    const Function& f = module.functions.at(symbol);
    EXPECT_EQ(values, wanted_of(module, f)) << ::testing::PrintToString(byoc::operators_of(f));
  }
}

// ---- How they are taken

TEST(CutlassBroadcasts, RowsAreAsManyAsCanBe) {
  const auto sizes = [](const std::string& product) {
    const Gemm g = gemm_of(product);
    return fmt::format("{} of {} rows{}{}", to_string(g.batch), to_string(g.m),
                       g.a_repeats ? ", one A" : "", g.b_repeats ? ", one B" : "");
  };
  EXPECT_EQ(sizes(kBatch), "3 of 40 rows");
  EXPECT_EQ(sizes(kShared), "1 of 120 rows");
  EXPECT_EQ(sizes("nn.batch_matmul(%a, %u1, transpose_b=True)"), "1 of 120 rows");
  EXPECT_EQ(sizes("nn.batch_matmul(%a1, %u, transpose_b=True)"), "3 of 40 rows, one A");
  EXPECT_EQ(sizes("nn.batch_matmul(%t, %v1, transpose_a=True)"), "3 of 40 rows, one B");
  EXPECT_EQ(sizes("nn.matmul(%h, %hb, units=None)"), "2 of 120 rows");
  EXPECT_EQ(sizes("nn.matmul(%h, %v1, units=None)"), "1 of 240 rows");
  EXPECT_EQ(sizes("nn.matmul(%h1, %hv, units=None)"), "6 of 40 rows, one A");
  EXPECT_EQ(sizes(kPointwise), "1 of 84 rows");
  // No more than what stands behind them allows.
  EXPECT_EQ(sizes(add(kShared, "%n")), "1 of 120 rows");
  EXPECT_EQ(sizes(add(kShared, "%bm")), "1 of 120 rows");
  EXPECT_EQ(sizes(add(kShared, "%m")), "3 of 40 rows, one B");
  EXPECT_EQ(sizes(add(kShared, "%mn")), "3 of 40 rows, one B");
  EXPECT_EQ(sizes(add("nn.matmul(%h, %v1, units=None)", "%hn")), "2 of 120 rows, one B");
  EXPECT_EQ(sizes(add("nn.matmul(%h, %v1, units=None)", "%hmn")), "6 of 40 rows, one B");
  EXPECT_EQ(sizes(fmt::format("multiply(%gate, {})", kPointwise)), "2 of 42 rows, one B");
}

// How many matrices there are is read off the result.
TEST(CutlassBroadcasts, BatchesMayBeOpen) {
  RecordingToolchain toolchain;
  compile(R"(
def @main(%x: Tensor[(1, 40, 16), float16], %y: Tensor[(?b, 24, 16), float16],
          %z: Tensor[(?b, 40, 16), float16], %w: Tensor[(24, 16), float16],
          %r: Tensor[(40, 24), float16]) {
  %0 = nn.batch_matmul(%x, %y, transpose_b=True);
  %1 = nn.dense(%z, %w, units=None);
  (%0, add(%1, %r), nn.relu(nn.dense(%z, %w, units=None)))
})",
          toolchain);
  const std::string& regions = toolchain.sources.at("cutlass_regions");
  for (const char* lines :
       {"m = 40, n = 24, k = 16, batch = size(tensors[2], 0, 1);\n  GemmArguments g = {};\n"
        "  g.m = m, g.n = n, g.k = k, g.batch = batch;\n  g.a = {data(tensors[0]), k, 0};",
        "m = 40, n = 24, k = 16, batch = size(tensors[3], 0, 1);",
        "g.b = {data(tensors[1]), k, 0};\n  g.d = {data(tensors[3]), n, m * n};\n"
        "  g.inputs[0] = {data(tensors[2]), n, 0};",
        "m = size(tensors[2], 0, 2), n = 24, k = 16, batch = 1;"}) {
    EXPECT_NE(regions.find(lines), std::string::npos) << lines << "\n" << regions;
  }
}

// TMA is told by a type, other kernels by a stride alone; work that is shared is other work.
TEST(CutlassBroadcasts, KernelsKnowWhatRepeats) {
  const std::string text =
      model({add("nn.batch_matmul(%a1, %u, transpose_b=True)", "%mn")}, "float16");
  RecordingToolchain later, older;
  compile(text, later);
  compile(text, older, *parse_target("cutlass -arch=sm_80"));
  const std::string &tma = later.sources.rbegin()->second, &other = older.sources.rbegin()->second;
  for (const char* line :
       {"using LayoutA = RepeatedA<::cutlass::layout::RowMajor>;",
        "using LayoutB = ::cutlass::layout::ColumnMajor;", "InputList<Repeated<::cutlass::half_t>>",
        "a=float16:row:8:repeated b=float16:column:8 "}) {
    EXPECT_NE(tma.find(line), std::string::npos) << line << tma;
  }
  EXPECT_NE(other.find("using LayoutA = ::cutlass::layout::RowMajor;"), std::string::npos) << other;
  const std::string& regions = older.sources.at("cutlass_regions");
  for (const char* line : {"g.a = {data(tensors[0]), k, 0};", "g.b = {data(tensors[1]), k, n * k};",
                           "g.inputs[0] = {data(tensors[2]), n, 0};"}) {
    EXPECT_NE(regions.find(line), std::string::npos) << line << regions;
  }
}

TEST(CutlassBroadcasts, ProgramsThatMeasureRepeatTheSame) {
  const Gemm gemm = gemm_of(add("nn.batch_matmul(%a1, %u, transpose_b=True)", "%mn"));
  const std::string table = measure_table(gemm, {});
  for (const char* line :
       {"40, 24, 16, 3,  // m, n, k, batch", "{0, 16, 0}, {0, 16, 384}, {0, 24, 960},  // A, B, D",
        "{{0, 24, 0}},"}) {
    EXPECT_NE(table.find(line), std::string::npos) << line << table;
  }
  EXPECT_NE(measure_source(gemm).find("InputList<Repeated<float>>"), std::string::npos);
}

// A view moves no data: the region reads the vector that it is a view of.
TEST(CutlassBroadcasts, OperandsMayBeViews) {
  for (const char* view : {"reshape(%n, newshape=[1, 1, 24])", "expand_dims(%n, axis=0)"}) {
    const Left what = left(fmt::format("nn.relu({})", add(kShared, view)));
    EXPECT_EQ(what.operators, 1) << view;
    EXPECT_EQ(what.reason, "") << view;
  }
}

// ---- What is not

TEST(CutlassBroadcasts, WhatHasNoStrideIsRefused) {
  const Left factors = left("nn.matmul(%h, %hr, units=None)");
  EXPECT_EQ(factors.operators, 1);
  EXPECT_EQ(factors.reason,
            "batches of (2, 3) and (1, 3) matrices are broadcast against each other");
  const Left images = left(fmt::format("multiply(%gate, {})", kWindow));
  EXPECT_EQ(images.operators, 1);
  EXPECT_EQ(images.reason,
            "an operand of shape (2, 1, 1, 24) repeats along some of the dimensions (2, 6, 7), "
            "which are one to the kernel");
  const Left rows = left(add("nn.matmul(%h, %hb, units=None)", "%hmn"));
  EXPECT_EQ(rows.operators, 1);
  EXPECT_EQ(rows.reason,
            "an operand of shape (2, 3, 1, 24) repeats along some of the dimensions (3, 40), which "
            "are one to the kernel");
  const Left heads = left(add("nn.matmul(%h, %hv, units=None)", "%hn"));
  EXPECT_EQ(heads.operators, 1);
  EXPECT_EQ(heads.reason,
            "an operand of shape (2, 1, 1, 24) repeats along some of the dimensions (2, 3), which "
            "are one to the kernel");
}

TEST(CutlassBroadcasts, MatricesOfABatchHaveALimit) {
  const auto reason = [](const std::string& dtype, int batch) {
    RecordingToolchain toolchain;
    const auto outcome = compile(
        replaced(fmt::format("def @main(%x: Tensor[({0}, 8, 16), T], %y: Tensor[({0}, 8, 16), T]) "
                             "{{ nn.batch_matmul(%x, %y, transpose_b=True) }}",
                             batch),
                 "T]", dtype + "]"),
        toolchain);
    return outcome.refusals.empty() ? "" : outcome.refusals.front().reason;
  };
  EXPECT_EQ(reason("float32", 65535), "");
  EXPECT_EQ(reason("float32", 65536),
            "a batch of 65536 has more than the 65535 matrices of a grid");
  EXPECT_EQ(reason("float16", 65536), "");  // its kernels go through tiles of all matrices
}

// Many tiles that are half empty take longer than another kernel; full ones and a few do not.
TEST(CutlassBroadcasts, TilesAreNotEmptierThanItIsWorth) {
  const auto reason = [](int batch, int rows, int k) {
    RecordingToolchain toolchain;
    const auto outcome = compile(
        fmt::format("def @main(%x: Tensor[({0}, {1}, {2}), float16], %w: Tensor[(4096, {2}), "
                    "float16], %f: Tensor[({0}, 1, 4096), float16]) {{ "
                    "multiply(nn.dense(%x, %w, units=None), %f) }}",
                    batch, rows, k),
        toolchain);
    EXPECT_EQ(composites_of(outcome).size(), 1u);
    return outcome.refusals.empty() ? "" : outcome.refusals.front().reason;
  };
  EXPECT_EQ(
      reason(512, 33, 4096),
      "it needs a batch of 512 matrices of 33 rows, whose tiles are emptier than it is worth");
  EXPECT_EQ(reason(512, 33, 64), "");  // what is moved counts more than what is multiplied
  EXPECT_EQ(reason(512, 128, 4096), "");
  EXPECT_EQ(reason(2, 3, 64), "");
}

// ---- With nvcc

// A factor that matrices share, A and B; all kinds of operands that they share and have for
// themselves.
TEST(CutlassKernels, OfBroadcastsCompile) {
  if (!cutlass::testing::can_compile()) GTEST_SKIP() << "there is no nvcc, or CUTLASS is not there";
  auto toolchain = link::Toolchain::find({.root = TESSERA_BUILD_DIR, .jobs = 2});
  ASSERT_TRUE(toolchain) << render(toolchain.error());
  const std::string one_a =
      add(add(add("nn.batch_matmul(%a1, %u, transpose_b=True)", "%mn"), "%bn"), "%bmn");
  const std::string one_b = add(add("nn.batch_matmul(%t, %v1, transpose_a=True)", "%b"), "%bm");
  for (const auto& [target, results] : {std::pair("cutlass", Lines{one_a, one_b}),
                                        std::pair("cutlass -arch=sm_80", Lines{one_a})}) {
    const auto outcome = compile(model(results, "float16"), *toolchain, *parse_target(target));
    for (const auto& refusal : outcome.refusals) ADD_FAILURE() << refusal.reason;
    EXPECT_EQ(outcome.module.externs.size(), results.size()) << target;
  }
}

}  // namespace
}  // namespace tessera::backends
