// SPDX-License-Identifier: Apache-2.0
#include "backends/cutlass/gemm/epilogue.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "backends/cutlass/kernels/gemm.h"
#include "byoc/composite_match.h"
#include "constants/pool.h"
#include "ops/attrs/elementwise.h"
#include "ops/attrs/quantize.h"
#include "relay/operator.h"
#include "relay/patterns/refuse.h"

namespace tessera::backends::cutlass {
namespace {

using relay::Function;
using relay::is_call_of;
using relay::NodeId;
using relay::Refusal;
using relay::refuse;

// An operator as an expression over the names or numbers of its operands.
struct Word {
  std::string_view op;
  Literal text;
};
constexpr Word kWords[] = {
    {"add", "{0} + {1}"},
    {"nn.bias_add", "{0} + {1}"},
    {"subtract", "{0} - {1}"},
    {"multiply", "{0} * {1}"},
    {"divide", "divide({0}, {1})"},
    {"negative", "-{0}"},
    {"abs", "abs({0})"},
    {"exp", "exp({0})"},
    {"log", "log({0})"},
    {"erf", "erf({0})"},
    {"tanh", "tanh({0})"},
    {"sigmoid", "sigmoid({0})"},
    {"sqrt", "sqrt({0})"},
    {"rsqrt", "rsqrt({0})"},
    {"round", "round({0})"},
    {"maximum", "maximum({0}, {1})"},
    {"minimum", "minimum({0}, {1})"},
    {"nn.relu", "relu({0})"},
    {"nn.gelu", "0.5f * {0} * (1.f + erf({0} * 0.707106781f))"},
    {"nn.hard_swish", "{0} * clip({0} * 0.166666667f + 0.5f, 0.f, 1.f)"},
    {"nn.softplus", "maximum({0}, 0.f) + log(1.f + exp(-abs({0})))"},
    {"nn.prelu", "{0} < 0.f ? {1} * {0} : {0}"},
    {"cast", "{0}"},
    {"qnn.quantize_float8", "divide({0}, {1})"},
};

constexpr std::size_t kMostInputs = ::tessera::cutlass::kMaxGemmInputs;

bool is_number(double value) { return value - value == 0; }

Source number(double value) {
  if (!is_number(value)) {  // what clips nothing
    return value < 0 ? Literal("(-INFINITY)") : "INFINITY";
  }
  Source text = source("{:.9g}", value);
  if (text.text().find_first_of(".e") == std::string::npos) text += ".";
  return value < 0 ? Literal("(") + text + "f)" : text + "f";
}

class Describer {
 public:
  Describer(const Composite& c, std::size_t batch_rank)
      : c_(c), f_(*c.function), batch_rank_(batch_rank), shape_(f_.type(c.root).shape()) {}

  Expected<Epilogue, Refusal> run() {
    if (auto why = name_product()) return {Unexpected<Refusal>{*why}};
    out_.product_dtype = f_.type(c_.product).dtype();
    if (out_.product_dtype == kInt32) out_.sum_dtype = kInt32;
    if (f_.type(c_.product).shape() != shape_) return refuse("the product is broadcast");
    for (const NodeId id : c_.inside) {
      if (id == c_.product || f_.op(id) == nullptr) continue;
      if (auto why = add_step(id)) return {Unexpected<Refusal>{*why}};
    }
    out_.result = names_.at({c_.root, {}});
    out_.dtype = f_.type(c_.root).dtype();
    return std::move(out_);
  }

 private:
  using Why = std::optional<Refusal>;

  // Products of floats of eight bits have scales of their own.
  Why name_product() {
    Source value = Literal("sum");
    if (is_call_of(f_, c_.product, "qnn.dense_float8")) {
      for (const NodeId scale : f_.operands(c_.product).subspan(2)) {
        auto name = name_of(scale, std::nullopt);
        if (!name) return std::move(name).error();
        value += " * " + *std::move(name);
      }
      value = step("float", value);
    }
    names_[{c_.product, {}}] = std::move(value);
    return std::nullopt;
  }

  bool is_inside(NodeId id) const {
    return std::binary_search(c_.inside.begin(), c_.inside.end(), id);
  }

  Why add_step(NodeId id) {
    const std::string_view op = f_.op(id)->name;
    if (f_.type(id).shape() != shape_) {
      return Refusal{fmt::format("`{}` gives the shape {}, not the product's", op,
                                 to_string(f_.type(id).shape()))};
    }
    if (auto why = check_dtype(id, op)) return why;
    std::vector<Source> operands;
    for (const NodeId operand : f_.operands(id)) {
      const bool is_vector = operands.size() == 1;
      auto name = name_of(operand, is_vector ? axis_of_vector(id, op) : std::nullopt);
      if (!name) return std::move(name).error();
      operands.push_back(*std::move(name));
    }
    const auto text = expression(id, op, operands);
    if (!text) return text.error();
    if (op == "cast" && !is_int32(f_.operands(id)[0])) {  // all is float in between
      names_[{id, {}}] = *text;
      return std::nullopt;
    }
    names_[{id, {}}] = step(is_int32(id) ? Literal("int32_t") : "float", *text);
    return std::nullopt;
  }

  // The name of a value that is computed on the way.
  Source step(Literal type, const Source& text) {
    Source name = source("v{}", steps_++);
    out_.body += source("    const {} {} = {};\n", type, name, text);
    return name;
  }

  // The result's dimension that an operator's vector is along, if that is not the last one.
  std::optional<std::size_t> axis_of_vector(NodeId call, std::string_view op) const {
    if (op != "nn.bias_add" && op != "nn.prelu") return std::nullopt;
    auto axis =
        op == "nn.prelu" ? attrs<ops::PreluAttrs>(call).axis : attrs<ops::BiasAddAttrs>(call).axis;
    if (axis < 0) axis += static_cast<std::int64_t>(shape_.size());
    const auto place = static_cast<std::size_t>(axis);
    return place + 1 == shape_.size() ? std::nullopt : std::optional(place);
  }

  bool is_int32(NodeId id) const { return f_.type(id).dtype() == kInt32; }

  // Sums of integers stay so up to a cast to float32; integers of eight bits are at the end.
  Why check_dtype(NodeId id, std::string_view op) {
    const DType dtype = f_.type(id).dtype();
    const Refusal refusal{fmt::format("`{}` gives {}", op, to_string(dtype))};
    const bool is_sum = op == "add" || op == "subtract" || op == "nn.bias_add";
    if (dtype == kInt32) return is_sum ? std::nullopt : Why(refusal);
    if (op == "qnn.quantize_float8") return check_codes(id);
    if (dtype.is_byte()) {
      const NodeId x = f_.operands(id)[0];
      if (op != "cast" || id != c_.root || is_int32(x)) return refusal;
      // Conversions on the device saturate, and those of the graph do not.
      return is_within(x, dtype)
                 ? std::nullopt
                 : Why(Refusal{fmt::format("the range of what is cast to {} is not known to fit",
                                           to_string(dtype))});
    }
    if (!dtype.is_float()) return refusal;
    const bool reads_int32 = op == "cast" && is_int32(f_.operands(id)[0]);
    return reads_int32 && dtype != kFloat32 ? Why(refusal) : std::nullopt;
  }

  // Conversions on the device saturate.
  Why check_codes(NodeId id) {
    const auto p = attrs<ops::QuantizeFloat8Attrs>(id);
    if (id != c_.root || !is_call_of(f_, c_.product, "qnn.dense_float8")) {
      return Refusal{"floats of eight bits are no result of a product of such floats"};
    }
    if (!p.saturate) return Refusal{"what is too large for eight bits is not to saturate"};
    out_.format = find_float8(p.format);
    return std::nullopt;
  }

  // Does a `clip`, or a minimum and a maximum, keep the value within the type's limits?
  bool is_within(NodeId id, DType dtype) const {
    const double least = dtype == kInt8 ? -128 : 0, most = least + 255;
    bool is_above = false, is_below = false;
    while (f_.op(id) != nullptr && !(is_above && is_below)) {
      const std::string_view op = f_.op(id)->name;
      if (op == "clip") {
        const auto a = relay::read_attrs<ops::ClipAttrs>(f_.as<relay::OpCall>(id)->attrs);
        is_above |= a.a_min >= least;
        is_below |= a.a_max <= most;
      } else if (op == "maximum" || op == "minimum") {
        const auto bound = scalar(f_.operands(id)[1]);
        if (!bound || *bound < least || *bound > most) break;
        (op == "maximum" ? is_above : is_below) = true;
      } else {
        break;
      }
      id = f_.operands(id)[0];
    }
    return is_above && is_below;
  }

  template <class A>
  A attrs(NodeId id) const {
    return relay::read_attrs<A>(f_.as<relay::OpCall>(id)->attrs);
  }

  // The text of an activation with numbers of its own; "" for another operator.
  Source activation(NodeId id, std::string_view op, const Source& x) {
    if (op == "clip") {
      const auto a = attrs<ops::ClipAttrs>(id);
      return source("clip({}, {}, {})", x, number(a.a_min), number(a.a_max));
    }
    if (op == "nn.leaky_relu") {
      const auto a = attrs<ops::LeakyReluAttrs>(id);
      return source("{0} < 0.f ? {1} * {0} : {0}", x, number(a.alpha));
    }
    if (op == "nn.hard_sigmoid") {
      const auto a = attrs<ops::HardSigmoidAttrs>(id);
      return source("clip({} * {} + {}, 0.f, 1.f)", x, number(a.alpha), number(a.beta));
    }
    if (op == "nn.elu") {
      const auto a = attrs<ops::EluAttrs>(id);
      return source("{0} < 0.f ? {1} * (exp({0}) - 1.f) : {0}", x, number(a.alpha));
    }
    if (op == "nn.selu") {
      const auto a = attrs<ops::SeluAttrs>(id);
      return source("{2} * ({0} < 0.f ? {1} * (exp({0}) - 1.f) : {0})", x, number(a.alpha),
                    number(a.gamma));
    }
    if (op == "nn.mish") {  // tanh(log(1 + e)) is (e^2 + 2e) / (e^2 + 2e + 2), beyond 20 it is 1
      const Source e = step("float", source("exp(minimum({}, 20.f))", x));
      const Source n = step("float", source("{0} * ({0} + 2.f)", e));
      return source("{0} * divide({1}, {1} + 2.f)", x, n);
    }
    return {};
  }

  Expected<Source, Refusal> expression(NodeId id, std::string_view op,
                                       std::vector<Source>& operands) {
    if (Source text = activation(id, op, operands[0]); !text.empty()) return text;
    if (op == "power") return power(f_.operands(id)[1], operands[0]);
    if (op == "divide") {
      if (const auto by = scalar(f_.operands(id)[1]); by && *by != 0 && is_number(1 / *by)) {
        return source("{} * {}", operands[0], number(1 / *by));
      }
    }
    const auto* word = std::find_if(std::begin(kWords), std::end(kWords),
                                    [op](const Word& w) { return w.op == op; });
    if (word == std::end(kWords)) return refuse("an epilogue cannot compute `{}`", op);
    // What commutes is written in one order, so that kernels are shared: computed values first.
    if ((op == "add" || op == "multiply") && rank(operands[0]) > rank(operands[1])) {
      std::swap(operands[0], operands[1]);
    }
    operands.resize(2);
    return source_in(word->text, operands[0], operands[1]);
  }

  static int rank(const Source& operand) {
    const std::string& name = operand.text();
    return name == "sum" ? 0 : name[0] == 'v' ? 1 : name[0] == 'x' ? 2 : 3;
  }

  Expected<Source, Refusal> power(NodeId exponent, const Source& base) const {
    const auto value = scalar(exponent);
    if (value == 2.0) return source("{0} * {0}", base);
    if (value == 3.0) return source("{0} * {0} * {0}", base);
    return refuse("a power other than 2 and 3");
  }

  // The value of a constant of one element.
  std::optional<double> scalar(NodeId id) const {
    const Tensor* tensor = constant_of(c_, id);
    if (tensor == nullptr || tensor->num_elements() != 1) return std::nullopt;
    const double value = element_as_double(*tensor, 0);
    return is_number(value) ? std::optional(value) : std::nullopt;
  }

  // `axis`: as axis_of_vector has it.
  Expected<Source, Refusal> name_of(NodeId id, std::optional<std::size_t> axis) {
    const auto known = names_.find({id, axis});
    if (known != names_.end()) return known->second;
    if (const auto value = scalar(id); value && is_inside(id)) {
      return is_int32(id) ? source("({:.0f})", *value) : number(*value);
    }
    if (is_inside(id)) return refuse("a constant inside is not a finite scalar");
    TESSERA_TRY(EpilogueInput input, describe_input(id, axis));
    if (out_.inputs.size() == kMostInputs)
      return refuse("there are more than {} inputs", kMostInputs);
    Source& name = names_[{id, axis}];
    name = source("x{}", out_.inputs.size());
    out_.inputs.push_back(input);
    return name;
  }

  Expected<EpilogueInput, Refusal> describe_input(NodeId id,
                                                  std::optional<std::size_t> axis) const {
    const Type& type = f_.type(id);
    const DType dtype = type.dtype();
    const bool is_byte = dtype.is_byte() && out_.sum_dtype == kInt32;
    if (dtype != kFloat16 && dtype != kBFloat16 && dtype != kFloat32 && dtype != kInt32 &&
        !is_byte) {
      return refuse("an operand of the epilogue is {}", to_string(dtype));
    }
    Shape shape = type.shape();
    if (axis) shape.resize(shape_.size() - *axis, Dim(1));
    const std::size_t last = shape_.size() - 1;
    const Extent of_batch = extent_of(shape, shape_, 0, batch_rank_);
    const Extent of_rows = extent_of(shape, shape_, batch_rank_, last);
    if (of_batch == Extent::kPart || of_rows == Extent::kPart) {
      return refuse(
          "an operand of shape {} repeats along some of the dimensions {}, which are one "
          "to the kernel",
          to_string(shape), to_string(of_batch == Extent::kPart ? batch() : rows()));
    }
    const bool along_m = of_rows == Extent::kFull,
               along_n = extent_of(shape, shape_, last, last + 1) == Extent::kFull;
    EpilogueInput input{id, InputKind::kFull, dtype, of_batch == Extent::kFull};
    input.kind = along_m && along_n ? InputKind::kFull
                 : along_n          ? InputKind::kRow
                 : along_m          ? InputKind::kColumn
                                    : InputKind::kScalar;
    if (input.kind == InputKind::kFull && !input.is_batched && num_elements(batch()) != Dim(1)) {
      input.kind = InputKind::kRepeated;
    }
    if (is_byte && input.kind != InputKind::kFull) {
      return refuse("an operand of the epilogue has shape {} and is {}", to_string(shape),
                    to_string(dtype));
    }
    return input;
  }

  Shape batch() const { return {shape_.begin(), rows_begin()}; }
  Shape rows() const { return {rows_begin(), shape_.end() - 1}; }
  Shape::const_iterator rows_begin() const {
    return shape_.begin() + static_cast<std::ptrdiff_t>(batch_rank_);
  }

  const Composite& c_;
  const Function& f_;
  std::size_t batch_rank_;
  const Shape& shape_;
  // Names of values, and of vectors by the dimension that they are along.
  std::map<std::pair<NodeId, std::optional<std::size_t>>, Source> names_;
  int steps_ = 0;
  Epilogue out_;
};

}  // namespace

Expected<Composite, Refusal> composite_of(const Function& region, const ConstantPool& pool) {
  auto match = byoc::composite_match(region, pool);
  if (!match) return refuse("the region is not a call of a composite");
  return Composite{&region, &pool, std::move(match->inside), {}, match->root};
}

const Tensor* constant_of(const Composite& c, NodeId id) {
  return byoc::constant_of(*c.function, c.pool, id);
}

Extent extent_of(const Shape& tensor, const Shape& whole, std::size_t first, std::size_t last) {
  const Dim one = 1;
  const std::size_t missing = whole.size() - tensor.size();
  bool is_one = true, is_full = true;
  for (std::size_t i = first; i < last; ++i) {
    if (whole[i] == one) continue;
    const Dim& size = i < missing ? one : tensor[i - missing];
    is_one &= size == one;
    is_full &= size == whole[i];
  }
  return is_one ? Extent::kOne : is_full ? Extent::kFull : Extent::kPart;
}

Expected<Epilogue, Refusal> describe_epilogue(const Composite& composite, std::size_t batch_rank) {
  return Describer(composite, batch_rank).run();
}

}  // namespace tessera::backends::cutlass
