// SPDX-License-Identifier: Apache-2.0
#include "backends/cublas/float8.h"

#include <fmt/format.h>

#include "byoc/composite_match.h"
#include "constants/float8.h"
#include "ops/attrs/quantize.h"
#include "relay/operator.h"
#include "types/gpu_arch.h"

namespace tessera::backends::cublas {
namespace {

using relay::Function;
using relay::Match;
using relay::NodeId;
using relay::Refusal;

using Why = std::optional<Refusal>;

Scalar scalar_of(std::string_view format) {
  return format == kFloat8E5M2.name ? Scalar::kFloat8E5M2 : Scalar::kFloat8E4M3;
}

Why describe_types(const Function& f, const Match& match, const Target& target, Description& d) {
  const auto p =
      relay::read_attrs<ops::DenseFloat8Attrs>(f.as<relay::OpCall>(match.find("core"))->attrs);
  d.spec.a_type = scalar_of(p.data_format);
  d.spec.b_type = scalar_of(p.weight_format);
  if (d.spec.a_type == Scalar::kFloat8E5M2 && d.spec.b_type == Scalar::kFloat8E5M2) {
    return Refusal{"the library has no product of e5m2 by e5m2"};
  }
  const DType result = f.type(match.root).dtype();
  if (result == kFloat16) {
    d.spec.result = Scalar::kFloat16;
  } else if (result == kBFloat16) {
    d.spec.result = Scalar::kBFloat16;
  } else if (result == kFloat32) {
    d.spec.result = Scalar::kFloat32;
  } else {
    return Refusal{fmt::format("there is no product of floats of eight bits that gives {}",
                               to_string(result))};
  }
  d.spec.sums = target.get_bool("fast_float8_sums") ? Sums::kFastFloat8 : Sums::kFloat32;
  return std::nullopt;
}

// Rows of codes, and of results, are whole words of 16 bytes.
Why check_rows(const Description& d, DType result) {
  constexpr std::int64_t kWord = 16;
  const auto is_whole = [&](const Dim& size, std::int64_t bytes) {
    return size.is_constant() && size.constant() * bytes % kWord == 0;
  };
  if (!is_whole(d.k, 1)) {
    return Refusal{
        fmt::format("a product of floats of eight bits needs K that is a multiple of {}, not {}",
                    kWord, to_string(d.k))};
  }
  if (!is_whole(d.n, result.size_bytes())) {
    return Refusal{fmt::format(
        "a product of floats of eight bits that gives {} needs N that is a multiple of {}, not {}",
        to_string(result), kWord / result.size_bytes(), to_string(d.n))};
  }
  return std::nullopt;
}

// ---- Scales

// kEither: of the one row that there is.
enum class Scale : std::uint8_t { kConstant, kNumber, kVector, kEither };

// `count`: of rows, or of columns. A vector has the one or the other.
std::optional<Scale> kind_of(const Match& match, NodeId scale, const char* constant,
                             const Dim& count) {
  if (match.find(constant)) return Scale::kConstant;
  const Dim elements = num_elements(match.function->type(scale).shape());
  if (elements == Dim(1)) return count == Dim(1) ? Scale::kEither : Scale::kNumber;
  return elements == count ? std::optional(Scale::kVector) : std::nullopt;
}

double number_of(const Match& match, NodeId constant) {
  return element_as_double(*byoc::constant_of(*match.function, match.pool, constant), 0);
}

// The library has numbers for both or vectors for both; with a constant number there is one of
// ones.
Why describe_scales(const Match& match, Description& d) {
  const auto operands = match.function->operands(match.find("core"));
  const auto rows = kind_of(match, operands[2], "row_number", d.m);
  const auto columns = kind_of(match, operands[3], "column_number", d.n);
  if (!rows || !columns) return Refusal{"scales of rows are broadcast to them"};
  if (rows == Scale::kConstant) d.spec.alpha *= static_cast<float>(number_of(match, operands[2]));
  if (columns == Scale::kConstant) {
    d.spec.alpha *= static_cast<float>(number_of(match, operands[3]));
  }
  if (rows != Scale::kConstant) d.a_scale = operands[2];
  if (columns != Scale::kConstant) d.b_scale = operands[3];
  const bool has_vector = rows == Scale::kVector || columns == Scale::kVector;
  if (has_vector && (rows == Scale::kNumber || columns == Scale::kNumber)) {
    return Refusal{
        "one number that is known when it runs is a scale beside those of rows or "
        "columns: the library has one number or a vector for both factors"};
  }
  d.spec.scales = has_vector               ? Scales::kVectors
                  : d.a_scale || d.b_scale ? Scales::kNumbers
                                           : Scales::kNone;
  return std::nullopt;
}

}  // namespace

bool multiplies_float8(const Target& target) {
  return gpu_arch_number(architecture(target)) == "90";
}

Why describe_float8(const Match& match, const Target& target, Description& d) {
  if (!multiplies_float8(target)) {
    return Refusal{
        fmt::format("floats of eight bits are multiplied by devices of sm_90 alone, not {}",
                    architecture(target))};
  }
  if (auto why = describe_types(*match.function, match, target, d)) return why;
  if (auto why = check_rows(d, match.function->type(match.root).dtype())) return why;
  return describe_scales(match, d);
}

}  // namespace tessera::backends::cublas
