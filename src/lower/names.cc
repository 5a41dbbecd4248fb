// SPDX-License-Identifier: Apache-2.0
#include "lower/names.h"

#include <string_view>

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

}  // namespace tessera::lower
