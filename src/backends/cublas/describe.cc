// SPDX-License-Identifier: Apache-2.0
#include "backends/cublas/describe.h"

#include <algorithm>
#include <limits>

#include "backends/cublas/epilogue.h"
#include "backends/cublas/float8.h"
#include "ops/attrs/conv.h"
#include "ops/attrs/matmul.h"
#include "relay/operator.h"

namespace tessera::backends::cublas {
namespace {

using relay::Function;
using relay::Match;
using relay::NodeId;
using relay::Refusal;

using Why = std::optional<Refusal>;

// ---- Matrices

struct Transposed {
  bool a = false, b = false;
};
Transposed transposed(const Function& f, NodeId product) {
  const relay::Attrs& attrs = f.as<relay::OpCall>(product)->attrs;
  const std::string_view op = f.op(product)->name;
  if (op == "nn.dense" || op == "qnn.dense_float8") return {false, true};
  if (op == "nn.matmul") {
    const auto a = relay::read_attrs<ops::MatmulAttrs>(attrs);
    return {a.transpose_a, a.transpose_b};
  }
  const auto a = relay::read_attrs<ops::BatchMatmulAttrs>(attrs);
  return {a.transpose_a, a.transpose_b};
}

// Does a factor have one matrix for [first, last) of the result's, or all of them?
struct Extent {
  bool is_one = true, is_full = true;
};
Extent extent_of(const Shape& factor, const Shape& result, std::size_t first, std::size_t last) {
  const std::size_t missing = result.size() - factor.size();
  Extent extent;
  for (std::size_t i = first; i < last; ++i) {
    const Dim size = i < missing ? Dim(1) : factor[i - missing];
    extent.is_one &= size == Dim(1);
    extent.is_full &= size == result[i];
  }
  return extent;
}

// Leading dimensions count matrices, those after them are rows where B has one matrix for all: as
// few matrices as can be, with as many rows.
Why describe_batch(const Shape& a, const Shape& b, const Shape& result, Description& d) {
  const std::size_t rank = result.size();
  for (std::size_t batch_rank = 0; batch_rank <= rank; ++batch_rank) {
    const Extent batch_of_a = extent_of(a, result, 0, batch_rank),
                 batch_of_b = extent_of(b, result, 0, batch_rank),
                 rows_of_a = extent_of(a, result, batch_rank, rank),
                 rows_of_b = extent_of(b, result, batch_rank, rank);
    const auto begin = result.begin() + static_cast<std::ptrdiff_t>(batch_rank);
    const Dim rows = num_elements({begin, result.end()}), one = 1;
    const bool has_rows =
        rows_of_b.is_one && (rows == one || (rows_of_a.is_full && d.spec.a_transposed == 0));
    const bool has_batch =
        (batch_of_a.is_one || batch_of_a.is_full) && (batch_of_b.is_one || batch_of_b.is_full);
    if (!has_rows || !has_batch) continue;
    d.m = d.m * rows;
    d.batch = num_elements({result.begin(), begin});
    d.spec.batch_rank = static_cast<std::int64_t>(batch_rank);
    d.spec.a_repeats = d.batch != one && !batch_of_a.is_full;
    d.spec.b_repeats = d.batch != one && !batch_of_b.is_full;
    return std::nullopt;
  }
  return Refusal{"the batches are broadcast against each other"};
}

// Where a window sees one place, places are rows and channels are columns.
Why describe_convolution(const Function& f, NodeId core, Description& d) {
  const auto p = relay::read_attrs<ops::Conv2DAttrs>(f.as<relay::OpCall>(core)->attrs);
  const Shape &image = f.type(d.a).shape(), &weight = f.type(d.b).shape();
  const auto all = [](const std::vector<std::int64_t>& list, std::int64_t value) {
    return std::all_of(list.begin(), list.end(), [&](std::int64_t x) { return x == value; });
  };
  const bool is_ohwi = p.kernel_layout == "OHWI", is_hwio = p.kernel_layout == "HWIO";
  if (p.data_layout != "NHWC" || (!p.out_layout.empty() && p.out_layout != "NHWC") ||
      (!is_ohwi && !is_hwio)) {
    return Refusal{fmt::format("a convolution in {} with a kernel in {} is not a product",
                               p.data_layout, p.kernel_layout)};
  }
  const std::size_t window = is_ohwi ? 1 : 0;
  if (weight[window] != Dim(1) || weight[window + 1] != Dim(1) || p.groups != 1 ||
      !all(p.strides, 1) || !all(p.padding, 0)) {
    return Refusal{
        "a convolution with a window, groups, strides or padding is not a product of its image"};
  }
  d.spec.b_transposed = is_ohwi;
  d.m = image[0] * image[1] * image[2];
  d.k = image[3];
  d.n = weight[is_ohwi ? 0 : 3];
  return std::nullopt;
}

Why describe_matrices(const Function& f, NodeId core, Description& d) {
  const Shape &a = f.type(d.a).shape(), &b = f.type(d.b).shape();
  const Transposed is_transposed = transposed(f, core);
  d.spec.a_transposed = is_transposed.a;
  d.spec.b_transposed = is_transposed.b;
  d.m = a[a.size() - (is_transposed.a ? 1 : 2)];
  d.k = a[a.size() - (is_transposed.a ? 2 : 1)];
  d.n = b[b.size() - (is_transposed.b ? 2 : 1)];
  const auto matrices = [](const Shape& shape) { return Shape(shape.begin(), shape.end() - 2); };
  return describe_batch(matrices(a), matrices(b), matrices(f.type(core).shape()), d);
}

Why describe_factors(const Function& f, NodeId core, Description& d) {
  const auto operands = f.operands(core);
  d.a = operands[0];
  d.b = operands[1];
  for (const NodeId factor : {d.a, d.b}) {
    const Shape& shape = f.type(factor).shape();
    if (shape.size() < 2) return Refusal{"a factor is a vector"};
    for (const Dim& size : shape) {
      if (size.is_unknown()) return Refusal{"a size is not known"};
      if (size == Dim(0)) return Refusal{"a matrix is empty"};
    }
  }
  const bool convolves = f.op(core)->name == "nn.conv2d";
  if (auto why = convolves ? describe_convolution(f, core, d) : describe_matrices(f, core, d)) {
    return why;
  }
  // Without elements the library gives nothing, where zeros are due.
  if (!d.k.is_constant()) return Refusal{"the length of the sums is not known"};
  constexpr std::int64_t kLargest = std::numeric_limits<std::int32_t>::max();
  for (const Dim& size : {d.m, d.n, d.k, d.batch}) {
    if (size.as_constant().value_or(0) > kLargest) return Refusal{"a size is above 2^31"};
  }
  return std::nullopt;
}

// ---- Types

std::optional<Scalar> scalar_of(DType dtype) {
  if (dtype == kFloat16) return Scalar::kFloat16;
  if (dtype == kBFloat16) return Scalar::kBFloat16;
  if (dtype == kFloat32) return Scalar::kFloat32;
  if (dtype == kInt8) return Scalar::kInt8;
  if (dtype == kInt32) return Scalar::kInt32;
  return std::nullopt;
}

// The instructions for integers read both factors along K, four at a time.
Why check_integers(const Description& d) {
  if (d.spec.a_transposed != 0 || d.spec.b_transposed == 0) {
    return Refusal{"a product of int8 needs factors that lie along K"};
  }
  for (const auto& [name, size] : {std::pair("K", d.k), std::pair("N", d.n)}) {
    const auto number = size.as_constant();
    if (number && *number % 4 == 0) continue;
    return Refusal{fmt::format("a product of int8 needs {} that is a multiple of 4, not {}", name,
                               to_string(size))};
  }
  return std::nullopt;
}

Why describe_types(const Match& match, const Target& target, Description& d) {
  const Function& f = *match.function;
  const DType a = f.type(d.a).dtype(), b = f.type(d.b).dtype(), result = f.type(match.root).dtype();
  if (a != b) return Refusal{fmt::format("the factors are {} and {}", to_string(a), to_string(b))};
  if (f.op(match.find("core"))->name == "qnn.dense_float8")
    return describe_float8(match, target, d);
  const auto factors = scalar_of(a), given = scalar_of(result);
  const bool is_of_16_bits = a == kFloat16 || a == kBFloat16;
  const bool is_possible = (is_of_16_bits && (result == a || result == kFloat32)) ||
                           (a == kFloat32 && result == kFloat32) ||
                           (a == kInt8 && result == kInt32);
  if (!factors || !given || !is_possible) {
    return Refusal{
        fmt::format("there is no product of {} that gives {}", to_string(a), to_string(result))};
  }
  d.spec.a_type = d.spec.b_type = *factors;
  d.spec.result = *given;
  d.spec.sums = a == kInt8
                    ? Sums::kInt32
                    : (a == kFloat32 && target.get_bool("tf32") ? Sums::kTf32 : Sums::kFloat32);
  return a == kInt8 ? check_integers(d) : std::nullopt;
}

std::optional<std::int64_t> number_at(const Dim& size, const std::map<std::string, Dim>& sizes) {
  return size.substitute(sizes).as_constant();
}

}  // namespace

Expected<Description, Refusal> describe(const Match& match, const Target& target) {
  Description d;
  if (auto why = describe_factors(*match.function, match.find("core"), d)) {
    return {Unexpected<Refusal>{*why}};
  }
  if (auto why = describe_types(match, target, d)) return {Unexpected<Refusal>{*why}};
  if (auto why = describe_epilogue(match, target, d)) return {Unexpected<Refusal>{*why}};
  return d;
}

std::string architecture(const Target& target) {
  const std::string& arch = target.get_string("arch");
  return arch == "auto" ? "sm_90a" : arch;
}

std::string factors_text(const Spec& spec) {
  if (spec.a_type == spec.b_type) return word(spec.a_type);
  return fmt::format("{} by {}", word(spec.a_type), word(spec.b_type));
}

Spec sized(const Description& d) {
  Spec spec = d.spec;
  spec.m = d.m.as_constant().value_or(-1);
  spec.n = d.n.as_constant().value_or(-1);
  spec.k = d.k.as_constant().value_or(-1);
  spec.batch = d.batch.as_constant().value_or(-1);
  return spec;
}

std::optional<byoc::Workload> workload_of(const Description& d,
                                          const std::map<std::string, Dim>& sizes) {
  byoc::Workload workload;
  const auto size = [&](const Dim& dim) -> std::string {
    if (dim.is_constant()) return to_string(dim);
    workload.sizes.push_back(number_at(dim, sizes).value_or(-1));
    return "?";
  };
  const std::string m = size(d.m), n = size(d.n), batch = size(d.batch);
  if (std::count(workload.sizes.begin(), workload.sizes.end(), -1) > 0) return std::nullopt;
  const Spec& s = d.spec;
  workload.form = fmt::format("product m={} n={} batch={} k={} {} {} {}{}", m, n, batch,
                              to_string(d.k), factors_text(s), word(s.result),
                              s.a_transposed != 0 ? 't' : 'n', s.b_transposed != 0 ? 't' : 'n');
  const auto add = [&](bool is_so, const char* what) {
    if (is_so) workload.form += fmt::format(" {}", what);
  };
  add(s.sums == Sums::kTf32 || s.sums == Sums::kFastFloat8, word(s.sums));
  if (s.scales != Scales::kNone) workload.form += fmt::format(" scales={}", word(s.scales));
  add(s.a_repeats != 0, "one_a");
  add(s.b_repeats != 0, "one_b");
  add(static_cast<bool>(d.bias), "bias");
  add(static_cast<bool>(d.residual), "residual");
  add(s.activation != Activation::kNone, word(s.activation));
  return workload;
}

}  // namespace tessera::backends::cublas
