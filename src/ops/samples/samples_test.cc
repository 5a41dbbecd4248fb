// SPDX-License-Identifier: Apache-2.0
// Every sample of every operator: its loop definition, interpreted element by element, gives what
// `eval` gives; and eval gives what inference promises.
#include "ops/samples/samples.h"

#include <cmath>
#include <set>
#include <unordered_map>

#include <gtest/gtest.h>

#include "ops/evaluation/compare.h"
#include "ops/evaluation/evaluate.h"
#include "ops/evaluation/to_integer.h"
#include "ops/records/table.h"
#include "tir/dim_vars.h"
#include "tir/intrinsics.h"
#include "tir/tensor_expr.h"

namespace tessera::ops {
namespace {

using relay::NodeId;
using tir::Expr;
using tir::TensorExpr;

struct Number {
  double f = 0;        // of floats
  std::int64_t i = 0;  // of integers and bool
};

std::vector<Number> numbers_of(const Tensor& data) {
  std::vector<Number> out;
  if (data.dtype.is_float()) {
    for (const double f : values_of<double>(data)) out.push_back({f, 0});
  } else {
    for (const std::int64_t i : values_of<std::int64_t>(data)) out.push_back({double(i), i});
  }
  return out;
}

// Computes definitions element by element, each stage completely before it is read. A read outside
// of a tensor fails the test, except in a branch of `select` that is not taken.
class Interpreter {
 public:
  void bind(const TensorExpr& input, const Tensor& data) {
    stages_[input.ref().get()] = numbers_of(data);
  }

  const std::vector<Number>& stage(const tir::TensorRef& t) {
    if (const auto it = stages_.find(t.get()); it != stages_.end()) return it->second;
    if (t->data != nullptr) {
      bind(TensorExpr(t), *t->data);
      return stages_[t.get()];
    }
    TESSERA_CHECK(t->body, "`{}` is not bound", t->name);
    const std::map<const tir::ExprNode*, std::int64_t> outer = std::move(variables_);
    variables_.clear();
    std::vector<Number> numbers;
    for (Counter c(sizes(t->shape)); c; ++c) {
      for (std::size_t d = 0; d < t->axes.size(); ++d) variables_[t->axes[d].get()] = c[d];
      const auto* reduction = t->body.as<tir::Reduce>();
      numbers.push_back(reduction != nullptr ? reduce(*reduction) : value(t->body));
    }
    variables_ = outer;
    return stages_[t.get()] = std::move(numbers);
  }

  Ints sizes(const std::vector<Expr>& shape) {
    Ints out;
    for (const Expr& e : shape) out.push_back(value(e).i);
    return out;
  }

 private:
  static Number rounded(Number n, DType dtype) {
    if (dtype.is_float()) return {tir::round_float(n.f, dtype), 0};
    return {0, tir::wrap_int(n.i, dtype)};
  }

  Number reduce(const tir::Reduce& r) {
    Ints extents;
    for (const tir::IterAxis& axis : r.axes) extents.push_back(value(axis.extent).i);
    Expr accumulator = tir::reduce_identity(r.op, r.dtype);
    Number total = value(accumulator);
    for (Counter c(extents); c; ++c) {
      for (std::size_t d = 0; d < extents.size(); ++d) variables_[r.axes[d].var.get()] = c[d];
      total = rounded(step(r.op, r.dtype, total, value(r.value)), r.dtype);
    }
    return total;
  }
  static Number step(tir::ReduceOp op, DType dtype, Number a, Number b) {
    switch (op) {
      case tir::ReduceOp::kSum:
        return {a.f + b.f, a.i + b.i};
      case tir::ReduceOp::kProd:
        return {a.f * b.f, a.i * b.i};
      case tir::ReduceOp::kMax:
        return less(dtype, a, b) || std::isnan(b.f) ? b : a;
      case tir::ReduceOp::kMin:
        return less(dtype, b, a) || std::isnan(b.f) ? b : a;
      case tir::ReduceOp::kAny:
        return {0, a.i | b.i};
      case tir::ReduceOp::kAll:
        return {0, a.i & b.i};
    }
    return {};
  }
  // Max and Min propagate the NaN of either operand; their users look at the second one.
  static bool less(DType dtype, Number a, Number b) {
    if (dtype.is_float()) return a.f < b.f;
    if (dtype.is_unsigned_int()) {
      return static_cast<std::uint64_t>(a.i) < static_cast<std::uint64_t>(b.i);
    }
    return a.i < b.i;
  }

  Number read(const tir::Read& r) {
    std::int64_t at = 0;
    const Ints shape = sizes(r.tensor->shape);
    for (std::size_t d = 0; d < r.indices.size(); ++d) {
      const std::int64_t i = value(r.indices[d]).i;
      TESSERA_CHECK(i >= 0 && i < shape[d], "`{}` is read at {} in dimension {} of {}",
                    r.tensor->name, i, d, shape[d]);
      at = at * shape[d] + i;
    }
    return stage(r.tensor)[static_cast<std::size_t>(at)];
  }

  Number value(const Expr& e) {
    if (const auto* n = e.as<tir::IntImm>()) return {0, n->value};
    if (const auto* n = e.as<tir::FloatImm>()) return {n->value, 0};
    if (e.as<tir::Var>() != nullptr) return {0, variables_.at(e.get())};
    if (const auto* n = e.as<tir::Read>()) return read(*n);
    if (const auto* n = e.as<tir::Select>()) return value(value(n->condition).i ? n->yes : n->no);
    if (const auto* n = e.as<tir::Not>()) return {0, value(n->value).i == 0};
    if (const auto* n = e.as<tir::Cast>())
      return cast(value(n->value), n->value.dtype(), e.dtype());
    if (const auto* n = e.as<tir::Call>()) return call(*n);
    if (const auto* n = e.as<tir::And>()) return {0, value(n->a).i != 0 && value(n->b).i != 0};
    if (const auto* n = e.as<tir::Or>()) return {0, value(n->a).i != 0 || value(n->b).i != 0};
    const auto& n = static_cast<const tir::Add&>(*e.get());  // all binary nodes are laid out alike
    return rounded(binary(e.kind(), n.a.dtype(), value(n.a), value(n.b)), e.dtype());
  }
  static Number cast(Number n, DType from, DType to) {
    if (to.is_float()) return rounded({from.is_float() ? n.f : static_cast<double>(n.i), 0}, to);
    return rounded({0, from.is_float() ? to_integer(n.f) : n.i}, to);
  }
  Number call(const tir::Call& c) {
    const tir::Intrinsic* f = tir::find_intrinsic(c.name);
    TESSERA_CHECK(f != nullptr && c.args.size() == static_cast<std::size_t>(f->arity), "{}",
                  c.name);
    const Number x = value(c.args[0]), y = c.args.size() > 1 ? value(c.args[1]) : Number{};
    if (f->domain == tir::Intrinsic::Domain::kInteger) {
      return rounded({0, f->of(x.i, y.i, c.dtype)}, c.dtype);
    }
    const double result = f->of_doubles(x.f, y.f);
    if (f->domain == tir::Intrinsic::Domain::kTest) return {0, result != 0};
    return rounded({result, 0}, c.dtype);
  }
  static Number binary(tir::ExprKind kind, DType t, Number a, Number b) {
    const bool f = t.is_float();
    switch (kind) {
      case tir::ExprKind::Add:
        return {a.f + b.f, a.i + b.i};
      case tir::ExprKind::Sub:
        return {a.f - b.f, a.i - b.i};
      case tir::ExprKind::Mul:
        return {a.f * b.f, a.i * b.i};
      case tir::ExprKind::Div:
        return {a.f / b.f, f ? 0 : tir::trunc_div(a.i, b.i)};
      case tir::ExprKind::FloorDiv:
        return {std::floor(a.f / b.f), f ? 0 : tir::floor_div(a.i, b.i)};
      case tir::ExprKind::FloorMod:
        return {a.f - std::floor(a.f / b.f) * b.f, f ? 0 : tir::floor_mod(a.i, b.i)};
      case tir::ExprKind::Min:
        return less(t, b, a) || std::isnan(b.f) ? b : a;
      case tir::ExprKind::Max:
        return less(t, a, b) || std::isnan(b.f) ? b : a;
      case tir::ExprKind::Eq:
        return {0, f ? a.f == b.f : a.i == b.i};
      case tir::ExprKind::Ne:
        return {0, f ? a.f != b.f : a.i != b.i};
      case tir::ExprKind::Lt:
        return {0, less(t, a, b)};
      case tir::ExprKind::Le:
        return {0, f ? a.f <= b.f : !less(t, b, a)};
      default:
        TESSERA_UNREACHABLE("expression kind {}", static_cast<int>(kind));
    }
  }

  std::unordered_map<const tir::TensorNode*, std::vector<Number>> stages_;
  std::map<const tir::ExprNode*, std::int64_t> variables_;
};

// A call with everything that eval and compute are given.
struct Call {
  const relay::Operator* op = nullptr;
  relay::Attrs attrs;
  std::vector<Tensor> operands;  // tuples flattened
  std::vector<std::unique_ptr<Tensor>> constants;
  std::vector<const Tensor*> values;  // one an operand of the call
  Type result;
};

Call make_call(const Sample& sample, std::vector<Tensor> inputs) {
  const relay::Function& f = sample.function;
  std::map<NodeId, Tensor> data;
  for (std::size_t k = 0; k < inputs.size(); ++k) data[f.params()[k]] = inputs[k];
  Call call;
  const NodeId id = f.result();
  call.op = f.op(id);
  call.attrs = f.as<relay::OpCall>(id)->attrs;
  call.result = f.type(id);
  const auto tensor = [&](NodeId n) {
    const auto* c = f.as<relay::Constant>(n);
    return c != nullptr ? std::get<Tensor>(c->value) : data.at(n);
  };
  for (NodeId n : f.operands(id)) {
    call.values.push_back(nullptr);
    if (f.as<relay::Tuple>(n) != nullptr) {
      for (NodeId field : f.operands(n)) call.operands.push_back(tensor(field));
      continue;
    }
    call.operands.push_back(tensor(n));
    if (f.as<relay::Constant>(n) == nullptr) continue;
    call.constants.push_back(std::make_unique<Tensor>(call.operands.back()));
    call.values.back() = call.constants.back().get();
  }
  return call;
}

void expect_same(const Tensor& expected, const std::vector<Number>& found,
                 const std::string& what) {
  ASSERT_EQ(static_cast<std::size_t>(expected.num_elements()), found.size()) << what;
  const std::vector<Number> wanted = numbers_of(expected);
  for (std::size_t k = 0; k < found.size(); ++k) {
    if (!expected.dtype.is_float()) {
      ASSERT_EQ(wanted[k].i, found[k].i) << what << " element " << k;
      continue;
    }
    const double x = wanted[k].f, y = found[k].f;
    const bool same =
        x == y || (std::isnan(x) && std::isnan(y)) ||
        std::abs(x - y) <= operator_tolerance(expected.dtype) * std::max(1.0, std::abs(x));
    ASSERT_TRUE(same) << what << " element " << k << ": eval " << x << ", compute " << y;
  }
}

void check_sample(const Sample& sample, std::vector<Tensor> operands) {
  const std::string& text = sample.text;
  const Call call = make_call(sample, std::move(operands));
  const std::vector<Type> result_types = flatten(call.result);
  ASSERT_TRUE(call.op->eval != nullptr);
  const std::vector<Tensor> expected = call.op->eval({call.operands, call.attrs, call.result});
  ASSERT_EQ(expected.size(), result_types.size()) << text;
  for (std::size_t k = 0; k < expected.size(); ++k) {
    ASSERT_TRUE(expected[k].type() == result_types[k])
        << text << ": eval gives " << to_string(expected[k].type()) << ", inference says "
        << to_string(result_types[k]);
  }
  if (call.op->compute == nullptr) return;
  Interpreter interpreter;
  tir::DimVars dims;
  std::vector<TensorExpr> inputs;
  std::vector<Type> types;
  for (const Tensor& t : call.operands) {
    types.push_back(t.type());
    inputs.push_back(tir::input_tensor(fmt::format("x{}", inputs.size()),
                                       dims.shape(t.type().shape()), t.dtype));
    interpreter.bind(inputs.back(), t);
  }
  const auto found = call.op->compute({inputs, types, call.values, call.attrs, call.result, dims});
  ASSERT_EQ(found.size(), expected.size()) << text;
  for (std::size_t k = 0; k < found.size(); ++k) {
    ASSERT_TRUE(found[k].dtype() == expected[k].dtype)
        << text << ": " << to_string(found[k].dtype());
    ASSERT_EQ(interpreter.sizes(found[k].shape()), expected[k].shape) << text;
    expect_same(expected[k], interpreter.stage(found[k].ref()), std::string(text));
  }
}

class OperatorSamples : public testing::TestWithParam<const relay::Operator*> {};

TEST_P(OperatorSamples, ComputeEqualsEval) {
  for (std::string_view text : GetParam()->samples) {
    const Sample sample = parse_sample(text);
    for (std::uint64_t seed : {1, 2}) check_sample(sample, random_inputs(sample, seed));
  }
}

TEST_P(OperatorSamples, ComputeEqualsEvalOnSpecialValues) {
  if (!defines_special_values(*GetParam())) return;
  for (std::string_view text : GetParam()->samples) {
    const Sample sample = parse_sample(text);
    for (std::uint64_t seed : {1, 2, 3}) check_sample(sample, special_inputs(sample, seed));
  }
}

std::string test_name(const testing::TestParamInfo<const relay::Operator*>& info) {
  std::string name(info.param->name);
  for (char& c : name) {
    if (c == '.') c = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, OperatorSamples,
                         testing::ValuesIn(operators().all().begin(), operators().all().end()),
                         test_name);

TEST(OperatorTable, RecordsAreComplete) {
  std::set<std::string_view> names;
  for (const relay::Operator* op : operators().all()) {
    EXPECT_TRUE(names.insert(op->name).second) << op->name << " twice";
    EXPECT_FALSE(op->doc.empty()) << op->name;
    EXPECT_TRUE(op->infer != nullptr) << op->name;
    if (op->eval == nullptr) continue;  // call_lowered
    EXPECT_GE(op->samples.size(), 3u) << op->name;
    for (std::string_view s : op->samples) {
      EXPECT_EQ(s.substr(0, s.find('(')), op->name);
    }
  }
}

}  // namespace
}  // namespace tessera::ops
