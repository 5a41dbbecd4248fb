// SPDX-License-Identifier: Apache-2.0
// What the strides of shared factors and operands say, checked by loops on the host in place of the
// kernels.
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "backends/cutlass/gemm/gemm.h"
#include "backends/cutlass/measuring/measure_source.h"
#include "backends/cutlass/source.h"
#include "backends/cutlass/testing/broadcasts.h"
#include "backends/cutlass/testing/host_kernel.h"
#include "backends/cutlass/testing/models.h"
#include "byoc/compiler_functions.h"
#include "link/link_library.h"
#include "link/toolchain.h"
#include "ops/evaluation/evaluate_function.h"
#include "support/files.h"
#include "support/subprocess.h"

namespace tessera::backends {
namespace {

using cutlass::Gemm;
using cutlass::testing::compile;
using cutlass::testing::Lines;
using cutlass::testing::model;
using cutlass::testing::parse;
using cutlass::testing::placed;
using cutlass::testing::products;
using cutlass::testing::RecordingToolchain;
using relay::Function;

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
          cutlass::function_text(gemm.epilogue, {"HostWords", "", cutlass::measured_element})
              .text(),
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
  const CompileJob jobs[] = {
      {"regions", Source::trusted(regions), "cc", {"-O1"}, {TESSERA_SOURCE_DIR "/src"}, {}},
      {"program",
       Source::trusted(program),
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
  const Module module = placed(parse(model(all))).module;
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

}  // namespace
}  // namespace tessera::backends
