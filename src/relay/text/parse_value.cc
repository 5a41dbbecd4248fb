// SPDX-License-Identifier: Apache-2.0
#include "relay/text/parse_value.h"

#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "relay/words.h"

namespace tessera::relay {

namespace {

Unexpected<Finding> bad(Finding text) { return {std::move(text)}; }

struct NumberParts {
  bool negative = false;
  bool non_finite = false;
  std::string_view digits;  // or `inf`, `nan`
  std::string_view suffix;
};

NumberParts split_number(std::string_view token) {
  NumberParts parts;
  for (; token.starts_with('-'); token.remove_prefix(1)) parts.negative = !parts.negative;
  if (token.starts_with("inf") || token.starts_with("nan")) {
    parts.non_finite = true;
    parts.digits = token.substr(0, 3);
  } else {
    std::size_t n = 0;
    while (n < token.size() && !is_letter(token[n])) ++n;
    if (n < token.size() && (token[n] == 'e' || token[n] == 'E')) {
      ++n;
      while (n < token.size() && !is_letter(token[n])) ++n;
    }
    parts.digits = token.substr(0, n);
  }
  parts.suffix = token.substr(parts.digits.size());
  return parts;
}

struct Suffix {
  std::string_view text;
  DType dtype;
};
// All that Relay has; other data types are constants of the metadata section.
constexpr Suffix kSuffixes[] = {
    {"", kInt32},    {"i", kInt32},     {"i16", kInt16},   {"i32", kInt32},   {"i64", kInt64},
    {"f", kFloat32}, {"f16", kFloat16}, {"f32", kFloat32}, {"f64", kFloat64},
};

// The data type that a suffix names; the default width is 32.
std::optional<DType> suffix_dtype(std::string_view suffix) {
  for (const Suffix& known : kSuffixes) {
    if (known.text == suffix) return known.dtype;
  }
  return std::nullopt;
}

Finding describe_bad_suffix(std::string_view suffix) {
  return fmt::format(
      "has the unknown suffix `{}`: literals are int16, int32, int64, float16, "
      "float32 or float64, with `i16`, none, `i64`, `f16`, `f`, `f64`",
      suffix);
}

// Rounded once to T; nothing on overflow.
template <class T>
std::optional<T> read_float(const NumberParts& parts) {
  T value = 0;
  if (parts.non_finite) {
    value = parts.digits == "inf" ? std::numeric_limits<T>::infinity()
                                  : std::numeric_limits<T>::quiet_NaN();
    return parts.negative ? -value : value;
  }
  const char* end = parts.digits.data() + parts.digits.size();
  const auto [stop, problem] = std::from_chars(parts.digits.data(), end, value);
  if (stop != end) return std::nullopt;
  if (problem == std::errc::result_out_of_range) {
    // Too small is zero, too large is an error.
    const auto exponent = parts.digits.find_first_of("eE");
    const bool small = exponent != std::string_view::npos
                           ? parts.digits.substr(exponent + 1).starts_with('-')
                           : parts.digits.starts_with("0.");
    if (!small) return std::nullopt;
    value = 0;
  }
  return parts.negative ? -value : value;
}

Expected<Tensor, Finding> float_scalar(const NumberParts& parts, DType dtype) {
  if (dtype == kFloat32) {
    const auto value = read_float<float>(parts);
    if (value) return Tensor::scalar(*value, dtype);
  } else if (const auto value = read_float<double>(parts)) {
    Tensor t = tensor_from_doubles({}, dtype, std::span(&*value, 1));
    if (std::isfinite(*value) == std::isfinite(element_as_double(t, 0))) return t;
  }
  return bad(fmt::format("does not fit {}", to_string(dtype)));
}

struct Integer {
  bool negative = false;
  std::uint64_t magnitude = 0;
};

std::optional<Integer> read_integer(const NumberParts& parts) {
  Integer i{parts.negative, 0};
  const char* end = parts.digits.data() + parts.digits.size();
  const auto [stop, problem] = std::from_chars(parts.digits.data(), end, i.magnitude);
  return problem == std::errc() && stop == end ? std::optional(i) : std::nullopt;
}

bool fits(const Integer& i, DType dtype) {
  if (dtype.is_unsigned_int()) {
    const std::uint64_t max = ~std::uint64_t{0} >> (64 - dtype.bits);
    return i.magnitude <= max && (!i.negative || i.magnitude == 0);
  }
  const std::uint64_t max = ~std::uint64_t{0} >> (65 - dtype.bits);
  return i.magnitude <= max + (i.negative ? 1 : 0);
}

std::int64_t as_signed(const Integer& i) {
  return static_cast<std::int64_t>(i.negative ? ~i.magnitude + 1 : i.magnitude);
}

Finding describe_bad_integer(std::string_view token) {
  if (token.find_first_of(".eE") != std::string_view::npos) {
    return "has a fraction or an exponent but no `f` after it, as in `1.5f`";
  }
  return "does not fit 64 bits";
}

}  // namespace

std::string unquote(std::string_view token) {
  token = token.substr(1, token.size() - 2);
  std::string out;
  for (std::size_t i = 0; i < token.size(); ++i) {
    if (token[i] != '\\' || i + 1 == token.size()) {
      out += token[i];
      continue;
    }
    unsigned value = 0;
    const char* digits = token.data() + i + 2;
    switch (token[++i]) {
      case 'n':
        out += '\n';
        break;
      case 't':
        out += '\t';
        break;
      case 'r':
        out += '\r';
        break;
      case '"':
        out += '"';
        break;
      case '\\':
        out += '\\';
        break;
      case 'x':
        if (i + 2 < token.size() &&
            std::from_chars(digits, digits + 2, value, 16).ptr == digits + 2) {
          out += static_cast<char>(value);
          i += 2;
          break;
        }
        [[fallthrough]];
      default:
        out += '\\', out += token[i];
    }
  }
  return out;
}

bool is_non_finite(std::string_view word) {
  const NumberParts parts = split_number(word);
  const auto dtype = suffix_dtype(parts.suffix);
  return parts.non_finite && dtype && dtype->is_float();
}

Expected<Tensor, Finding> parse_scalar(std::string_view token) {
  const NumberParts parts = split_number(token);
  const auto dtype = suffix_dtype(parts.suffix);
  if (!dtype) return bad(describe_bad_suffix(parts.suffix));
  if (dtype->is_float()) return float_scalar(parts, *dtype);
  const auto integer = read_integer(parts);
  if (!integer) return bad(describe_bad_integer(parts.digits));
  const bool widen = parts.suffix.empty() && !fits(*integer, kInt32);
  const DType wide = widen ? kInt64 : *dtype;
  if (!fits(*integer, wide)) return bad(fmt::format("does not fit {}", to_string(wide)));
  const std::int64_t value = as_signed(*integer);
  return tensor_from_ints({}, wide, std::span(&value, 1));
}

Expected<AttrValue, Finding> parse_attr_number(std::string_view token) {
  const NumberParts parts = split_number(token);
  const auto dtype = suffix_dtype(parts.suffix);
  if (!dtype) return bad(describe_bad_suffix(parts.suffix));
  if (dtype->is_float()) {
    const auto value = read_float<double>(parts);
    if (!value) return bad("does not fit float64");
    AttrValue number(*value);
    number.width = dtype->bits;
    return number;
  }
  const auto integer = read_integer(parts);
  if (!integer) return bad(describe_bad_integer(parts.digits));
  const DType type = parts.suffix.empty() ? kInt64 : *dtype;
  if (!fits(*integer, type)) return bad(fmt::format("does not fit {}", to_string(type)));
  AttrValue number(as_signed(*integer));
  if (!parts.suffix.empty()) number.width = type.bits;
  return number;
}

std::optional<std::int64_t> parse_size(std::string_view token) {
  const NumberParts parts = split_number(token);
  const auto dtype = suffix_dtype(parts.suffix);
  const auto integer = read_integer(parts);
  if (!dtype || !dtype->is_int() || !integer || !fits(*integer, kInt64)) return std::nullopt;
  const std::int64_t value = as_signed(*integer);
  return value >= 0 ? std::optional(value) : std::nullopt;
}

std::optional<MetaReference> parse_meta(std::string_view token) {
  const auto open = token.find('['), close = token.find(']');
  MetaReference out{std::string(token.substr(open + 1, close - open - 1)), 0};
  const std::string_view digits = token.substr(close + 2, token.size() - close - 3);
  const auto [stop, problem] =
      std::from_chars(digits.data(), digits.data() + digits.size(), out.index);
  if (problem != std::errc() || stop != digits.data() + digits.size()) return std::nullopt;
  return out;
}

}  // namespace tessera::relay
