// SPDX-License-Identifier: Apache-2.0
#include "passes/testing/golden_constants.h"

#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "support/check.h"

namespace tessera::passes::testing {
namespace {

constexpr std::int64_t kMaxShown = 16;

std::string element_text(const Tensor& t, std::int64_t i) {
  if (!t.dtype.is_float()) return fmt::format("{}", element_as_int(t, i));
  const double value = element_as_double(t, i);
  if (t.dtype.size_bytes() <= 4) return fmt::format("{}", static_cast<float>(value));
  return fmt::format("{}", value);
}

// The least number of leading elements that repeat through the whole tensor; 0: more than are
// shown.
std::int64_t period(const std::vector<std::string>& elements) {
  for (std::int64_t p = 1; p <= kMaxShown; ++p) {
    bool repeats = true;
    for (std::size_t i = static_cast<std::size_t>(p); i < elements.size() && repeats; ++i) {
      repeats = elements[i] == elements[i - static_cast<std::size_t>(p)];
    }
    if (repeats) return p;
  }
  return 0;
}

}  // namespace

Tensor parse_constant(const std::string& text) {
  const std::size_t open = text.find('['), close = text.find(']'), equals = text.find('=');
  TESSERA_CHECK(open < close && close < equals && equals != text.npos, "constant `{}`", text);
  const std::string name =
      text.substr(text.find_first_not_of(' '), open - text.find_first_not_of(' '));
  const auto dtype = parse_dtype(name);
  TESSERA_CHECK(dtype.has_value(), "dtype of constant `{}`", text);
  std::vector<std::int64_t> shape;
  std::istringstream sizes(text.substr(open + 1, close - open - 1));
  std::int64_t count = 1;
  for (std::string size; std::getline(sizes, size, ',');) {
    shape.push_back(std::stoll(size));
    count *= shape.back();
  }
  std::istringstream in(text.substr(equals + 1));
  std::vector<double> given, values;
  for (double v; in >> v;) given.push_back(v);
  TESSERA_CHECK(!given.empty() && in.eof(), "values of constant `{}`", text);
  for (std::int64_t i = 0; i < count; ++i) {
    values.push_back(given[static_cast<std::size_t>(i) % given.size()]);
  }
  return tensor_from_doubles(shape, *dtype, values);
}

std::string constant_line(const Tensor& t) {
  std::vector<std::string> elements;
  for (std::int64_t i = 0; i < t.num_elements(); ++i) elements.push_back(element_text(t, i));
  const std::int64_t p = period(elements);
  const std::int64_t shown = std::min(p == 0 ? kMaxShown : p, t.num_elements());
  elements.resize(static_cast<std::size_t>(shown));
  const std::string rest = p == 0 ? fmt::format(" ... {:016x}", t.blob->hash().low) : "";
  return fmt::format("// CONSTANT: {}[{}] = {}{}", to_string(t.dtype), fmt::join(t.shape, ","),
                     fmt::join(elements, " "), rest);
}

}  // namespace tessera::passes::testing
