// SPDX-License-Identifier: Apache-2.0
// Building expressions: operators fold constants of both sides and nothing else (simplify does
// more). Both operands of a binary operator have one dtype; as a convenience a literal of int64
// takes the dtype of the other operand (`x * 2` for a float32 x).
#pragma once

#include <cstdint>

#include "tir/expr.h"

namespace tessera::tir {

Expr int_imm(std::int64_t value, DType dtype = kInt64);
Expr float_imm(double value, DType dtype = kFloat32);
Expr imm(double value, DType dtype);  // integer, bool or float literal as the dtype has it
Expr bool_imm(bool value);
Expr string_imm(std::string value);
Expr make_var(std::string name, DType dtype = kInt64);
Expr cast(Expr value, DType dtype);  // the value itself if it has that dtype

Expr operator+(Expr a, Expr b);
Expr operator-(Expr a, Expr b);
Expr operator*(Expr a, Expr b);
Expr operator/(Expr a, Expr b);
Expr operator-(Expr a);
Expr floor_div(Expr a, Expr b);
Expr floor_mod(Expr a, Expr b);
Expr min(Expr a, Expr b);
Expr max(Expr a, Expr b);
// Comparisons are functions: operator== would read as identity.
Expr eq(Expr a, Expr b);
Expr ne(Expr a, Expr b);
Expr lt(Expr a, Expr b);
Expr le(Expr a, Expr b);
Expr gt(Expr a, Expr b);
Expr ge(Expr a, Expr b);
// Functions as well: `if (!e)` asks whether the handle is null.
Expr logical_and(Expr a, Expr b);
Expr logical_or(Expr a, Expr b);
Expr logical_not(Expr a);
Expr select(Expr condition, Expr yes, Expr no);
Expr call(std::string name, std::vector<Expr> args);  // dtype of the first argument
Expr call(std::string name, std::vector<Expr> args, DType dtype);
Expr load(Buffer buffer, std::vector<Expr> indices);
Expr broadcast(Expr value, int lanes);
Expr ramp(Expr base, Expr stride, int lanes);

// The value of an integer literal; nothing for anything else.
bool is_int(const Expr& e, std::int64_t value);
const std::int64_t* as_int(const Expr& e);

// A binary node of that kind (Add ... Or), by way of the operators above.
Expr binary(ExprKind kind, Expr a, Expr b);
// Integer division as tir/expr.h defines it for all operands: towards zero, and towards minus
// infinity; and what each leaves.
std::int64_t trunc_div(std::int64_t a, std::int64_t b);
std::int64_t trunc_mod(std::int64_t a, std::int64_t b);
std::int64_t floor_div(std::int64_t a, std::int64_t b);
std::int64_t floor_mod(std::int64_t a, std::int64_t b);
// x to the power of n, exact but for what 64 bits wrap. For a negative n it is 1 / x^-n towards
// zero, where 1 / 0 is 0 as everywhere.
std::int64_t int_pow(std::int64_t x, std::int64_t n);
std::uint64_t int_pow(std::uint64_t x, std::uint64_t n);
// The value rounded to what `dtype` holds: integers wrap, floats round to nearest even.
std::int64_t wrap_int(std::int64_t value, DType dtype);
double round_float(double value, DType dtype);

}  // namespace tessera::tir
