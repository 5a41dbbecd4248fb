// SPDX-License-Identifier: Apache-2.0
// What cuBLAS can run: matrix products.
#include "backends/cublas/patterns.h"

#include <algorithm>

#include <fmt/format.h>

namespace tessera::backends::cublas {
namespace {

using relay::Function;
using relay::is_op;
using relay::Match;
using relay::Refusal;
using relay::wildcard;

struct DtypePair {
  DType in, out;
};
constexpr DtypePair kDtypes[] = {{kFloat32, kFloat32}, {kFloat16, kFloat16}, {kFloat16, kFloat32},
                                 {kInt8, kInt32},      {kFloat64, kFloat64}, {kInt8, kFloat32}};

// Rows of bytes are read four at a time.
bool has_whole_words(const Type& type) {
  const auto size = type.shape().back().as_constant();
  return size && *size % 4 == 0;
}

std::optional<Refusal> check(const Match& m, const Target&) {
  const Function& f = *m.function;
  const Type &a = f.type(f.operands(m.root)[0]), &b = f.type(f.operands(m.root)[1]);
  if (a.dtype() != b.dtype()) {
    return Refusal{
        fmt::format("the factors are {} and {}", to_string(a.dtype()), to_string(b.dtype()))};
  }
  const DtypePair wanted{a.dtype(), f.type(m.root).dtype()};
  const auto is_wanted = [&](const DtypePair& p) {
    return p.in == wanted.in && p.out == wanted.out;
  };
  if (std::none_of(std::begin(kDtypes), std::end(kDtypes), is_wanted)) {
    return Refusal{fmt::format("there is no product of {} that gives {}", to_string(wanted.in),
                               to_string(wanted.out))};
  }
  if (wanted.in == kInt8 && (!has_whole_words(a) || !has_whole_words(b))) {
    return Refusal{"the last size of an int8 factor is not a multiple of 4"};
  }
  return std::nullopt;
}

}  // namespace

std::vector<relay::CompositePattern> patterns() {
  return {{"cublas.matmul", is_op("nn.matmul", {wildcard(), wildcard()}), check},
          {"cublas.batch_matmul", is_op("nn.batch_matmul", {wildcard(), wildcard()}), check},
          {"cublas.dense", is_op("nn.dense", {wildcard(), wildcard()}), check}};
}

}  // namespace tessera::backends::cublas
