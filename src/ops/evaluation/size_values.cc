// SPDX-License-Identifier: Apache-2.0
#include "ops/evaluation/size_values.h"

#include <algorithm>
#include <charconv>

#include "ops/attrs/create.h"
#include "ops/evaluation/evaluate_call.h"

namespace tessera::ops {

std::optional<Dim> size_of_text(const std::string& text) {
  std::int64_t n = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (problem == std::errc() && end == text.data() + text.size()) return Dim(n);
  return parse_dim_expression(text);
}

namespace {

constexpr std::int64_t kMaxElements = 64;  // shapes are short

bool holds_sizes(DType dtype) { return dtype == kInt64 || dtype == kInt32 || dtype.is_bool(); }

// The element count of a short tensor of integers whose sizes are numbers.
std::optional<std::int64_t> element_count_of(const Type& type) {
  if (!type.is_tensor() || !holds_sizes(type.dtype())) return std::nullopt;
  const auto count = num_elements(type.shape()).as_constant();
  const bool is_static = constant_shape(type.shape()).has_value();
  return is_static && count && *count <= kMaxElements ? count : std::nullopt;
}

Dim truth(Tri t) { return t == Tri::kMaybe ? Dim::unknown() : Dim(t == Tri::kYes ? 1 : 0); }
Tri opposite(Tri t) { return t == Tri::kMaybe ? t : t == Tri::kYes ? Tri::kNo : Tri::kYes; }
bool is_not_negative(const Dim& d) { return max(d, Dim(0)) == d; }

Dim floored(const Dim& a, const Dim& b) {
  if (b == Dim(0) || !is_not_negative(a) || !is_not_negative(b)) return Dim::unknown();
  return floor_div(a, b);
}

// Integer division truncates. For sizes, which are not negative, that is the same; what is less
// than a divisor below 0, as size - 1, gives 0.
Dim divided(const Dim& a, const Dim& b) {
  const bool is_near = is_not_negative(b) && is_not_negative(a + b - Dim(1));
  return floored(is_near ? max(a, Dim(0)) : a, b);
}

using Binary = Dim (*)(const Dim&, const Dim&);
struct Arithmetic {
  std::string_view op;
  Binary apply;
};
constexpr Arithmetic kArithmetic[] = {
    {"add", [](const Dim& a, const Dim& b) { return a + b; }},
    {"subtract", [](const Dim& a, const Dim& b) { return a - b; }},
    {"multiply", [](const Dim& a, const Dim& b) { return a * b; }},
    {"divide", divided},
    {"floor_divide", floored},
    {"floor_mod",
     [](const Dim& a, const Dim& b) { return b == Dim(0) ? Dim::unknown() : floor_mod(a, b); }},
    {"maximum", [](const Dim& a, const Dim& b) { return max(a, b); }},
    {"minimum", [](const Dim& a, const Dim& b) { return min(a, b); }},
    {"equal", [](const Dim& a, const Dim& b) { return truth(provably_equal(a, b)); }},
    {"not_equal", [](const Dim& a, const Dim& b) { return truth(opposite(provably_equal(a, b))); }},
};

// Operators that move elements of their first operand, or of a tuple, and look at none of them; the
// other operands say where to look.
bool moves_elements(std::string_view op) {
  const std::string_view movers[] = {"take",    "strided_slice", "concatenate",  "stack",
                                     "gather",  "transpose",     "broadcast_to", "tile",
                                     "reverse", "repeat"};
  return std::find(std::begin(movers), std::end(movers), op) != std::end(movers);
}

class Elements {
 public:
  Elements(const relay::Operator& op, const relay::Attrs& attrs,
           std::span<const SizeOperand> operands, const Type& result, std::int64_t count)
      : op_(op),
        attrs_(attrs),
        operands_(operands.begin(), operands.end()),
        unknown_(operands.size()),
        result_(result),
        count_(count) {
    if (!op.takes_tuples) return;
    // One of the lists that are put together may be known and another not.
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      const auto elements = element_count_of(operands_[i].type);
      if (operands_[i].sizes != nullptr || !elements) continue;
      unknown_[i].assign(static_cast<std::size_t>(*elements), Dim::unknown());
      operands_[i].sizes = &unknown_[i];
    }
  }

  std::optional<Shape> run() const {
    if (op_.name == "sizes") return listed();
    if (op_.name == "shape_of") return operands_[0].type.shape();
    if (op_.name == "ndarray_size") return Shape{num_elements(operands_[0].type.shape())};
    for (const SizeOperand& o : operands_) {
      if (o.sizes == nullptr) return std::nullopt;
    }
    if (operands_.empty()) return std::nullopt;
    if (op_.keeps_order) return *operands_[0].sizes;
    if (op_.name == "cast") return cast_elements();
    if (op_.name == "where") return chosen();
    for (const Arithmetic& a : kArithmetic) {
      if (a.op == op_.name) return combined(a.apply);
    }
    return moves_elements(op_.name) ? moved() : std::nullopt;
  }

 private:
  std::optional<Shape> listed() const {
    Shape out;
    for (const std::string& text : relay::read_attrs<SizesAttrs>(attrs_).values) {
      out.push_back(size_of_text(text).value_or(Dim::unknown()));
    }
    return out;
  }

  std::optional<Shape> cast_elements() const {
    if (!holds_sizes(operands_[0].type.dtype())) return std::nullopt;
    Shape out = *operands_[0].sizes;
    if (!result_.dtype().is_bool() || operands_[0].type.dtype().is_bool()) return out;
    for (Dim& d : out) d = truth(opposite(provably_equal(d, Dim(0))));
    return out;
  }

  // Which element of operand `i` numpy broadcasting puts at element `at` of the result: lists and
  // scalars only.
  const Dim* element(std::size_t i, std::size_t at) const {
    const Shape& sizes = *operands_[i].sizes;
    if (sizes.size() == 1) return &sizes[0];
    const bool aligned = operands_[i].type.rank() == 1 && result_.rank() == 1;
    return aligned && at < sizes.size() ? &sizes[at] : nullptr;
  }

  std::optional<Shape> combined(Binary apply) const {
    Shape out;
    for (std::size_t i = 0; i < static_cast<std::size_t>(count_); ++i) {
      const Dim *a = element(0, i), *b = element(1, i);
      if (a == nullptr || b == nullptr) return std::nullopt;
      out.push_back(apply(*a, *b));
    }
    return out;
  }

  std::optional<Shape> chosen() const {
    Shape out;
    for (std::size_t i = 0; i < static_cast<std::size_t>(count_); ++i) {
      const Dim *condition = element(0, i), *yes = element(1, i), *no = element(2, i);
      if (condition == nullptr || yes == nullptr || no == nullptr) return std::nullopt;
      const auto holds = condition->as_constant();
      out.push_back(holds ? (*holds != 0 ? *yes : *no) : *yes == *no ? *yes : Dim::unknown());
    }
    return out;
  }

  // By evaluating the operator on the places of the elements.
  std::optional<Shape> moved() const {
    std::vector<Tensor> places;
    Shape all;
    const bool tuple = op_.takes_tuples;
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      const auto shape = constant_shape(operands_[i].type.shape());
      if (!shape) return std::nullopt;
      std::vector<std::int64_t> values;
      for (const Dim& d : *operands_[i].sizes) {
        if (tuple || i == 0) {
          values.push_back(static_cast<std::int64_t>(all.size()));
          all.push_back(d);
        } else if (const auto n = d.as_constant()) {
          values.push_back(*n);
        } else {
          return std::nullopt;
        }
      }
      const DType dtype = tuple || i == 0 ? kInt64 : operands_[i].type.dtype();
      places.push_back(tensor_from_ints(*shape, dtype, values));
    }
    const Type result = tensor_type(result_.shape(), kInt64);
    const auto results = evaluate_call(op_, {places, attrs_, result});
    if (!results) return std::nullopt;
    const Tensor& found = results->front();
    Shape out;
    for (std::int64_t i = 0; i < found.num_elements(); ++i) {
      out.push_back(all[static_cast<std::size_t>(element_as_int(found, i))]);
    }
    return out;
  }

  const relay::Operator& op_;
  const relay::Attrs& attrs_;
  std::vector<SizeOperand> operands_;
  std::vector<Shape> unknown_;  // what stands for an operand of which nothing is known
  const Type& result_;
  std::int64_t count_;
};

}  // namespace

std::optional<Shape> size_values(const Tensor& constant) {
  if (!element_count_of(constant.type())) return std::nullopt;
  Shape out;
  for (std::int64_t i = 0; i < constant.num_elements(); ++i) {
    out.emplace_back(element_as_int(constant, i));
  }
  return out;
}

std::optional<Shape> size_values(const relay::Operator& op, const relay::Attrs& attrs,
                                 std::span<const SizeOperand> operands, const Type& result) {
  const auto count = element_count_of(result);
  if (!count || op.eval == nullptr) return std::nullopt;
  auto found = Elements(op, attrs, operands, result, *count).run();
  if (!found || static_cast<std::int64_t>(found->size()) != *count) return std::nullopt;
  const bool tells = found->empty() || std::any_of(found->begin(), found->end(),
                                                   [](const Dim& d) { return !d.is_unknown(); });
  return tells ? found : std::nullopt;
}

Shape sizes_of(const relay::Function& f, relay::NodeId id) {
  Shape sizes;
  if (!f.type(id) || f.type(id).is_function()) return sizes;
  for (const Type& tensor : flatten(f.type(id))) {
    sizes.insert(sizes.end(), tensor.shape().begin(), tensor.shape().end());
  }
  if (!relay::is_call_of(f, id, "sizes")) return sizes;
  for (const std::string& text :
       relay::read_attrs<SizesAttrs>(f.as<relay::OpCall>(id)->attrs).values) {
    sizes.push_back(*size_of_text(text));
  }
  return sizes;
}

}  // namespace tessera::ops
