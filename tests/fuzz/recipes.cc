// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/recipes.h"

#include <algorithm>

#include "ops/inference/infer_types.h"
#include "ops/records/table.h"

namespace tessera::fuzz {
namespace {

using relay::Function;
using relay::NodeId;

// Marks mean something to passes alone, and what has no code is gone before code is made.
bool can_run(const relay::Operator& op) {
  const bool has_code = op.compute != nullptr || !op.runtime_symbol.empty();
  return op.eval != nullptr && has_code && !op.has_effect;
}

bool is_static(const Function& f) {
  for (const Type& t : flatten(f.type(f.result()))) {
    if (is_dynamic(t)) return false;
  }
  return true;
}

int count_of_copies(const relay::Operator& op, bool is_open) {
  constexpr std::string_view kFavourites[] = {
      "nn.dense", "nn.conv2d", "nn.bias_add", "nn.relu",   "add",         "multiply",
      "matmul",   "tanh",      "nn.softmax",  "transpose", "concatenate", "nn.batch_matmul"};
  constexpr std::string_view kOpenSizes[] = {"argwhere",
                                             "dyn.reshape",
                                             "dyn.strided_slice",
                                             "dyn.broadcast_to",
                                             "arange",
                                             "nn.conv1d",
                                             "nn.avg_pool2d",
                                             "nn.max_pool2d",
                                             "nn.conv2d_transpose",
                                             "nn.conv3d",
                                             "nn.global_avg_pool2d",
                                             "concatenate",
                                             "strided_slice",
                                             "reshape",
                                             "scatter_elements",
                                             "scatter_nd",
                                             "update_row",
                                             "nn.layer_norm",
                                             "where",
                                             "cumsum",
                                             "take",
                                             "sum",
                                             "matmul"};
  const auto has = [&](const auto& names) {
    return std::find(std::begin(names), std::end(names), op.name) != std::end(names);
  };
  const int of_backends = is_open ? 14 : 8;
  return (has(kFavourites) ? of_backends : 0) + (is_open && has(kOpenSizes) ? 6 : 0);
}

// Samples of operators whose own samples have constants for what decides sizes.
constexpr std::string_view kSizesOfData[] = {"argwhere(bool[5])", "argwhere(float32[2,3])"};

std::vector<std::vector<Recipe>> all_recipes(bool is_open) {
  std::vector<std::vector<Recipe>> by_operator, favourites;
  for (const relay::Operator* op : ops::operators().all()) {
    if (!can_run(*op)) continue;
    std::vector<Recipe> of_operator;
    for (const std::string_view text : op->samples) {
      ops::Sample sample = ops::parse_sample(text);
      if (is_open || is_static(sample.function)) of_operator.push_back({op, std::move(sample)});
    }
    for (const std::string_view text : kSizesOfData) {
      if (!is_open || !text.starts_with(op->name)) continue;
      of_operator.push_back({op, ops::parse_sample(text)});
    }
    if (of_operator.empty()) continue;
    favourites.insert(favourites.end(), static_cast<std::size_t>(count_of_copies(*op, is_open)),
                      of_operator);
    by_operator.push_back(std::move(of_operator));
  }
  by_operator.insert(by_operator.end(), favourites.begin(), favourites.end());
  return by_operator;
}

NodeId call_of(const Function& sample) {
  for (std::size_t i = 0; i < sample.num_nodes(); ++i) {
    if (sample.op(NodeId(i)) != nullptr) return NodeId(i);
  }
  TESSERA_CHECK(false, "a sample without a call");
}

Function with_attrs(const Function& sample, const relay::Attrs& attrs,
                    const std::vector<Type>& operands) {
  relay::FunctionBuilder builder;
  std::vector<NodeId> map;
  std::size_t params = 0;
  for (std::size_t i = 0; i < sample.num_nodes(); ++i) {
    const NodeId id(i);
    std::vector<NodeId> reads;
    for (const NodeId operand : sample.operands(id)) reads.push_back(map[operand.index()]);
    if (const auto* param = sample.as<relay::Param>(id)) {
      map.push_back(builder.param(param->name, operands[params++]));
    } else if (const auto* call = sample.as<relay::OpCall>(id)) {
      map.push_back(builder.call(*call->op, reads, attrs));
    } else if (const auto* constant = sample.as<relay::Constant>(id)) {
      map.push_back(builder.constant(constant->value));
    } else {
      map.push_back(builder.tuple(reads));
    }
  }
  return builder.finish(map[sample.result().index()]);
}

const relay::Attrs& attrs_of(const Function& sample) {
  return sample.as<relay::OpCall>(call_of(sample))->attrs;
}

std::string text_of(const relay::Operator& op, const relay::Attrs& attrs, std::string_view name) {
  if (const relay::AttrValue* value = attrs.find(name)) {
    const auto* text = value->as<std::string>();
    return text != nullptr ? *text : "";
  }
  const relay::AttrSchema& schema = op.attrs();
  const relay::AttrField* field = schema.find(name);
  const auto* text = field != nullptr ? field->default_value.as<std::string>() : nullptr;
  return text != nullptr ? *text : "";
}

// Channels last, as back ends like it, or any order.
std::string other_order(std::string letters, Random& random) {
  if (random.below(2) == 0) {
    std::rotate(letters.begin() + 1, letters.begin() + 2, letters.end());
    return letters;
  }
  for (std::size_t i = letters.size(); i > 1; --i) {
    std::swap(letters[i - 1], letters[static_cast<std::size_t>(random.below(static_cast<int>(i)))]);
  }
  return letters;
}

Type reordered(const Type& type, const std::string& from, const std::string& to) {
  Shape shape;
  for (const char letter : to) shape.push_back(type.shape()[from.find(letter)]);
  return tensor_type(std::move(shape), type.dtype());
}

}  // namespace

const std::vector<std::vector<Recipe>>& recipes(bool is_open) {
  static const auto closed = all_recipes(false), open = all_recipes(true);
  return is_open ? open : closed;
}

bool has_default_domain(const ops::SampleInput& input) {
  const DType dtype = input.type.dtype();
  if (dtype.is_bool()) return true;
  if (dtype.is_int()) return input.low == (dtype.is_unsigned_int() ? 0 : -5) && input.high == 5;
  return input.low == -2 && input.high == 2 && !input.special;
}

bool has_own_domain_of_integers(const ops::Sample& sample) {
  return std::any_of(sample.inputs.begin(), sample.inputs.end(), [](const ops::SampleInput& input) {
    return input.type.dtype().is_int() && !has_default_domain(input);
  });
}

std::optional<Function> with_operands(const Function& sample, const std::vector<Type>& operands) {
  auto typed = ops::infer_types(with_attrs(sample, attrs_of(sample), operands));
  if (!typed) return std::nullopt;
  return std::move(typed).value();
}

OpenedConstants with_inputs_for_constants(const Function& sample) {
  OpenedConstants out;
  relay::FunctionBuilder builder;
  std::vector<NodeId> map;
  for (std::size_t i = 0; i < sample.num_nodes(); ++i) {
    const NodeId id(i);
    std::vector<NodeId> reads;
    for (const NodeId operand : sample.operands(id)) reads.push_back(map[operand.index()]);
    if (const auto* constant = sample.as<relay::Constant>(id)) {
      out.values.push_back(std::get<Tensor>(constant->value));
      map.push_back(builder.param("c", sample.type(id)));
    } else if (sample.as<relay::Param>(id) != nullptr) {
      out.values.emplace_back();
      map.push_back(builder.param("x", sample.type(id)));
    } else {
      map.push_back(builder.copy(sample, id, reads));
    }
  }
  out.function = builder.finish(map[sample.result().index()]);
  return out;
}

Adaptation::Adaptation(const Recipe& recipe, const OpenSizes& sizes, Random& random)
    : sample_(recipe.sample), sizes_(sizes), openness_(random.below(5)) {
  if (random.below(2) == 0) change_layouts(random);
}

// Data and weight of convolutions, data of pooling, in another order of dimensions.
void Adaptation::change_layouts(Random& random) {
  const relay::Operator& op = *sample_.function.op(call_of(sample_.function));
  if (op.name.find("backward") != op.name.npos) return;
  relay::Attrs attrs = attrs_of(sample_.function);
  std::vector<Type> types;
  for (const ops::SampleInput& input : sample_.inputs) types.push_back(input.type);
  for (const char* name : {"data_layout", "layout", "kernel_layout"}) {
    const std::string from = text_of(op, attrs, name);
    const std::size_t operand = std::string_view(name) == "kernel_layout" ? 1 : 0;
    if (from.size() < 3 || operand >= types.size() || types[operand].rank() != from.size())
      continue;
    const std::string to = other_order(from, random);
    types[operand] = reordered(types[operand], from, to);
    attrs.set(name, to);
  }
  auto typed = ops::infer_types(with_attrs(sample_.function, attrs, types));
  if (!typed) return;
  sample_.function = std::move(typed).value();
  for (std::size_t i = 0; i < types.size(); ++i) sample_.inputs[i].type = types[i];
}

// Sizes of images have nothing to do with each other and with the numbers of channels, which is
// what others have that are the same number. Windows are numbers.
std::optional<std::int64_t> Adaptation::name_of(std::size_t operand, std::size_t axis) const {
  const relay::Attrs& attrs = attrs_of(sample_.function);
  const relay::Operator& op = *sample_.function.op(call_of(sample_.function));
  const bool is_weight = operand == 1;
  std::string letters = text_of(op, attrs, is_weight ? "kernel_layout" : "data_layout");
  if (letters.empty() && !is_weight) letters = text_of(op, attrs, "layout");
  const Shape& shape = sample_.inputs[operand].type.shape();
  const bool is_channel = letters.size() != shape.size() || operand > 1 ||
                          std::string_view("CIO").find(letters[axis]) != std::string_view::npos;
  if (is_channel) return shape[axis].constant();
  if (is_weight) return std::nullopt;
  return -1 - letters[axis];
}

bool Adaptation::take(std::size_t operand, const Type& type, Random& random) {
  const Type& wanted = sample_.inputs[operand].type;
  if (type.rank() != wanted.rank()) return false;
  const DType dtype = wanted.dtype();
  const bool is_alike =
      dtype.is_float() == type.dtype().is_float() && dtype.is_int() == type.dtype().is_int();
  const auto known = dtypes_.find(dtype);
  if (!is_alike || (known != dtypes_.end() && known->second != type.dtype())) return false;
  std::map<std::int64_t, Dim> dims = dims_;
  for (std::size_t axis = 0; axis < type.rank(); ++axis) {
    const Dim &size = wanted.shape()[axis], &found = type.shape()[axis];
    const auto name = name_of(operand, axis);
    if (!name && !(size == found)) return false;
    if (found.is_unknown() && has_own_domain_of_integers(sample_)) return false;
    if (!name || *name == 0 || *name == 1 || found.is_unknown()) continue;
    const auto [before, is_new] = dims.try_emplace(*name, found);
    if (!is_new && !(before->second == found) && random.below(4) != 0) return false;
  }
  dims_ = std::move(dims);
  dtypes_[dtype] = type.dtype();
  return true;
}

DType Adaptation::changed(DType dtype, Random& random) {
  constexpr DType kFloats[] = {kFloat16, kBFloat16, kFloat16, kBFloat16, kFloat32, kFloat64};
  constexpr DType kInts[] = {kInt8, kUInt8, kInt8, kUInt8, kInt16, kUInt16, kInt32, kInt64};
  const auto known = dtypes_.find(dtype);
  if (known != dtypes_.end()) return known->second;
  DType other = dtype;
  if (random.below(3) == 0) {
    if (dtype.is_float()) other = random.among(kFloats);
    if (dtype.is_int()) other = random.among(kInts);
  }
  dtypes_[dtype] = other;
  return other;
}

Type Adaptation::fresh_type(std::size_t operand, Random& random) {
  const Type& wanted = sample_.inputs[operand].type;
  Shape shape = wanted.shape();
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const auto name = name_of(operand, axis);
    if (!name || *name == 0 || *name == 1) continue;
    const bool is_open = random.below(4) < openness_;
    shape[axis] =
        dims_.try_emplace(*name, is_open ? sizes_.any(random) : shape[axis]).first->second;
  }
  return tensor_type(std::move(shape), changed(wanted.dtype(), random));
}

std::optional<ops::SampleInput> Adaptation::domain(std::size_t operand, const Type& type,
                                                   const Sizes& run) const {
  ops::SampleInput input = sample_.inputs[operand];
  const bool is_default = has_default_domain(input);
  input.type = closed(type, run);
  if (type.dtype().is_unsigned_int()) input.low = std::max(input.low, 0.0);
  if (is_default || !type.dtype().is_int()) return input;
  // The last index along a size of the sample is that of what stands in its place.
  const auto size = dims_.find(static_cast<std::int64_t>(input.high) + 1);
  if (size == dims_.end()) return input;
  const auto number =
      closed(tensor_type({size->second}, type.dtype()), run).shape()[0].as_constant();
  if (!number) return std::nullopt;
  if (input.low == -input.high - 1) input.low = -static_cast<double>(*number);
  input.high = static_cast<double>(*number) - 1;
  if (input.low > input.high) return std::nullopt;
  return input;
}

}  // namespace tessera::fuzz
