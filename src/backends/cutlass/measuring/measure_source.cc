// SPDX-License-Identifier: Apache-2.0
#include "backends/cutlass/measuring/measure_source.h"

#include <set>

#include <fmt/format.h>

#include "backends/cutlass/source.h"
#include "support/check.h"
#include "support/hash.h"

namespace tessera::backends::cutlass {
namespace {

// Strides in elements: of rows, and of the matrices of a batch.
Source matrix_text(std::int64_t row_stride, std::int64_t batch_stride) {
  return source("{{0, {}, {}}}", row_stride, batch_stride);
}

Source inputs_text(const Gemm& g, std::int64_t m, std::int64_t n) {
  const std::int64_t elements[] = {n, m, m * n, 1, 0};  // by InputKind
  Source text;
  for (const EpilogueInput& input : g.epilogue.inputs) {
    text += (text.empty() ? Literal("") : ", ") +
            matrix_text(n, input.is_batched ? elements[static_cast<int>(input.kind)] : 0);
  }
  return text;
}

// What the window gathers, by kind of convolution.
constexpr Literal kGathered[] = {"kImage", "kPlaces", "kImageAsB"};

}  // namespace

Source measured_element(DType dtype) {
  if (dtype == kFloat16) return Literal("__half");
  if (dtype == kBFloat16) return Literal("__nv_bfloat16");
  if (dtype.is_int()) return c_name(to_string(dtype)) + "_t";
  if (dtype.is_bool()) return Literal("uint8_t");
  TESSERA_CHECK(dtype == kFloat32, "no element type for {}", to_string(dtype));
  return Literal("float");
}

Source measure_source(const Gemm& g) {
  const Source name = c_name("measure_" + hash_text(g.kernel_text()).hex().substr(0, 8));
  return source(
      "// Times kernels of {0}\n"
      "#include \"backends/cutlass/kernels/measure_gemm.cuh\"\n\n"
      "namespace tessera::cutlass::measure::{1} {{\n\n"
      "struct Problem {{\n"
      "  using A = {2};\n  using B = {3};\n  using Sum = {11};\n  using D = {4};\n"
      "  static constexpr Gathered kGathered = Gathered::{12};\n"
      "  static constexpr bool kAIsColumnMajor = {5}, kBIsRowMajor = {6};\n"
      "  static constexpr bool kHasHalfSums = {7}, kIsTf32 = {8}, kIsFast = {9};\n}};\n\n"
      "{10}\n"
      "}}  // namespace\n\n"
      "int main(int argc, char** argv) {{\n"
      "  using namespace tessera::cutlass::measure;\n"
      "  return measure_main<MeasuredGemm<{1}::Problem, {1}::Function>>(argc, argv);\n}}\n",
      c_comment(g.kernel_text()), name, measured_element(g.a_dtype), measured_element(g.b_dtype),
      measured_element(g.epilogue.dtype), g.a_is_column_major, g.b_is_row_major,
      g.sum_dtype == kFloat16, g.a_dtype == kFloat32 && !g.emulates_float32,
      g.is_fast || g.widens(), function_text(g.epilogue, {"Words", "__device__", measured_element}),
      measured_element(g.epilogue.sum_dtype),
      g.convolution ? kGathered[static_cast<int>(g.convolution->kind)] : Literal("kNothing"));
}

Source measure_table(const Gemm& g, std::span<const Configuration> candidates) {
  Source kernels, rows;
  std::set<std::string> declared;
  for (const Configuration& c : candidates) {
    const std::string symbol = kernel_symbol(g, c);
    if (declared.insert(symbol).second) {
      kernels += source("int32_t {}(const tessera_call*, const GemmArguments*);\n", c_name(symbol));
    }
    rows += source("    {{&{}, {}, {}, {}, {}, {}}},  // {}\n", c_name(symbol), c.swizzle,
                   raster_along_m(c), c.is_dependent ? 1 : 0, c.splits, workspace_bytes(g, c),
                   c_comment(c.text()));
  }
  const std::int64_t m = g.m.constant(), n = g.n.constant(), k = g.k.constant(),
                     batch = g.batch.constant();
  const bool is_one = batch == 1;
  return source(
      "// {0}\n"
      "#include \"backends/cutlass/kernels/measure_gemm.h\"\n\n"
      "using namespace tessera::cutlass;\n\n"
      "extern \"C\" {{\n{1}\n"
      "const GemmArguments tessera_measured_product = {{\n"
      "    {2}, {3}, {4}, {5},  // m, n, k, batch\n"
      "    {6}, {7}, {8},  // A, B, D\n"
      "    {{{9}}},\n    0, 0, 0, 0{12}}};\n"
      "const MeasuredCandidate tessera_measured_candidates[] = {{\n{10}}};\n"
      "const int32_t tessera_measured_candidate_count = {11};\n"
      "}}  // extern \"C\"\n",
      c_comment(g.workload()), kernels, m, n, k, batch,
      matrix_text(g.a_is_column_major ? m : k, is_one || g.a_repeats ? 0 : m * k),
      matrix_text(g.b_is_row_major ? n : k, is_one || g.b_repeats ? 0 : n * k),
      matrix_text(n, is_one ? 0 : m * n), inputs_text(g, m, n), rows, candidates.size(),
      g.convolution ? Literal(", ") + window_text(*g.convolution, {}) : Source());
}

}  // namespace tessera::backends::cutlass
