// SPDX-License-Identifier: Apache-2.0
#include "ops/samples/samples.h"

#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <random>

#include "ops/inference/infer_types.h"
#include "ops/records/table.h"

namespace tessera::ops {
namespace {

using relay::AttrValue;
using relay::NodeId;

class SampleReader {
 public:
  explicit SampleReader(std::string_view text) : text_(text) {}

  Sample read() {
    const relay::Operator& op = ops::op(word());
    expect('(');
    std::vector<NodeId> operands;
    relay::Attrs attrs;
    while (!accept(')')) {
      if (is_attribute()) {
        std::string name(word());
        expect('=');
        attrs.set(std::move(name), attribute());
      } else {
        operands.push_back(operand());
      }
      accept(',');
    }
    const NodeId result = builder_.call(op, operands, std::move(attrs));
    Result<relay::Function> typed = infer_types(builder_.finish(result));
    TESSERA_CHECK(typed.has_value(), "sample `{}`: {}", text_, typed.error().list[0].message);
    return {std::string(text_), std::move(typed).value(), std::move(inputs_)};
  }

 private:
  char peek() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    TESSERA_CHECK(at_ < text_.size(), "sample `{}` ends early", text_);
    return text_[at_];
  }
  bool accept(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) { TESSERA_CHECK(accept(c), "sample `{}` has no `{}` at {}", text_, c, at_); }
  std::string_view word() {
    peek();
    const std::size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(text_[at_]) != 0 || text_[at_] == '_' ||
                                  (text_[at_] == '.' && text_.substr(at_, 2) != ".."))) {
      ++at_;
    }
    return text_.substr(begin, at_ - begin);
  }
  bool is_attribute() {
    const std::size_t before = at_;
    const bool found = !word().empty() && peek() == '=';
    at_ = before;
    return found;
  }
  std::string_view number() {
    peek();
    const std::size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(text_[at_]) != 0 || text_[at_] == '-' ||
                                  (text_[at_] == '.' && text_.substr(at_, 2) != ".."))) {
      ++at_;
    }
    return text_.substr(begin, at_ - begin);
  }
  double real() {
    const std::string_view digits = number();
    double value = 0;
    const auto [end, bad] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    TESSERA_CHECK(bad == std::errc() && end == digits.data() + digits.size(), "sample `{}`: `{}`",
                  text_, digits);
    return value;
  }

  AttrValue attribute() {
    if (accept('[')) {
      relay::AttrArray list;
      while (!accept(']')) {
        list.push_back(attribute());
        accept(',');
      }
      return list;
    }
    if (accept('"')) {
      const std::size_t end = text_.find('"', at_);
      std::string value(text_.substr(at_, end - at_));
      at_ = end + 1;
      return value;
    }
    if (std::isupper(peek()) != 0) {
      const std::string_view name = word();
      if (name == "None") return {};
      return name == "True";
    }
    const std::size_t begin = at_;
    const std::string_view digits = number();
    std::int64_t value = 0;
    const auto [end, bad] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (bad == std::errc() && end == digits.data() + digits.size()) return value;
    at_ = begin;
    return real();
  }

  NodeId operand() {
    if (!accept('(')) return tensor();
    std::vector<NodeId> fields;
    while (!accept(')')) {
      fields.push_back(tensor());
      accept(',');
    }
    return builder_.tuple(fields);
  }

  NodeId tensor() {
    const std::string_view name = word();
    const auto dtype = parse_dtype(name);
    TESSERA_CHECK(dtype.has_value(), "sample `{}`: `{}` is not a data type", text_, name);
    expect('[');
    Shape shape;
    while (!accept(']')) {
      shape.emplace_back(static_cast<std::int64_t>(real()));
      accept(',');
    }
    const Type type = tensor_type(shape, *dtype);
    if (accept('=')) return constant(type);
    SampleInput input{type, -2, 2, false};
    if (dtype->is_int()) input = {type, dtype->is_unsigned_int() ? 0.0 : -5.0, 5, false};
    if (dtype->is_bool()) input = {type, 0, 1, false};
    if (accept('{')) read_domain(input);
    inputs_.push_back(input);
    return builder_.param(fmt::format("x{}", inputs_.size() - 1), type);
  }
  NodeId constant(const Type& type) {
    std::vector<double> values;
    if (accept('[')) {
      while (!accept(']')) {
        values.push_back(real());
        accept(',');
      }
    } else {
      values.push_back(real());
    }
    return builder_.constant(
        tensor_from_doubles(*constant_shape(type.shape()), type.dtype(), values));
  }
  void read_domain(SampleInput& input) {
    if (std::isalpha(peek()) != 0) {
      input.special = word() == "special";
    } else {
      input.low = real();
      expect('.');
      expect('.');
      input.high = real();
    }
    expect('}');
  }

  std::string_view text_;
  std::size_t at_ = 0;
  relay::FunctionBuilder builder_;
  std::vector<SampleInput> inputs_;
};

}  // namespace

Sample parse_sample(std::string_view text) { return SampleReader(text).read(); }

std::vector<Tensor> random_inputs(const Sample& sample, std::uint64_t seed) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kSpecial[] = {0.0,       -0.0,       1.0,
                                 kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN()};
  std::mt19937_64 random(seed);
  std::vector<Tensor> tensors;
  for (const SampleInput& input : sample.inputs) {
    const std::vector<std::int64_t> shape = *constant_shape(input.type.shape());
    const DType dtype = input.type.dtype();
    std::int64_t count = 1;
    for (std::int64_t d : shape) count *= d;
    std::vector<double> values;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::uint64_t bits = random();
      const double unit = static_cast<double>(bits >> 11) * 0x1p-53;
      if (input.special) {
        values.push_back(kSpecial[bits % std::size(kSpecial)]);
      } else if (dtype.is_float()) {
        values.push_back(input.low + unit * (input.high - input.low));
      } else {
        values.push_back(std::floor(input.low + unit * (input.high - input.low + 1)));
      }
    }
    tensors.push_back(tensor_from_doubles(shape, dtype, values));
  }
  return tensors;
}

std::vector<Tensor> special_inputs(Sample sample, std::uint64_t seed) {
  for (SampleInput& input : sample.inputs) input.special = input.type.dtype().is_float();
  return random_inputs(sample, seed);
}

bool defines_special_values(const relay::Operator& op) {
  return op.name != "cast" && !op.name.starts_with("nn.conv");
}

}  // namespace tessera::ops
