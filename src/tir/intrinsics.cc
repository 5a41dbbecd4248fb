// SPDX-License-Identifier: Apache-2.0
#include "tir/intrinsics.h"

#include <algorithm>
#include <cmath>

#include "constants/float8.h"
#include "tir/expr_ops.h"

namespace tessera::tir {
namespace {

template <class T>
T shift_left(T x, T y) {
  return static_cast<T>(static_cast<std::uint64_t>(x) << (y & 63));
}

constexpr Intrinsic kIntrinsics[] = {
#define FLOAT(name, arity, value)           \
  {#name, arity, Intrinsic::Domain::kFloat, \
   []([[maybe_unused]] double x, [[maybe_unused]] double y) -> double { return value; }},
#define TEST(name, value) \
  {#name, 1, Intrinsic::Domain::kTest, [](double x, double) -> double { return (value) ? 1 : 0; }},
#define INTEGER(name, arity, value)                                                        \
  {#name,                                                                                  \
   arity,                                                                                  \
   Intrinsic::Domain::kInteger,                                                            \
   nullptr,                                                                                \
   []([[maybe_unused]] std::int64_t x, [[maybe_unused]] std::int64_t y) { return value; }, \
   []([[maybe_unused]] std::uint64_t x, [[maybe_unused]] std::uint64_t y) { return value; }},
#include "tir/intrinsics.def"
#undef FLOAT
#undef TEST
#undef INTEGER
};

}  // namespace

std::span<const Intrinsic> intrinsics() { return kIntrinsics; }

const Intrinsic* find_intrinsic(std::string_view name) {
  const auto* it = std::ranges::find(kIntrinsics, name, &Intrinsic::name);
  return it == std::end(kIntrinsics) ? nullptr : it;
}

std::int64_t Intrinsic::of(std::int64_t x, std::int64_t y, DType dtype) const {
  if (dtype != kUInt64) return of_ints(x, y);
  return static_cast<std::int64_t>(
      of_uint64s(static_cast<std::uint64_t>(x), static_cast<std::uint64_t>(y)));
}

Expr fold_call(const Call& call) {
  const Intrinsic* f = find_intrinsic(call.name);
  if (f == nullptr || static_cast<int>(call.args.size()) != f->arity || call.dtype.lanes != 1) {
    return {};
  }
  if (f->domain == Intrinsic::Domain::kInteger) {
    std::int64_t args[2] = {};
    for (int i = 0; i < f->arity; ++i) {
      const std::int64_t* v = as_int(call.args[static_cast<std::size_t>(i)]);
      if (v == nullptr) return {};
      args[i] = *v;
    }
    const bool shifts = call.name.starts_with("shift");
    if (shifts && (args[1] < 0 || args[1] >= call.dtype.bits)) return {};
    return int_imm(f->of(args[0], args[1], call.dtype), call.dtype);
  }
  double args[2] = {};
  for (int i = 0; i < f->arity; ++i) {
    const auto* v = call.args[static_cast<std::size_t>(i)].as<FloatImm>();
    if (v == nullptr) return {};
    args[i] = v->value;
  }
  const double value = f->of_doubles(args[0], args[1]);
  return call.dtype.is_bool() ? bool_imm(value != 0) : float_imm(value, call.dtype);
}

}  // namespace tessera::tir
