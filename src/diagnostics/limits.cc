// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/limits.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include <unistd.h>

namespace tessera {
namespace {

struct Entry {
  std::string_view name;
  std::int64_t Limits::*field;
};
constexpr Entry kEntries[] = {
    {"fold-work", &Limits::fold_work},
    {"constant-bytes", &Limits::constant_bytes},
    {"nodes", &Limits::nodes},
    {"depth", &Limits::depth},
};

const Entry* find_entry(std::string_view name) {
  const auto* found = std::find_if(std::begin(kEntries), std::end(kEntries),
                                   [&](const Entry& e) { return e.name == name; });
  return found == std::end(kEntries) ? nullptr : found;
}

// The machine's memory; a small machine's where the system does not tell.
std::int64_t memory_bytes() {
  const auto pages = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES));
  const auto page = static_cast<std::int64_t>(sysconf(_SC_PAGESIZE));
  return pages > 0 && page > 0 ? pages * page : std::int64_t{4} << 30;
}

std::int64_t sum(std::int64_t a, std::int64_t b) {
  std::int64_t all = 0;
  return __builtin_add_overflow(a, b, &all) ? std::numeric_limits<std::int64_t>::max() : all;
}
std::int64_t times(std::uint64_t a, std::int64_t b) {
  std::int64_t all = 0;
  return __builtin_mul_overflow(a, b, &all) ? std::numeric_limits<std::int64_t>::max() : all;
}

}  // namespace

std::string limit_names() {
  std::string names;
  for (const Entry& e : kEntries) names += (names.empty() ? "" : ", ") + std::string(e.name);
  return names;
}

Result<LimitBindings> parse_limits(std::span<const std::string> texts) {
  LimitBindings given;
  for (const std::string& text : texts) {
    const std::size_t equals = std::min(text.find('='), text.size());
    const std::string name = text.substr(0, equals);
    const char* end = text.data() + text.size();
    std::int64_t value = -1;
    const auto [stop, problem] =
        std::from_chars(text.data() + std::min(equals + 1, text.size()), end, value);
    const bool is_number = problem == std::errc() && stop == end && value >= 0;
    if (find_entry(name) != nullptr && is_number && given.emplace(name, value).second) continue;
    return fail(error(Code::kBadOption, {}, "--limit {}: it is NAME=NUMBER, each name once, of {}",
                      text, limit_names())
                    .with_remedy("for example --limit nodes=1000000"));
  }
  return given;
}

Limits limits_for(std::uint64_t model_bytes, const LimitBindings& given) {
  Limits limits;
  // A few seconds, and a weight of which each element is in a hundred products.
  limits.fold_work = sum(std::int64_t{1} << 26, times(model_bytes, 128));
  // Tables, and weights of eight bits or less that become float32.
  limits.constant_bytes = sum(std::int64_t{32} << 20, times(model_bytes, 8));
  // A node takes some ten bytes of a file, and up to 128 KiB while it is compiled.
  limits.nodes = std::max(memory_bytes() >> 17, times(model_bytes / 8, 1));
  limits.depth = 64;
  for (const auto& [name, value] : given) limits.*find_entry(name)->field = value;
  return limits;
}

LimitBindings bindings_of(const Limits& limits) {
  LimitBindings all;
  for (const Entry& e : kEntries) all.emplace(e.name, limits.*e.field);
  return all;
}

Diagnostic limit_exceeded(const Location& at, std::string_view limit, std::int64_t bound,
                          const std::string& what, double amount) {
  return error(Code::kLimitExceeded, at, "{} needs {:.6g}, and the limit `{}` is {}", what, amount,
               limit, bound)
      .with_remedy(fmt::format("if the model is trusted, raise it with --limit {}=NUMBER", limit));
}

}  // namespace tessera
