// SPDX-License-Identifier: Apache-2.0
#include "backends/cutlass/attention_configuration.h"

#include <cstdio>
#include <utility>

#include <fmt/format.h>

namespace tessera::backends::cutlass {
namespace {

constexpr const char* kScheduleNames[] = {"SelfLoading", "PersistentPair"};

using enum AttentionSchedule;

// What registers and shared memory hold. A group of warps has 64 queries, and each thread of it a
// part of their scores and of their results: wide heads leave less room for keys. The first of
// each schedule is the usual one.
std::vector<AttentionConfiguration> tiles_of(std::int64_t width) {
  if (width == 256)
    return {{kSelfLoading, 64, 64}, {kPersistentPair, 128, 32}, {kSelfLoading, 64, 32}};
  if (width == 192) return {{kSelfLoading, 64, 64}, {kPersistentPair, 128, 64}};
  if (width == 128) {
    return {{kSelfLoading, 64, 64},
            {kPersistentPair, 128, 128},
            {kSelfLoading, 64, 128},
            {kPersistentPair, 128, 64}};
  }
  return {{kSelfLoading, 64, 128},
          {kPersistentPair, 128, 128},
          {kSelfLoading, 64, 192},
          {kPersistentPair, 128, 192},
          {kSelfLoading, 64, 64}};
}

// Two groups of warps and long rows where there is work for all multiprocessors, else small blocks;
// so with a causal mask alone, where they balance better: keys behind the queries are passed over.
AttentionSchedule usual_schedule(const Attention& a, const Device& device) {
  const std::int64_t blocks = a.batch * a.heads * ((a.queries + 127) / 128);
  const bool is_balanced = !a.is_causal || a.mask;
  return blocks >= device.multiprocessors && is_balanced ? kPersistentPair : kSelfLoading;
}

}  // namespace

const char* AttentionConfiguration::schedule_name() const {
  return kScheduleNames[static_cast<int>(schedule)];
}

std::string AttentionConfiguration::kernel_name() const {
  return fmt::format("sm90_{}x{}_{}", queries, keys, schedule_name());
}

std::string AttentionConfiguration::text() const {
  return kernel_name() + (is_dependent ? " dependent" : "");
}

std::optional<AttentionConfiguration> parse_attention_configuration(std::string_view text) {
  const std::string copy(text);
  AttentionConfiguration c;
  char schedule[16] = "", dependent[16] = "";
  if (std::sscanf(copy.c_str(), "sm90_%dx%d_%15s %15s", &c.queries, &c.keys, schedule, dependent) <
      3) {
    return std::nullopt;
  }
  if (schedule == std::string_view(kScheduleNames[1])) c.schedule = kPersistentPair;
  c.is_dependent = dependent[0] != '\0';
  return c.text() == text ? std::optional(c) : std::nullopt;
}

std::vector<AttentionConfiguration> candidates(const Attention& attention, const Device& device) {
  auto all = tiles_of(attention.kernel_width());
  if (all[0].schedule != usual_schedule(attention, device)) std::swap(all[0], all[1]);
  // Rows of a mask for each query take the registers that many keys need.
  const bool has_own_mask = attention.mask && attention.mask->row_stride != 0;
  if (has_own_mask) std::erase_if(all, [](const auto& c) { return c.keys > 128; });
  return all;
}

std::vector<AttentionConfiguration> launches(const AttentionConfiguration& candidate) {
  AttentionConfiguration other = candidate;
  other.is_dependent = !candidate.is_dependent;
  return {candidate, other};
}

}  // namespace tessera::backends::cutlass
