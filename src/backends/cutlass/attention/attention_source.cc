// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "backends/cutlass/attention/attention_configuration.h"
#include "byoc/compiler_functions.h"
#include "byoc/function_at_a_time.h"

namespace tessera::backends::cutlass {
namespace {

using relay::Function;

Literal element(DType dtype) {
  return dtype == kFloat16   ? Literal("::cutlass::half_t")
         : dtype == kFloat32 ? Literal("float")
         : dtype.is_bool()   ? Literal("uint8_t")
                             : "::cutlass::bfloat16_t";
}

Source heads_text(const HeadsView& view, const Source& tensor, DType dtype) {
  const Source data = view.offset == 0 ? source("data({})", tensor)
                                       : source("static_cast<char*>(data({})) + {}", tensor,
                                                view.offset * dtype.size_bytes());
  return source("{{{}, {}, {}, {}}}", data, view.batch_stride, view.head_stride, view.row_stride);
}

// Rows of the mask that a thread of the kernel reads: none, one for all queries, or one for each.
int mask_rows(const Attention& a) { return !a.mask ? 0 : a.mask->row_stride == 0 ? 1 : 2; }

// Kernels read masks in pairs, but for an odd number of keys.
bool is_odd(const Attention& a) { return a.mask && a.keys % 2 != 0; }

std::string mask_name(const Attention& a) {
  static constexpr const char* kNames[] = {"", "_keymask_", "_mask_"};
  const std::string causal = a.is_causal ? "_causal" : "";
  if (!a.mask) return causal;
  return causal + kNames[mask_rows(a)] + to_string(a.mask_dtype) + (is_odd(a) ? "_odd" : "");
}

// How float32 is multiplied.
std::string math_name(const Attention& a) {
  return a.dtype != kFloat32 ? "" : a.emulates_float32 ? "_3xtf32" : "_tf32";
}

// As the words of a text.
std::string kernel_text_of(const Attention& a, const std::string& width) {
  std::string text = to_string(a.dtype) + width + math_name(a) + mask_name(a);
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

// As the workload has it.
std::string view_text(const HeadsView& view) {
  return fmt::format("{}:{}:{}", view.batch_stride, view.head_stride, view.row_stride);
}

}  // namespace

bool is_attention(const Function& region) {
  const auto operators = byoc::operators_of(region);
  return std::find(operators.begin(), operators.end(), "nn.softmax") != operators.end();
}

DType Attention::float32_precision() const {
  return dtype == kFloat32 && !emulates_float32 ? kFloat16 : kFloat32;
}

std::string Attention::kernel_text() const { return kernel_text_of(*this, ""); }

std::string Attention::workload() const {
  const std::array<int, 3> memories = memories_of(*this);
  std::string text =
      fmt::format("attention batch={} heads={} queries={} keys={} {}", batch, heads, queries, keys,
                  kernel_text_of(*this, fmt::format(" width={}", width)));
  const HeadsView* const views[] = {&q, &k, &v};
  for (std::size_t i = 0; i < 3; ++i) {
    text += fmt::format(" {}={}+{}:{}", "qkv"[i], memories[i], views[i] -> offset,
                        view_text(*views[i]));
  }
  text += " o=" + view_text(o);
  return mask ? text + " mask=" + view_text(*mask) : text;
}

Source Attention::hidden_text() const {
  return std::isinf(hidden) ? Source("-__builtin_inff()")
                            : source("{:a}f", static_cast<float>(hidden));
}

std::array<int, 3> memories_of(const Attention& a) {
  const int k = a.k.node == a.q.node ? 0 : 1;
  return {0, k, a.v.node == a.q.node ? 0 : a.v.node == a.k.node ? k : k + 1};
}

Literal template_header(const AttentionConfiguration& c) {
  return c.schedule == AttentionSchedule::kMultistage ? Literal("attention_sm80.cuh")
                                                      : "attention_sm90.cuh";
}

std::string kernel_symbol(const Attention& a, const AttentionConfiguration& c) {
  return fmt::format("tessera_attention_{}_{}{}{}_{}", to_string(a.dtype), kernel_width(a, c),
                     math_name(a), mask_name(a), c.kernel_name());
}

Source kernel_source(const Attention& a, const AttentionConfiguration& c) {
  const Source symbol = c_name(kernel_symbol(a, c));
  const bool is_multistage = c.schedule == AttentionSchedule::kMultistage;
  const Source problem =
      is_multistage ? source("  static constexpr bool kEmulates = {};\n", a.emulates_float32)
                    : Source();
  const Source config =
      is_multistage ? Source() : source("  using Schedule = {};\n", c.schedule_name());
  return source(
      "// {0}\n#include \"backends/cutlass/kernels/{10}\"\n\n"
      "namespace tessera::cutlass::{0} {{\n\n"
      "struct Problem {{\n"
      "  using Element = {1};\n"
      "  using Mask = {7};\n"
      "  static constexpr int kWidth = {2};\n"
      "  static constexpr bool kIsCausal = {8};\n"
      "  static constexpr int kMaskRows = {3};\n"
      "  static constexpr bool kIsOdd = {12};\n{9}}};\n\n"
      "struct Config {{\n"
      "  static constexpr int kQueries = {4}, kKeys = {5};\n{6}}};\n\n"
      "using Launcher = {11}<Problem, Config>;\n\n}}  // namespace\n\n"
      "TESSERA_KERNEL({0}, tessera::cutlass::{0}::Launcher,\n"
      "               tessera::cutlass::AttentionArguments)\n",
      symbol, element(a.dtype), kernel_width(a, c), mask_rows(a), c.queries, c.keys, config,
      element(a.mask ? a.mask_dtype : a.dtype), a.is_causal, problem, template_header(c),
      is_multistage ? Literal("AttentionSm80") : "AttentionSm90", is_odd(a));
}

Source region_source(const std::string& symbol, const Function& region, const Attention& a,
                     const AttentionConfiguration& c) {
  const Source kernel = c_name(kernel_symbol(a, c));
  const auto tensor = [&](const HeadsView& view) {
    return source("tensors[{}]", byoc::argument_position(region, view.node));
  };
  Source text = source(
      "// {} heads of {} in each of {}: {} queries, {} keys\n"
      "int32_t {}(const tessera_call*, const AttentionArguments*);\n"
      "int32_t {}(const tessera_call* call, tessera_tensor** tensors, int32_t) {{\n",
      a.heads, a.width, a.batch, a.queries, a.keys, kernel, c_name(symbol));
  text += source(
      "  AttentionArguments a = {{}};\n"
      "  a.batch = {}, a.heads = {}, a.queries = {}, a.keys = {}, a.width = {};\n"
      "  a.scale = {:a}f;\n",
      a.batch, a.heads, a.queries, a.keys, a.width, static_cast<float>(a.scale));
  text += source("  a.q = {};\n", heads_text(a.q, tensor(a.q), a.dtype));
  text += source("  a.k = {};\n", heads_text(a.k, tensor(a.k), a.dtype));
  text += source("  a.v = {};\n", heads_text(a.v, tensor(a.v), a.dtype));
  const Source result = source("tensors[{}]", region.params().size());
  text += source("  a.o = {};\n", heads_text(a.o, result, a.dtype));
  if (a.mask) {
    text += source("  a.mask = {};\n", heads_text(*a.mask, tensor(*a.mask), a.mask_dtype));
    if (a.hidden != 0) {
      text += source("  a.hidden = {}, a.seen = {:d};\n", a.hidden_text(), a.seen);
    }
  }
  return text + source("  a.dependent = {};\n  return {}(call, &a);\n}}\n", c.is_dependent ? 1 : 0,
                       kernel);
}

}  // namespace tessera::backends::cutlass
