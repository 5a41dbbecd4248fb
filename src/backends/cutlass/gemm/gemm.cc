// SPDX-License-Identifier: Apache-2.0
#include "backends/cutlass/gemm/gemm.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/cutlass/gemm/configuration.h"
#include "ops/attrs/matmul.h"
#include "ops/attrs/quantize.h"
#include "passes/mixed_weight.h"
#include "relay/operator.h"
#include "relay/patterns/refuse.h"

namespace tessera::backends::cutlass {
namespace {

using relay::Function;
using relay::NodeId;
using relay::Refusal;
using relay::refuse;

bool is_product(const Function& f, NodeId id) {
  if (f.op(id) == nullptr) return false;
  const std::string_view op = f.op(id)->name;
  return op == "nn.dense" || op == "nn.matmul" || op == "nn.batch_matmul" ||
         op == "qnn.dense_float8" || op == "qnn.dense_mixed" || is_convolution(op);
}

Expected<Composite, Refusal> with_product(Composite c) {
  for (const NodeId id : c.inside) {
    if (!is_product(*c.function, id)) continue;
    if (c.product) return refuse("there are two products");
    c.product = id;
  }
  if (!c.product) return refuse("there is no product");
  return c;
}

struct Transposed {
  bool a = false, b = false;
};
Transposed transposed(const Function& f, NodeId product) {
  const relay::Attrs& attrs = f.as<relay::OpCall>(product)->attrs;
  const std::string_view op = f.op(product)->name;
  if (op == "nn.dense" || op.starts_with("qnn.")) return {false, true};
  if (op == "nn.matmul") {
    const auto a = relay::read_attrs<ops::MatmulAttrs>(attrs);
    return {a.transpose_a, a.transpose_b};
  }
  const auto a = relay::read_attrs<ops::BatchMatmulAttrs>(attrs);
  return {a.transpose_a, a.transpose_b};
}

// A's and B's matrices, `a` and `b` of them, as two dimensions: the batch, and what is rows.
std::optional<Refusal> describe_batch(const Shape& a, const Shape& b, const Shape& matrices,
                                      Gemm& g) {
  const std::size_t rank = matrices.size(), batch_rank = g.batch_rank;
  const auto rows_begin = matrices.begin() + static_cast<std::ptrdiff_t>(batch_rank);
  const Dim rows = num_elements({rows_begin, matrices.end()}), one = 1;
  const Extent batch_of_a = extent_of(a, matrices, 0, batch_rank),
               batch_of_b = extent_of(b, matrices, 0, batch_rank),
               rows_of_a = extent_of(a, matrices, batch_rank, rank),
               rows_of_b = extent_of(b, matrices, batch_rank, rank);
  const bool has_rows = rows == one || (rows_of_a == Extent::kFull && !g.a_is_column_major);
  if (batch_of_a == Extent::kPart || batch_of_b == Extent::kPart || rows_of_b != Extent::kOne ||
      !has_rows) {
    return Refusal{fmt::format("batches of {} and {} matrices are broadcast against each other",
                               to_string(a), to_string(b))};
  }
  g.m = g.m * rows;
  g.batch = num_elements({matrices.begin(), rows_begin});
  g.a_repeats = g.batch != one && batch_of_a == Extent::kOne;
  g.b_repeats = g.batch != one && batch_of_b == Extent::kOne;
  return std::nullopt;
}

std::optional<Refusal> check_rows(const Gemm& g) {
  const bool are_known =
      g.n.is_constant() && g.k.is_constant() && (!g.a_is_column_major || g.m.is_constant());
  if (!are_known) return Refusal{"the length of a row is not known"};
  return std::nullopt;
}

std::optional<Refusal> describe_matrices(const Function& f, const Composite& c, Gemm& g) {
  const auto operands = f.operands(c.product);
  const Shape &a = f.type(operands[0]).shape(), &b = f.type(operands[1]).shape();
  for (const Shape* shape : {&a, &b}) {
    if (shape->size() < 2) return Refusal{"an operand is a vector"};
    for (const Dim& d : *shape) {
      if (d.is_unknown()) return Refusal{"a size is not known"};
      if (d == Dim(0)) return Refusal{"a matrix is empty"};
    }
  }
  const Transposed is_transposed = transposed(f, c.product);
  g.a = operands[0];
  g.b = operands[1];
  g.a_is_column_major = is_transposed.a;
  g.b_is_row_major = !is_transposed.b;
  g.m = a[a.size() - (is_transposed.a ? 1 : 2)];
  g.k = a[a.size() - (is_transposed.a ? 2 : 1)];
  g.n = b[b.size() - (is_transposed.b ? 2 : 1)];
  if (auto why = check_rows(g)) return why;  // no batch would help
  const auto matrices_of = [](const Shape& shape) { return Shape(shape.begin(), shape.end() - 2); };
  return describe_batch(matrices_of(a), matrices_of(b), matrices_of(f.type(c.product).shape()), g);
}

std::optional<Refusal> describe_sizes(const Function& f, const Composite& c, Gemm& g) {
  const bool convolves = is_convolution(f.op(c.product)->name);
  auto why = convolves ? describe_convolution(f, c.product, g) : describe_matrices(f, c, g);
  if (!why && convolves) why = check_rows(g);
  if (why) return why;
  constexpr std::int64_t kLargest = std::numeric_limits<std::int32_t>::max();
  for (const Dim& d : {g.m, g.n, g.k, g.batch}) {
    if (d.as_constant().value_or(0) > kLargest) return Refusal{"a size is above 2^31"};
  }
  return std::nullopt;
}

// The most elements, at most 16 bytes, that divide a row.
std::int64_t alignment(const Dim& row, DType dtype) {
  std::int64_t elements = 16 / dtype.size_bytes();
  while (row.constant() % elements != 0) elements /= 2;
  return elements;
}

// The instructions for integers read both operands along K, and the copies to shared memory that
// go past registers are of four bytes at least.
std::optional<Refusal> describe_integers(Gemm& g) {
  g.sum_dtype = kInt32;
  if (g.epilogue.sum_dtype != kInt32) {
    return Refusal{fmt::format("a product of {} does not give int32", to_string(g.a_dtype))};
  }
  if (g.a_is_column_major || g.b_is_row_major) {
    return Refusal{
        fmt::format("a product of {} needs operands that lie along K", to_string(g.a_dtype))};
  }
  if (g.run_along_k().constant() % 4 != 0) {
    return Refusal{fmt::format("a {} of {} needs {} of a multiple of 4, not {}",
                               g.convolution ? "convolution" : "product", to_string(g.a_dtype),
                               g.convolution ? "channels" : "rows", to_string(g.run_along_k()))};
  }
  constexpr std::int64_t kMostProducts = std::numeric_limits<std::int32_t>::max() / (255 * 255);
  if (g.k.constant() > kMostProducts) {
    return Refusal{fmt::format("a sum of {} products may overflow", to_string(g.k))};
  }
  return std::nullopt;
}

std::optional<Refusal> describe_floats(const Target& target, Gemm& g) {
  const DType d = g.epilogue.dtype;
  if (g.a_dtype == kFloat32) {
    g.emulates_float32 = target.get_bool("use_3xtf32");
  } else if (g.a_dtype != kFloat16 && g.a_dtype != kBFloat16) {
    return Refusal{fmt::format("there is no kernel for {}", to_string(g.a_dtype))};
  }
  const auto sum = parse_dtype(target.get_string("accumulator"));
  if (sum != kFloat32 && (sum != kFloat16 || g.a_dtype != kFloat16)) {
    return Refusal{fmt::format("-accumulator={} does not go with {}",
                               target.get_string("accumulator"), to_string(g.a_dtype))};
  }
  g.sum_dtype = *sum;
  if (d != g.a_dtype && d != kFloat32) {
    return Refusal{fmt::format("a product of {} gives {}", to_string(g.a_dtype), to_string(d))};
  }
  return std::nullopt;
}

// Of codes, with what multiplies them in words of 16 bytes alone.
std::optional<Refusal> describe_float8(const Function& f, const Composite& c, const Target& target,
                                       Gemm& g) {
  const auto p = relay::read_attrs<ops::DenseFloat8Attrs>(f.as<relay::OpCall>(c.product)->attrs);
  g.a_format = find_float8(p.data_format);
  g.b_format = find_float8(p.weight_format);
  g.sum_dtype = kFloat32;
  g.has_fast_sums = target.get_bool("fast_float8_sums");
  if (!has_tma(target)) {
    return Refusal{"floats of eight bits are multiplied by devices of sm_90a alone, not " +
                   architecture(target)};
  }
  if (g.k.constant() % 16 != 0) {
    return Refusal{fmt::format("floats of eight bits need sums of a multiple of 16 terms, not {}",
                               to_string(g.k))};
  }
  const std::int64_t of_a_word = 16 / g.epilogue.dtype.size_bytes();
  if (g.n.constant() % of_a_word != 0) {
    return Refusal{
        fmt::format("floats of eight bits that give {} need a multiple of {} columns, "
                    "not {}",
                    to_string(g.epilogue.dtype), of_a_word, to_string(g.n))};
  }
  return std::nullopt;
}

// By integers that become floats of 16 bits on their way, sums in float32.
std::optional<Refusal> describe_mixed(const Function& f, const Composite& c, const Target& target,
                                      Gemm& g) {
  const auto p = relay::read_attrs<ops::DenseMixedAttrs>(f.as<relay::OpCall>(c.product)->attrs);
  const NodeId scale = f.operands(c.product)[2];
  // One block for all terms has as many as there are.
  const std::int64_t block_size = std::min(p.block_size, g.k.as_constant().value_or(p.block_size));
  g.mixed = MixedForm{p.bits, block_size, scale, f.type(scale).dtype(),
                      f.type(scale).shape()[0] == Dim(2)};
  g.sum_dtype = kFloat32;
  if (!has_tma(target)) {
    return Refusal{"weights of a few bits are decoded for devices of sm_90a alone, not " +
                   architecture(target)};
  }
  if (g.a_dtype != kFloat16 && g.a_dtype != kBFloat16) {
    return Refusal{
        fmt::format("there is no kernel for {} times {}", to_string(g.a_dtype), g.b_name())};
  }
  if (g.mixed->scale_dtype != g.a_dtype && g.mixed->scale_dtype != kFloat32) {
    return Refusal{fmt::format("there is no kernel for scales of {} beside data of {}",
                               to_string(g.mixed->scale_dtype), to_string(g.a_dtype))};
  }
  if (g.batch != Dim(1)) return Refusal{"weights of a few bits are multiplied by no batches"};
  const DType d = g.epilogue.dtype;
  if (d != g.a_dtype && d != kFloat32) {
    return Refusal{fmt::format("a product of {} gives {}", to_string(g.a_dtype), to_string(d))};
  }
  const std::string why = passes::why_no_mixed_product(g.n, g.k, p);
  return why.empty() ? std::nullopt : std::optional(Refusal{why});
}

std::optional<Refusal> describe_types(const Function& f, const Composite& c, const Target& target,
                                      Gemm& g) {
  g.a_dtype = f.type(g.a).dtype();
  g.b_dtype = f.type(g.b).dtype();
  const bool are_integers = g.a_dtype.is_byte() && g.b_dtype.is_byte();
  const bool is_mixed = f.op(c.product)->name == "qnn.dense_mixed";
  if (g.a_dtype != g.b_dtype && !are_integers && !is_mixed) {
    return Refusal{fmt::format("there is no kernel for {} times {}", to_string(g.a_dtype),
                               to_string(g.b_dtype))};
  }
  const bool is_float8 = f.op(c.product)->name == "qnn.dense_float8";
  if (auto why = is_float8      ? describe_float8(f, c, target, g)
                 : is_mixed     ? describe_mixed(f, c, target, g)
                 : are_integers ? describe_integers(g)
                                : describe_floats(target, g)) {
    return why;
  }
  const DType d = g.epilogue.dtype;
  g.is_fast = d == kFloat32 && !g.widens() && target.get_bool("use_fast_math") &&
              (g.epilogue.body + g.epilogue.result).text().find("sigmoid(") != std::string::npos;
  g.a_align = alignment(g.a_is_column_major ? g.m : g.run_along_k(), g.a_dtype);
  g.b_align = is_mixed ? 128 / g.mixed->bits
                       : alignment(g.b_is_row_major ? g.run_along_n() : g.run_along_k(), g.b_dtype);
  g.d_align = alignment(g.n, d);
  return std::nullopt;
}

// The kernel's columns are all but the first dimension of that result.
std::optional<Refusal> check_gradient_epilogue(const Epilogue& epilogue) {
  for (const EpilogueInput& input : epilogue.inputs) {
    if (input.kind != InputKind::kFull && input.kind != InputKind::kScalar) {
      return Refusal{"an operand of the gradient's epilogue is neither as large nor one number"};
    }
  }
  return std::nullopt;
}

// With sizes that are known.
Expected<Gemm, Refusal> describe_rest(const Composite& c, const Target& target, Gemm g) {
  TESSERA_TRY(g.epilogue, describe_epilogue(c, g.batch_rank));
  if (g.is(ConvolutionKind::kWeightGradient)) {
    if (auto why = check_gradient_epilogue(g.epilogue)) return {Unexpected<Refusal>{*why}};
  }
  if (auto why = describe_types(*c.function, c, target, g)) return {Unexpected<Refusal>{*why}};
  const bool has_long_sums = c.function->op(c.product)->name == "nn.conv2d_backward_weight";
  if (has_long_sums) g.sum_dtype = kFloat32;
  return g;
}

// With as many rows as there can be, because their tiles share B.
Expected<Gemm, Refusal> describe(Composite composite, const Target& target) {
  TESSERA_TRY(const Composite c, with_product(std::move(composite)));
  const std::size_t rank = c.function->type(c.product).shape().size();
  std::optional<Refusal> of_sizes, of_rest;
  for (std::size_t batch_rank = 0; batch_rank + 1 < std::max<std::size_t>(rank, 2); ++batch_rank) {
    Gemm g;
    g.batch_rank = batch_rank;
    if (auto why = describe_sizes(*c.function, c, g)) {
      if (!of_sizes) of_sizes = why;
      continue;
    }
    auto gemm = describe_rest(c, target, std::move(g));
    if (gemm) return gemm;
    of_rest = gemm.error();
  }
  return {Unexpected<Refusal>{of_rest ? *of_rest : *of_sizes}};
}

constexpr const char* kKindNames[] = {"row", "column", "full", "scalar", "repeated"};

// What is gathered, and how.
const char* gathered_text(const Gemm& g) {
  if (g.is(ConvolutionKind::kWeightGradient)) return "window of weights ";
  if (g.convolution->is_strided()) return "window transposed strided ";
  if (g.is(ConvolutionKind::kTransposed)) return "window transposed ";
  return g.has_few_channels() ? "window few " : "window ";
}

// What the work is called before its sizes.
constexpr const char* kWorkNames[] = {"conv", "conv transposed", "conv weights"};  // by kind

}  // namespace

bool Gemm::widens() const {
  return epilogue.dtype == kFloat32 && epilogue.product_dtype.size_bytes() == 2;
}

bool Gemm::is(ConvolutionKind kind) const { return convolution && convolution->kind == kind; }

Dim Gemm::run_along_k() const {
  if (!convolution) return k;
  return is(ConvolutionKind::kTransposed) ? convolution->out_channels : convolution->channels;
}

Dim Gemm::run_along_n() const { return convolution ? Dim(convolution->channels) : n; }

bool Gemm::has_few_channels() const {
  return is(ConvolutionKind::kForward) && convolution->channels <= (a_dtype.is_byte() ? 32 : 16);
}

DType Gemm::float32_precision() const {
  const bool is_tf32 = a_dtype == kFloat32 && !emulates_float32;
  return is_tf32 || is_fast || is_float8() || widens() ? kFloat16 : kFloat32;
}

std::string Gemm::a_name() const {
  return is_float8() ? std::string(a_format->name) : to_string(a_dtype);
}

std::string Gemm::b_name() const {
  if (mixed) return fmt::format("int{}", mixed->bits);
  return is_float8() ? std::string(b_format->name) : to_string(b_dtype);
}

std::string Gemm::kernel_text() const {
  const auto repeats = [](bool it_does) { return it_does ? ":repeated" : ""; };
  std::string text = fmt::format(
      "a={}:{}:{}{} b={}:{}:{}{} sum={} d={}:{}", a_name(), a_is_column_major ? "column" : "row",
      a_align, repeats(a_repeats), b_name(), b_is_row_major ? "row" : "column", b_align,
      repeats(b_repeats), to_string(sum_dtype),
      epilogue.format != nullptr ? std::string(epilogue.format->name) : to_string(epilogue.dtype),
      d_align);
  if (a_dtype == kFloat32) text += emulates_float32 ? " 3xtf32" : " tf32";
  for (const EpilogueInput& input : epilogue.inputs) {
    text += fmt::format(" {}:{}", kKindNames[static_cast<int>(input.kind)], to_string(input.dtype));
  }
  if (mixed) {
    text += fmt::format(" scales={}{}", to_string(mixed->scale_dtype),
                        mixed->has_offsets ? ":offsets" : "");
  }
  if (has_fast_sums) text += " fast_sums";
  if (is_fast) text += " fast";
  if (widens()) text += " half";
  if (convolution) text = gathered_text(*this) + text;
  // One line: statements lose their indentation.
  std::string body = (epilogue.body + "    return " + epilogue.result + ";\n").text(), line;
  std::size_t begin = 0;
  for (std::size_t end; (end = body.find('\n', begin)) != std::string::npos; begin = end + 1) {
    line += " " + body.substr(begin + 4, end - begin - 4);
  }
  return text + " {" + line + " }";
}

std::string Gemm::workload() const {
  if (convolution) {
    return fmt::format("{} {} channels {} {}", kWorkNames[static_cast<int>(convolution->kind)],
                       convolution->text(), convolution->made_channels(), kernel_text());
  }
  const std::string blocks = mixed ? fmt::format("blocks={} ", mixed->block_size) : "";
  return fmt::format("gemm m={} n={} k={} batch={} {}{}", to_string(m), to_string(n), to_string(k),
                     to_string(batch), blocks, kernel_text());
}

Expected<Gemm, Refusal> describe_gemm(const relay::Match& match, const Target& target) {
  return describe({match.function, match.pool, match.inside, {}, match.root}, target);
}

Expected<Gemm, Refusal> describe_gemm(const Function& region, const ConstantPool& pool,
                                      const Target& target) {
  TESSERA_TRY(Composite composite, composite_of(region, pool));
  return describe(std::move(composite), target);
}

}  // namespace tessera::backends::cutlass
