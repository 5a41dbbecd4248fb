// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <set>

#include <fmt/format.h>

#include "backends/cutlass/attention/attention_configuration.h"
#include "backends/cutlass/measuring/measure_source.h"
#include "support/hash.h"

namespace tessera::backends::cutlass {
namespace {

Source strides_text(const HeadsView& view) {
  return source("{{0, {}, {}, {}}}", view.batch_stride, view.head_stride, view.row_stride);
}

}  // namespace

Source measure_source(const Attention& a) {
  const Source name = c_name("measure_" + hash_text(a.kernel_text()).hex().substr(0, 8));
  return source(
      "// Times kernels of attention {0}\n"
      "#include \"backends/cutlass/kernels/measure_attention.cuh\"\n\n"
      "namespace tessera::cutlass::measure::{1} {{\n\n"
      "struct Problem {{\n"
      "  using Element = {2};\n  using Mask = {3};\n"
      "  static constexpr bool kIsCausal = {4}, kHasMask = {5}, kIsTf32 = {6};\n}};\n\n"
      "}}  // namespace\n\n"
      "int main(int argc, char** argv) {{\n"
      "  using namespace tessera::cutlass::measure;\n"
      "  return measure_main<MeasuredAttention<{1}::Problem>>(argc, argv);\n}}\n",
      c_comment(a.kernel_text()), name, measured_element(a.dtype),
      measured_element(a.mask ? a.mask_dtype : a.dtype), a.is_causal, a.mask.has_value(),
      a.dtype == kFloat32 && !a.emulates_float32);
}

Source measure_table(const Attention& a, std::span<const AttentionConfiguration> candidates) {
  Source kernels, rows;
  std::set<std::string> declared;
  for (const AttentionConfiguration& c : candidates) {
    const std::string symbol = kernel_symbol(a, c);
    if (declared.insert(symbol).second) {
      kernels +=
          source("int32_t {}(const tessera_call*, const AttentionArguments*);\n", c_name(symbol));
    }
    rows += source("    {{&{}, {}, {}}},  // {}\n", c_name(symbol), c.is_dependent ? 1 : 0,
                   workspace_bytes(a, c), c_comment(c.text()));
  }
  const std::array<int, 3> memories = memories_of(a);
  return source(
      "// {0}\n"
      "#include \"backends/cutlass/kernels/measure_attention.h\"\n\n"
      "using namespace tessera::cutlass;\n\n"
      "extern \"C\" {{\n{1}\n"
      "const AttentionArguments tessera_measured_attention = {{\n"
      "    {2}, {3}, {4}, {5}, {22}, {6:a}f,  // batch, heads, queries, keys, width, scale\n"
      "    {7}, {8}, {9},  // Q, K, V\n"
      "    {10},  // O\n"
      "    {11},  // mask\n"
      "    {20}, {21:d}, 0}};\n"
      "const MeasuredPlace tessera_measured_places[3] = {{{{{12}, {13}}}, {{{14}, {15}}}, "
      "{{{16}, {17}}}}};\n"
      "const MeasuredAttentionCandidate tessera_measured_candidates[] = {{\n{18}}};\n"
      "const int32_t tessera_measured_candidate_count = {19};\n"
      "}}  // extern \"C\"\n",
      c_comment(a.workload()), kernels, a.batch, a.heads, a.queries, a.keys,
      static_cast<float>(a.scale), strides_text(a.q), strides_text(a.k), strides_text(a.v),
      strides_text(a.o), strides_text(a.mask.value_or(HeadsView{})), memories[0], a.q.offset,
      memories[1], a.k.offset, memories[2], a.v.offset, rows, candidates.size(), a.hidden_text(),
      a.seen, a.width);
}

}  // namespace tessera::backends::cutlass
