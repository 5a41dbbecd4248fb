// SPDX-License-Identifier: Apache-2.0
#include "plan/pool.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tessera::plan {
namespace {

constexpr std::int64_t kMostAlignBytes = std::int64_t{1} << 20;

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// Not negative.
std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

struct Unit {
  std::string_view name;
  std::int64_t bytes;
};
constexpr Unit kUnits[] = {{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30},  {"kB", 1000},
                           {"KB", 1000},     {"MB", 1000000},  {"GB", 1000000000}};

std::optional<std::int64_t> size(std::string_view text) {
  std::int64_t unit = 1;
  for (const Unit& u : kUnits) {
    if (!text.ends_with(u.name)) continue;
    unit = u.bytes;
    text.remove_suffix(u.name.size());
    break;
  }
  const std::optional<std::int64_t> count = number(text);
  std::int64_t bytes = 0;
  if (!count || __builtin_mul_overflow(*count, unit, &bytes)) return std::nullopt;
  return bytes;
}

bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return c < 128 && (std::isalnum(c) != 0 || c == '_');
  }) && std::isdigit(static_cast<unsigned char>(text[0])) == 0;
}

template <std::int64_t Pool::*kMember>
bool set_number(Pool& pool, std::string_view text) {
  const auto value = number(text);
  pool.*kMember = value.value_or(0);
  return value.has_value();
}

bool set_align(Pool& pool, std::string_view text) {
  const auto bytes = size(text);
  if (!bytes || *bytes > kMostAlignBytes ||
      !std::has_single_bit(static_cast<std::uint64_t>(*bytes)))
    return false;
  pool.align_bytes = *bytes;
  return true;
}

bool set_targets(Pool& pool, std::string_view text) {
  for (const std::string_view name : split(text, '+')) {
    if (find_target_kind(name) == nullptr) return false;
    pool.targets.push_back(find_target_kind(name)->name);
  }
  return true;
}

bool set_bursts(Pool& pool, std::string_view text) {
  for (const std::string_view part : split(text, '+')) {
    const std::size_t colon = std::min(part.find(':'), part.size());
    const TargetKind* target = find_target_kind(part.substr(0, colon));
    const auto bytes = size(part.substr(std::min(colon + 1, part.size())));
    if (target == nullptr || !bytes) return false;
    pool.burst_bytes[target->name] = *bytes;
  }
  return true;
}

// One attribute: how it is read and written, and what it must be.
struct Attribute {
  std::string_view key, rule;
  bool (*set)(Pool& pool, std::string_view text);
  std::string (*text)(const Pool& pool);  // "": as if it were not there
};

template <std::int64_t Pool::*kMember, std::int64_t kNone>
std::string number_text(const Pool& pool) {
  return pool.*kMember == kNone ? "" : std::to_string(pool.*kMember);
}

constexpr Attribute kAttributes[] = {
    {"name", "a name of letters, digits and `_`",
     [](Pool& p, std::string_view text) {
       p.name = text;
       return is_name(text);
     },
     [](const Pool& p) { return p.name; }},
    {"space", "a memory space: host, pinned, cuda, cuda:1, constant",
     [](Pool& p, std::string_view text) {
       const auto space = parse_memory_space(text);
       p.space = space.value_or(MemorySpace());
       return space.has_value();
     },
     [](const Pool& p) { return to_string(p.space); }},
    {"size", "a number of bytes, as 4096, 2MB or 2MiB",
     [](Pool& p, std::string_view text) {
       const auto bytes = size(text);
       p.limit_bytes = bytes.value_or(-1);
       return bytes.has_value();
     },
     number_text<&Pool::limit_bytes, -1>},
    {"align", "a power of two up to 1MiB", set_align, number_text<&Pool::align_bytes, 64>},
    {"targets", "kinds of targets with `+` between", set_targets,
     [](const Pool& p) { return fmt::format("{}", fmt::join(p.targets, "+")); }},
    {"clock", "a number of Hz", set_number<&Pool::clock_hz>, number_text<&Pool::clock_hz, -1>},
    {"read-bandwidth", "a number of bytes a cycle", set_number<&Pool::read_bytes_per_cycle>,
     number_text<&Pool::read_bytes_per_cycle, -1>},
    {"write-bandwidth", "a number of bytes a cycle", set_number<&Pool::write_bytes_per_cycle>,
     number_text<&Pool::write_bytes_per_cycle, -1>},
    {"read-latency", "a number of cycles", set_number<&Pool::read_latency_cycles>,
     number_text<&Pool::read_latency_cycles, 0>},
    {"write-latency", "a number of cycles", set_number<&Pool::write_latency_cycles>,
     number_text<&Pool::write_latency_cycles, 0>},
    {"burst", "bytes by target, as cpu:64+cuda:32", set_bursts,
     [](const Pool& p) {
       std::vector<std::string> parts;
       for (const auto& [target, bytes] : p.burst_bytes)
         parts.push_back(fmt::format("{}:{}", target, bytes));
       return fmt::format("{}", fmt::join(parts, "+"));
     }},
};

std::string keys() {
  std::vector<std::string_view> names;
  for (const Attribute& a : kAttributes) names.push_back(a.key);
  return fmt::format("{}", fmt::join(names, ", "));
}

Diagnostic bad_pool(std::string_view text, std::string finding) {
  return error(Code::kBadOption, {}, "pool `{}`: {}", text, finding)
      .with_remedy("write it as name=fast,space=host,size=2MB");
}

}  // namespace

bool is_for(const Pool& pool, std::string_view target) {
  return pool.targets.empty() ||
         std::find(pool.targets.begin(), pool.targets.end(), target) != pool.targets.end();
}

bool is_for_constants(const Pool& pool) { return pool.space.kind == MemoryKind::kConstant; }

bool is_in(const Pool& pool, const tir::BufferNode& buffer) {
  return !buffer.space || *buffer.space == pool.space;
}

std::string to_string(const Pool& pool) {
  std::string out;
  for (const Attribute& a : kAttributes) {
    const std::string text = a.text(pool);
    if (!text.empty()) out += fmt::format("{}{}={}", out.empty() ? "" : ",", a.key, text);
  }
  return out;
}

Result<Pool> parse_pool(std::string_view text) {
  Pool pool;
  std::vector<std::string_view> seen;
  for (const std::string_view part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    const std::string_view key = part.substr(0, equals);
    const auto* found = std::find_if(std::begin(kAttributes), std::end(kAttributes),
                                     [&](const Attribute& a) { return a.key == key; });
    if (found == std::end(kAttributes) || equals == std::string_view::npos) {
      return fail(
          bad_pool(text, fmt::format("`{}` is no attribute of a pool; it has {}", part, keys())));
    }
    if (std::find(seen.begin(), seen.end(), key) != seen.end()) {
      return fail(bad_pool(text, fmt::format("`{}` is given twice", key)));
    }
    seen.push_back(key);
    if (!found->set(pool, part.substr(equals + 1))) {
      return fail(bad_pool(text, fmt::format("`{}` must be {}", key, found->rule)));
    }
  }
  if (seen.empty() || std::find(seen.begin(), seen.end(), "name") == seen.end()) {
    return fail(bad_pool(text, "it has no name"));
  }
  return pool;
}

Result<std::vector<Pool>> parse_pools(std::span<const std::string> texts) {
  std::vector<Pool> pools;
  for (const std::string& text : texts) {
    TESSERA_TRY(Pool pool, parse_pool(text));
    const bool is_known =
        std::any_of(pools.begin(), pools.end(), [&](const Pool& p) { return p.name == pool.name; });
    if (is_known) {
      return fail(bad_pool(text, fmt::format("there is a pool `{}` already", pool.name)));
    }
    pools.push_back(std::move(pool));
  }
  return pools;
}

}  // namespace tessera::plan
