// SPDX-License-Identifier: Apache-2.0
#include "import/call_builder.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "ops/evaluation/evaluate_call.h"
#include "ops/evaluation/size_values.h"
#include "ops/inference/infer.h"
#include "ops/inference/infer_types.h"
#include "ops/inference/type_agreement.h"
#include "ops/records/table.h"
#include "tir/dim_vars.h"

namespace tessera::import {
namespace {

// Folding makes constants of at most this size: the arithmetic of shapes and small tables, not a
// second copy of every weight (the pass fold-constant does that where it pays).
constexpr std::int64_t kFoldedBytes = 1 << 16;
// Element operations of one call.
constexpr double kFoldedWork = 1 << 22;

void check_arity(const relay::Operator& op, std::size_t given, const Location& at) {
  const std::size_t most = op.operands.size();
  const std::size_t least = most - static_cast<std::size_t>(op.optional_operands);
  if (given >= least && (given <= most || op.variadic)) return;
  throw NodeError{
      error(Code::kWrongArity, at, "`{}` takes {} operands; {} are given", op.name,
            least == most ? fmt::format("{}", most) : fmt::format("{} to {}", least, most), given)};
}

// Stays as narrow as it is: some passes want it so, and fold-constant comes after them.
bool is_quantized_weight(const Type& type) {
  return type.is_tensor() && type.dtype().is_byte() && type.shape().size() >= 2;
}

void check_rank(std::size_t rank, const Location& at) {
  if (rank <= static_cast<std::size_t>(kMostDimensions)) return;
  throw NodeError{error(Code::kBadDimension, at,
                        "a tensor has {} dimensions; {} are the most that a tensor has", rank,
                        kMostDimensions)
                      .with_remedy("correct the model")};
}

// Before anything is made of that size.
void check_sizes(const relay::Operator& op, const Type& type, const Location& at) {
  for (const Type& tensor : flatten(type)) {
    check_rank(tensor.rank(), at);
    const auto sizes = constant_shape(tensor.shape());
    std::int64_t bytes = tensor.dtype().size_bytes();
    for (const std::int64_t n : sizes.value_or(std::vector<std::int64_t>{})) {
      if (n < 0) {
        throw NodeError{error(Code::kBadDimension, at,
                              "the result of `{}` would be {}: sizes are not negative", op.name,
                              to_string(tensor))
                            .with_remedy("correct the sizes that the node is given")};
      }
      if (!__builtin_mul_overflow(bytes, n, &bytes)) continue;
      throw NodeError{error(Code::kBadDimension, at,
                            "the size of the result of `{}`, {}, overflows 64 bits", op.name,
                            to_string(tensor))
                          .with_remedy("check the sizes of the model's inputs and --dim")};
    }
  }
}

// Can the result be computed here? Its size is known, and small.
bool is_small(const Type& type) {
  std::int64_t bytes = 0;
  for (const Type& tensor : flatten(type)) {
    const auto count = num_elements(tensor.shape()).as_constant();
    if (!count || *count > kFoldedBytes) return false;
    bytes += *count * tensor.dtype().size_bytes();
  }
  return bytes <= kFoldedBytes;
}

}  // namespace

void CallBuilder::set_limits(const Limits& limits) { limits_ = limits; }

void CallBuilder::count_node() {
  if (++nodes_ <= limits_.nodes) return;
  throw NodeError{limit_exceeded(location_, "nodes", limits_.nodes,
                                 "the graph with functions in place of their calls",
                                 static_cast<double>(nodes_))};
}

void CallBuilder::make_room(double elements) {
  made_bytes_ += std::max(elements, 0.0) * 8;
  if (made_bytes_ <= static_cast<double>(limits_.constant_bytes)) return;
  throw NodeError{limit_exceeded(location_, "constant-bytes", limits_.constant_bytes,
                                 "what is made of the model's sizes", made_bytes_)};
}

void CallBuilder::at(const Location& location) {
  location_ = location;
  builder_.at(location);
}

NodeId CallBuilder::param(const std::string& name, const Type& type) {
  const NodeId id = builder_.param(name, type);
  builder_.set_type(id, type);
  return id;
}

NodeId CallBuilder::kept_weight(const std::string& name, Tensor value, bool lets_read) {
  const NodeId id = param(name, value.type());
  kept_.push_back({id, {name, constants_.add(std::move(value))}, lets_read, false});
  return id;
}

// Within functions that have begun, ids are theirs.
const CallBuilder::Kept* CallBuilder::find_kept(NodeId id) const {
  if (!outer_.empty()) return nullptr;
  const auto it = std::lower_bound(kept_.begin(), kept_.end(), id,
                                   [](const Kept& k, NodeId wanted) { return k.param < wanted; });
  return it == kept_.end() || it->param != id ? nullptr : &*it;
}

std::vector<KeptWeight> CallBuilder::kept_weights() const {
  std::vector<KeptWeight> weights;
  for (const Kept& k : kept_) {
    if (!k.was_read) weights.push_back(k.weight);
  }
  return weights;
}

NodeId CallBuilder::constant(Tensor tensor) {
  const Type type = tensor.type();
  const NodeId id = tensor.is_scalar()
                        ? builder_.constant(std::move(tensor))
                        : builder_.constant(ConstantValue(constants_.add(std::move(tensor))));
  builder_.set_type(id, type);
  if (auto sizes = ops::size_values(*constant_of(id))) sizes_[id] = std::move(*sizes);
  return id;
}

NodeId CallBuilder::tuple(std::span<const NodeId> fields) {
  std::vector<Type> types;
  for (const NodeId f : fields) types.push_back(type(f));
  const NodeId id = builder_.tuple(fields);
  builder_.set_type(id, tuple_type(std::move(types)));
  return id;
}

NodeId CallBuilder::project(NodeId tuple, int index) {
  const relay::Function& made = builder_.peek();
  if (made.as<relay::Tuple>(tuple) != nullptr) {
    return made.operands(tuple)[static_cast<std::size_t>(index)];
  }
  const Type field = type(tuple).fields()[static_cast<std::size_t>(index)];
  const NodeId id = builder_.project(tuple, index);
  builder_.set_type(id, field);
  return id;
}

NodeId CallBuilder::call(const relay::Operator& op, std::span<const NodeId> args, Attrs attrs) {
  count_node();
  check_arity(op, args.size(), location_);
  if (const auto finding = op.attrs().normalize(attrs)) {
    throw NodeError{error(Code::kWrongAttribute, location_, "`{}`: {}", op.name, *finding)};
  }
  const Type result = infer(op, args, attrs);
  check_sizes(op, result, location_);
  if (const auto folded = fold(op, args, attrs, result)) return *folded;
  std::optional<Shape> sizes = size_values_of(op, args, attrs, result);
  if (sizes && constant_shape(*sizes)) {
    const auto shape = constant_shape(result.shape());
    return constant(tensor_from_ints(*shape, result.dtype(), *constant_shape(*sizes)));
  }
  // A chain that is known becomes one node.
  const bool complete = sizes && std::none_of(sizes->begin(), sizes->end(),
                                              [](const Dim& d) { return d.is_unknown(); });
  if (complete && op.name != "sizes" && result.dtype() == kInt64) {
    if (result.rank() == 1) return this->sizes(*sizes);
    if (result.rank() == 0) return scalar_size(sizes->front());
  }
  const NodeId id = builder_.call(op, args, std::move(attrs));
  builder_.set_type(id, result);
  if (sizes) sizes_[id] = std::move(*sizes);
  return id;
}

NodeId CallBuilder::sizes(const Shape& sizes) {
  relay::AttrArray values;
  for (const Dim& d : sizes) {
    if (d.is_unknown()) {
      throw NodeError{
          error(Code::kUnsupportedOnnxNode, location_,
                "a value of the shape {} is not supported here: a size of it has no name",
                to_string(sizes))
              .with_remedy("give the model's symbolic dimensions sizes with --dim NAME=SIZE")};
    }
    values.emplace_back(d.is_constant() ? std::to_string(d.constant()) : d.expression_text());
  }
  if (const auto numbers = constant_shape(sizes)) {
    return constant(
        tensor_from_ints({static_cast<std::int64_t>(numbers->size())}, kInt64, *numbers));
  }
  return call(*ops::operators().find("sizes"), {}, {{"values", std::move(values)}});
}

NodeId CallBuilder::scalar_size(const Dim& size) {
  return call(*ops::operators().find("sizes"), {},
              {{"values", relay::AttrArray{size.expression_text()}}, {"scalar", true}});
}

const Shape* CallBuilder::sizes_of(NodeId id) const {
  const auto it = sizes_.find(id);
  return it == sizes_.end() ? nullptr : &it->second;
}

std::optional<Shape> CallBuilder::size_values_of(const relay::Operator& op,
                                                 std::span<const NodeId> args, const Attrs& attrs,
                                                 const Type& type) const {
  std::vector<ops::SizeOperand> operands;
  const relay::Function& made = builder_.peek();
  for (const NodeId arg : args) {
    const bool is_tuple = made.as<relay::Tuple>(arg) != nullptr;
    for (const NodeId field : is_tuple ? made.operands(arg) : std::span<const NodeId>(&arg, 1)) {
      operands.push_back({made.type(field), sizes_of(field)});
    }
  }
  return ops::size_values(op, attrs, operands, type);
}

const Tensor* CallBuilder::constant_of(NodeId id) const {
  const auto* constant = builder_.peek().as<relay::Constant>(id);
  return constant == nullptr ? nullptr : &constants_.resolve(constant->value);
}

const Tensor* CallBuilder::read_constant(NodeId id) {
  const Kept* kept = find_kept(id);
  if (kept == nullptr || !kept->lets_read) return constant_of(id);
  kept_[static_cast<std::size_t>(kept - kept_.data())].was_read = true;
  return &constants_[kept->weight.value];
}

bool CallBuilder::is_within(const Dim& low, const Dim& high) const {
  const Dim difference = high - low;
  if (difference.is_unknown()) return false;
  tir::Bounds bounds;
  std::map<std::string, tir::Expr> values;
  for (const std::string& symbol : difference.symbols()) {
    const auto it = ranges_.find(symbol);
    tir::Interval range{it == ranges_.end() ? 0 : it->second.min, tir::Interval::kAny};
    if (it != ranges_.end() && it->second.max >= 0) range.max = it->second.max;
    values[symbol] = tir::make_var(symbol);
    bounds.set(values[symbol], range);
  }
  const tir::Interval found = tir::size_range(
      tir::dim_expr(difference, [&](const std::string& s) { return values.at(s); }), bounds);
  return found.has_min() && found.min >= 0;
}

NodeId CallBuilder::branch(NodeId condition, relay::RegionId then_region,
                           relay::RegionId else_region) {
  const relay::Function& made = builder_.peek();
  const Type yes = type(made.region(then_region).result);
  const Type no = type(made.region(else_region).result);
  const NodeId id = builder_.if_(condition, then_region, else_region);
  if (!ops::is_compatible(yes, no)) {
    throw NodeError{error(Code::kTypeMismatch, location_,
                          "the branches give values of different types: {} and {}", to_string(yes),
                          to_string(no))};
  }
  builder_.set_type(id, ops::common_type(yes, no));
  return id;
}

void CallBuilder::begin_function() {
  outer_.push_back({std::exchange(builder_, relay::FunctionBuilder()), std::exchange(sizes_, {})});
  builder_.at(location_);
}

relay::Function CallBuilder::end_function(NodeId result) {
  const Type result_type = type(result);
  relay::Function f = in_order(builder_.finish(result, {}, result_type));
  f.location = location_;
  leave_functions(outer_.size() - 1);
  return f;
}

void CallBuilder::leave_functions(std::size_t depth) {
  for (; outer_.size() > depth; outer_.pop_back()) {
    builder_ = std::move(outer_.back().builder);
    sizes_ = std::move(outer_.back().sizes);
  }
}

NodeId CallBuilder::call_global(const std::string& name, std::span<const NodeId> args,
                                const Type& result) {
  std::vector<Type> params;
  for (const NodeId arg : args) params.push_back(type(arg));
  const NodeId callee = builder_.global(name);
  builder_.set_type(callee, function_type(std::move(params), result));
  const NodeId id = builder_.call_value(callee, args);
  builder_.set_type(id, result);
  return id;
}

std::string CallBuilder::new_global() {
  std::string name = fmt::format("loop_{}", globals_.size());
  globals_.emplace(name, relay::Function());
  return name;
}

relay::Function CallBuilder::finish(NodeId result, Attrs attrs) {
  relay::Function f = in_order(builder_.finish(result, std::move(attrs)));
  std::map<std::string, ConstantIndex> given_up;  // names of parameters are unique here
  for (const Kept& k : kept_) {
    if (k.was_read) given_up.emplace(k.weight.name, k.weight.value);
  }
  if (given_up.empty()) return f;
  std::map<NodeId, ConstantValue> bound;
  for (const NodeId id : f.params()) {
    const auto it = given_up.find(f.as<relay::Param>(id)->name);
    if (it != given_up.end()) bound.emplace(id, it->second);
  }
  return relay::bind_params(f, bound);
}

void CallBuilder::reopen_branch(relay::RegionId branch) {
  builder_.reopen_region(branch);
  has_reopened_ = true;
}

// With the nodes of each region together.
relay::Function CallBuilder::in_order(relay::Function f) const {
  if (!has_reopened_) return f;
  std::vector<std::vector<NodeId>> nodes(f.num_regions());
  for (std::size_t i = 0; i < f.num_nodes(); ++i) {
    nodes[f[NodeId(i)].region.index()].push_back(NodeId(i));
  }
  std::vector<NodeId> order;
  const std::function<void(relay::RegionId)> append = [&](relay::RegionId region) {
    for (const NodeId id : nodes[region.index()]) {
      for (const relay::RegionId inner : relay::regions_of(f, id)) append(inner);
      order.push_back(id);
    }
  };
  append(relay::Function::kBody);
  return relay::rewrite(f, order, [](relay::Copier&, NodeId) { return std::optional<NodeId>(); });
}

Type CallBuilder::infer(const relay::Operator& op, std::span<const NodeId> args,
                        const Attrs& attrs) const {
  std::vector<Type> types;
  std::vector<const Tensor*> values;
  std::vector<const Shape*> sizes;
  for (const NodeId arg : args) {
    types.push_back(type(arg));
    values.push_back(constant_of(arg));
    sizes.push_back(sizes_of(arg));
  }
  Result<Type> result = op.infer({types, values, attrs, location_, op.name, sizes});
  if (!result) throw NodeError{result.error().list.front()};
  return std::move(*result);
}

std::optional<NodeId> CallBuilder::fold(const relay::Operator& op, std::span<const NodeId> args,
                                        const Attrs& attrs, const Type& type) {
  if (op.eval == nullptr || op.has_effect || !is_small(type)) return std::nullopt;
  if (op.name == "sizes") return std::nullopt;  // its elements may be symbols
  const bool widens = op.name == "cast" || op.name == "qnn.dequantize_float8";
  if (widens && is_quantized_weight(this->type(args[0]))) return std::nullopt;
  std::vector<Tensor> operands;
  std::vector<Type> types;
  std::int64_t operand_bytes = 0;
  for (const NodeId arg : args) {
    types.push_back(this->type(arg));
    const relay::Function& made = builder_.peek();
    const bool is_tuple = made.as<relay::Tuple>(arg) != nullptr;
    for (const NodeId field : is_tuple ? made.operands(arg) : std::span<const NodeId>(&arg, 1)) {
      const Tensor* tensor = constant_of(field);
      if (tensor == nullptr) return std::nullopt;
      operands.push_back(*tensor);
      operand_bytes += tensor->size_bytes();
    }
  }
  // A matrix product or reduction of weights belongs to fold-constant, which runs in parallel.
  if (operand_bytes > 4 * kFoldedBytes) return std::nullopt;
  const double work = ops::evaluation_cost(op, types, attrs, type).work;
  const double work_left = static_cast<double>(limits_.fold_work) - folded_work_;
  if (work > std::min(kFoldedWork, work_left)) return std::nullopt;
  folded_work_ += work;
  // What cannot be evaluated is left to the run, which says why.
  auto results = ops::evaluate_call(op, {operands, attrs, type}, location_);
  if (!results) return std::nullopt;
  if (type.is_tensor()) return constant(std::move(results->front()));
  std::vector<NodeId> fields;
  for (Tensor& result : *results) fields.push_back(constant(std::move(result)));
  return tuple(fields);
}

}  // namespace tessera::import
