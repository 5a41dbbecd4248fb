// SPDX-License-Identifier: Apache-2.0
#include "backends/cutlass/source.h"

#include <algorithm>

#include <fmt/format.h>

#include "byoc/function_at_a_time.h"
#include "support/check.h"
#include "support/hash.h"

namespace tessera::backends::cutlass {
namespace {

using relay::Function;

Source element(DType dtype) {
  if (dtype == kFloat16) return Literal("::cutlass::half_t");
  if (dtype == kBFloat16) return Literal("::cutlass::bfloat16_t");
  if (dtype.is_int()) return c_name(to_string(dtype)) + "_t";
  TESSERA_CHECK(dtype == kFloat32, "no element type for {}", to_string(dtype));
  return Literal("float");
}

Source element(DType dtype, const Float8Format* format) {
  if (format == nullptr) return element(dtype);
  return Source(format == &kFloat8E4M3 ? Literal("::cutlass::float_e4m3_t")
                                       : "::cutlass::float_e5m2_t");
}

Source layout(bool is_row_major) {
  return Source(is_row_major ? Literal("::cutlass::layout::RowMajor")
                             : "::cutlass::layout::ColumnMajor");
}

// Of B as it is stored.
Source b_element(const Gemm& g) {
  if (!g.mixed) return element(g.b_dtype, g.b_format);
  return Source(g.mixed->bits == 4 ? Literal("::cutlass::int4b_t") : "int8_t");
}

// `repeated`: what gemm_sm90.cuh makes of the layout of an operand that all matrices of the batch
// share. To other kernels that is a stride as any.
Source operand_layout(bool is_row_major, bool repeats, Literal repeated, const Configuration& c) {
  if (!repeats || c.schedule == Schedule::kMultistage) return layout(is_row_major);
  return source("{}<{}>", repeated, layout(is_row_major));
}

// What a kernel's function is made of. Where the product is of sixteen bits, so is the precision of
// what it becomes.
FunctionWords kernel_words(const Gemm& g) {
  const auto words = [](Literal base) { return FunctionWords{base, "CUTLASS_DEVICE", element}; };
  if (g.epilogue.dtype.size_bytes() == 2 || g.epilogue.format != nullptr || g.widens()) {
    return words("EpilogueWords<HalfPrecisionWords>");
  }
  return words(g.is_fast ? Literal("EpilogueWords<FastWords>") : "EpilogueWords<FloatWords>");
}

// Elements of which D's rows and those of the tensors beside it have multiples, where all of them
// come and go in 16 bytes.
std::int64_t result_alignment(const Gemm& g, const Configuration& c) {
  std::int64_t elements = g.d_align;
  if (c.schedule == Schedule::kMultistage) return elements;
  for (const EpilogueInput& input : g.epilogue.inputs) {
    if (input.kind != InputKind::kFull) continue;
    elements = std::max<std::int64_t>(elements, 16 / input.dtype.size_bytes());
  }
  return elements;
}

Source problem_text(const Gemm& g, const Configuration& c) {
  const auto align = [&](std::int64_t most) {
    return c.align == 0 ? most : std::min<std::int64_t>(most, c.align);
  };
  Source more;
  if (c.schedule == Schedule::kMultistage && g.is(ConvolutionKind::kForward)) {
    more = source("  static constexpr bool kHasFewChannels = {};\n", g.has_few_channels());
  } else if (g.is(ConvolutionKind::kTransposed)) {
    more = source("  static constexpr bool kIsStrided = {};\n", g.convolution->is_strided());
  } else if (g.mixed) {
    more = source("  using Scale = {};\n  static constexpr bool kHasOffsets = {};\n",
                  element(g.mixed->scale_dtype), g.mixed->has_offsets);
  }
  return source(
      "struct Problem {{\n"
      "  using A = {};\n  using B = {};\n  using Sum = {};\n  using D = {};\n"
      "  using LayoutA = {};  // (M, K)\n"
      "  using LayoutB = {};  // (K, N)\n"
      "  static constexpr int kAlignA = {}, kAlignB = {}, kAlignD = {};\n{}}};\n",
      element(g.a_dtype, g.a_format), b_element(g), element(g.sum_dtype),
      element(g.epilogue.dtype, g.epilogue.format),
      operand_layout(!g.a_is_column_major, g.a_repeats, "RepeatedA", c),
      operand_layout(g.b_is_row_major, g.b_repeats, "RepeatedB", c), align(g.a_align),
      align(g.b_align), align(result_alignment(g, c)), more);
}

// Sums of integers do not get so far that they saturate.
Literal math_of(const Gemm& g) {
  if (g.sum_dtype == kInt32) return "OpMultiplyAddSaturate";
  return g.emulates_float32 ? Literal("OpMultiplyAddFastF32") : "OpMultiplyAdd";
}

Source configuration_text(const Gemm& g, const Configuration& c) {
  if (c.schedule == Schedule::kMultistage) {
    return source(
        "struct Config {{\n"
        "  using Tile = ::cutlass::gemm::GemmShape<{}, {}, {}>;\n"
        "  using Warp = ::cutlass::gemm::GemmShape<{}, {}, {}>;\n"
        "  using Math = ::cutlass::arch::{};\n"
        "  static constexpr int kStages = {};\n}};\n",
        c.tile_m, c.tile_n, c.tile_k, c.warp_m, c.warp_n, c.tile_k, math_of(g), c.stages);
  }
  if (c.schedule == Schedule::kImplicit) {
    return source(
        "struct Config {{\n"
        "  using Tile = Shape<Int<{}>, Int<{}>, Shape<Int<{}>>>;  // (M, N, (channels))\n"
        "  using Cluster = Shape<Int<{}>, Int<{}>, Int<1>>;\n"
        "  static constexpr int kBlocks = {};  // that share a multiprocessor\n}};\n",
        c.tile_m, c.tile_n, c.tile_k, c.cluster_m, c.cluster_n, blocks_per_multiprocessor(c));
  }
  static constexpr Literal kSchedules[] = {"Pingpong", "Cooperative", "StreamK"};
  static constexpr Literal kOfFastSums[] = {"PingpongFastSums", "CooperativeFastSums"};
  return source(
      "struct Config {{\n"
      "  using Tile = Shape<Int<{}>, Int<{}>, Int<{}>>;  // (M, N, K)\n"
      "  using Cluster = Shape<Int<{}>, Int<{}>, Int<1>>;\n"
      "  using Schedule = {};\n}};\n",
      c.tile_m, c.tile_n, c.tile_k, c.cluster_m, c.cluster_n,
      (g.has_fast_sums ? kOfFastSums : kSchedules)[static_cast<int>(c.schedule)]);
}

struct Template {
  Literal name, header;
};
Template multistage_template(const Gemm& g) {
  static constexpr Template kOfWindows[] = {{"ConvSm80", "conv_sm80.cuh"},
                                            {"ConvTransposeSm80", "conv_transpose_sm80.cuh"},
                                            {"ConvWeightsSm80", "conv_weights_sm80.cuh"}};
  if (!g.convolution) return {"GemmSm80", "gemm_sm80.cuh"};
  return kOfWindows[static_cast<int>(g.convolution->kind)];
}

Literal template_name(const Gemm& g, const Configuration& c) {
  if (c.schedule == Schedule::kMultistage) return multistage_template(g).name;
  if (g.mixed) return "GemmMixedSm90";
  return c.schedule == Schedule::kImplicit ? Literal("ConvSm90") : "GemmSm90";
}

// A size as a number, or read off a tensor: the product of its dimensions [first, last).
Source size_text(const Dim& size, const Source& tensor, std::size_t first, std::size_t last) {
  if (size.is_constant()) return source("{}", size.constant());
  return source("size({}, {}, {})", tensor, first, last);
}

}  // namespace

Source window_text(const Convolution& c, const Source& image) {
  const Source batch = c.batch.is_constant()
                           ? source("{}", c.batch.constant())
                           : source("static_cast<int32_t>(size({}, 0, 1))", image);
  const ops::WindowAxis &r = c.window[0], &s = c.window[1];
  return source("{{{}, {}, {}, {}, {}, {}, {}, {}, {{{}, {}}}, {{{}, {}}}, {{{}, {}, {}, {}}}}}",
                batch, c.height, c.width, c.channels, r.size, s.size, c.out_height, c.out_width,
                r.stride, s.stride, r.dilation, s.dilation, r.pad_begin, s.pad_begin, r.pad_end,
                s.pad_end);
}

Source function_text(const Epilogue& e, const FunctionWords& words) {
  static constexpr Literal kKinds[] = {"Row", "Column", "Full", "Scalar", "Repeated"};
  const auto type = [](DType dtype) { return dtype == kInt32 ? Literal("int32_t") : "float"; };
  Source inputs, positions, params;
  for (std::size_t i = 0; i < e.inputs.size(); ++i) {
    const Literal comma = i == 0 ? Literal("") : ", ";
    inputs += source("{}{}<{}>", comma, kKinds[static_cast<int>(e.inputs[i].kind)],
                     words.element(e.inputs[i].dtype));
    positions += source("{}{}", comma, i);
    params += source(", {} x{}", type(e.inputs[i].dtype), i);
  }
  return source(
      "struct Function : {} {{\n"
      "  using Inputs = InputList<{}>;\n"
      "  using Positions = std::index_sequence<{}>;\n"
      "  static {} {} element({} sum{}) {{\n{}    return {};\n  }}\n}};\n",
      words.base, inputs, positions, words.qualifier, type(e.dtype), type(e.sum_dtype), params,
      e.body, e.result);
}

Literal template_header(const Gemm& g, const Configuration& c) {
  switch (c.schedule) {
    case Schedule::kMultistage:
      return multistage_template(g).header;
    case Schedule::kStreamK:
      return "gemm_sm90_stream_k.cuh";
    case Schedule::kImplicit:
      return "conv_sm90.cuh";
    default:
      if (g.mixed) return "gemm_mixed_sm90.cuh";
      return g.is_float8() ? Literal("gemm_float8_sm90.cuh") : "gemm_sm90.cuh";
  }
}

std::string kernel_symbol(const Gemm& gemm, const Configuration& configuration) {
  return fmt::format("tessera_{}_{}_{}_{}", gemm.convolution ? "conv" : "gemm", gemm.a_name(),
                     hash_text(gemm.kernel_text()).hex().substr(0, 8), configuration.kernel_name());
}

// Each kernel has a namespace of its own: templates of equally named types would be one symbol for
// the linker.
Source kernel_source(const Gemm& gemm, const Configuration& configuration) {
  const Source symbol = c_name(kernel_symbol(gemm, configuration));
  return source(
      "// {}\n//   {}\n"
      "#include \"backends/cutlass/kernels/{}\"\n\n"
      "namespace tessera::cutlass::{} {{\n\n{}\n{}\n{}\n"
      "using Launcher = {}<Problem, Config, Function>;\n\n}}  // namespace\n\n"
      "TESSERA_KERNEL({}, tessera::cutlass::{}::Launcher,\n"
      "               tessera::cutlass::GemmArguments)\n",
      symbol, c_comment(gemm.kernel_text()), template_header(gemm, configuration), symbol,
      problem_text(gemm, configuration), configuration_text(gemm, configuration),
      function_text(gemm.epilogue, kernel_words(gemm)), template_name(gemm, configuration), symbol,
      symbol);
}

Source region_source(const std::string& symbol, const Function& region, const Gemm& g,
                     const Configuration& c) {
  const Source kernel = c_name(kernel_symbol(g, c));
  const std::size_t result = region.params().size();
  const std::size_t rank = region.type(region.result()).shape().size();
  const auto tensor = [&](relay::NodeId node) {
    return source("tensors[{}]", byoc::argument_position(region, node));
  };
  const Source d = source("tensors[{}]", result);
  const bool is_one = g.batch == Dim(1);
  Source text = source(
      "// D[{0}, {1}] of A[{0}, {2}] and B[{2}, {1}], {3} of each\n"
      "int32_t {4}(const tessera_call*, const GemmArguments*);\n"
      "int32_t {5}(const tessera_call* call, tessera_tensor** tensors, int32_t) {{\n",
      c_comment(to_string(g.m)), c_comment(to_string(g.n)), c_comment(to_string(g.k)),
      c_comment(to_string(g.batch)), kernel, c_name(symbol));
  text += source("  const int64_t m = {}, n = {}, k = {}, batch = {};\n",
                 size_text(g.m, d, g.batch_rank, rank - 1), g.n.constant(), g.k.constant(),
                 size_text(g.batch, d, 0, g.batch_rank));
  text += "  GemmArguments g = {};\n  g.m = m, g.n = n, g.k = k, g.batch = batch;\n";
  text += source("  g.a = {{data({}), {}, {}}};\n", tensor(g.a),
                 g.a_is_column_major ? Literal("m") : "k",
                 is_one || g.a_repeats ? Literal("0") : "m * k");
  text +=
      source("  g.b = {{data({}), {}, {}}};\n", tensor(g.b), g.b_is_row_major ? Literal("n") : "k",
             is_one || g.b_repeats ? Literal("0") : "n * k");
  text += source("  g.d = {{data({}), n, {}}};\n", d, is_one ? Literal("0") : "m * n");
  if (g.mixed) {
    text += source("  g.blocks = {{data({}), {}}};\n", tensor(g.mixed->scale), g.mixed->block_size);
  }
  if (g.convolution) {
    text += source("  g.window = {};\n", window_text(*g.convolution, tensor(g.a)));
  }
  for (std::size_t i = 0; i < g.epilogue.inputs.size(); ++i) {
    const EpilogueInput& input = g.epilogue.inputs[i];
    static constexpr Literal kElements[] = {"n", "m", "m * n", "1", "0"};  // by InputKind
    text += source("  g.inputs[{}] = {{data({}), n, {}}};\n", i, tensor(input.node),
                   input.is_batched ? kElements[static_cast<int>(input.kind)] : Literal("0"));
  }
  text += source("  g.swizzle = {}, g.raster_along_m = {}, g.dependent = {};\n", c.swizzle,
                 raster_along_m(c), c.is_dependent ? 1 : 0);
  if (c.splits > 1) text += source("  g.splits = {};\n", c.splits);
  return text + source("  return {}(call, &g);\n}}\n", kernel);
}

Source region_prologue() {
  return Literal(
      "#include \"backends/cutlass/kernels/region.h\"\n\n"
      "using namespace tessera::cutlass;\n\n"
      "extern \"C\" {\n\n");
}

}  // namespace tessera::backends::cutlass
