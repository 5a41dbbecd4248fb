// SPDX-License-Identifier: Apache-2.0
#include "lower/names.h"

#include <charconv>

#include <fmt/format.h>

namespace tessera::lower {
namespace {

constexpr std::size_t kMaxOperatorsText = 48;

std::string short_dtype(DType t) {
  if (t.is_bool()) return "b8";
  if (t.code == TypeCode::kBFloat) return "bf16";
  const char letter = t.is_float() ? 'f' : t.is_unsigned_int() ? 'u' : 'i';
  return fmt::format("{}{}", letter, t.bits);
}

// `nn.bias_add` is written `biasadd`: the underscore separates operators.
std::string word(std::string_view op) {
  if (const auto dot = op.rfind('.'); dot != std::string_view::npos) op.remove_prefix(dot + 1);
  std::string out;
  for (char c : op) {
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) out += c;
  }
  return out.empty() ? "op" : out;
}

// The part in front of `separator`, which is removed with it; everything if there is none.
std::string_view take(std::string_view& text, std::string_view separator) {
  const auto at = text.find(separator);
  const std::string_view head = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view{} : text.substr(at + separator.size());
  return head;
}

bool read_number(std::string_view text, auto& value) {
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  return problem == std::errc{} && end == text.data() + text.size() && !text.empty();
}

}  // namespace

std::string kernel_symbol(int number, const std::vector<std::string>& operators, DType dtype,
                          const std::vector<std::int64_t>& shape) {
  std::string ops;
  for (const std::string& op : operators) {
    const std::string next = word(op);
    if (ops.size() + next.size() > kMaxOperatorsText) break;
    ops += (ops.empty() ? "" : "_") + next;
  }
  if (ops.empty()) ops = "copy";
  std::string sizes;
  for (std::int64_t n : shape) {
    sizes += (sizes.empty() ? "" : "x") + (n < 0 ? std::string("n") : std::to_string(n));
  }
  return fmt::format("k{:02}_{}__{}_{}__native", number, ops, short_dtype(dtype),
                     sizes.empty() ? "scalar" : sizes);
}

std::optional<KernelName> parse_kernel_symbol(std::string_view symbol) {
  KernelName name;
  if (symbol.empty() || symbol.front() != 'k') return std::nullopt;
  symbol.remove_prefix(1);
  if (!read_number(take(symbol, "_"), name.number)) return std::nullopt;
  std::string_view operators = take(symbol, "__");
  while (!operators.empty()) name.operators.emplace_back(take(operators, "_"));
  std::string_view configuration = take(symbol, "__");
  name.dtype = take(configuration, "_");
  if (name.operators.empty() || name.dtype.empty() || symbol != "native") return std::nullopt;
  while (!configuration.empty() && configuration != "scalar") {
    name.shape.push_back(-1);
    const std::string_view size = take(configuration, "x");
    if (size != "n" && !read_number(size, name.shape.back())) return std::nullopt;
  }
  return name;
}

}  // namespace tessera::lower
