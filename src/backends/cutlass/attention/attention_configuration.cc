// SPDX-License-Identifier: Apache-2.0
#include "backends/cutlass/attention/attention_configuration.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <utility>

#include <fmt/format.h>

namespace tessera::backends::cutlass {
namespace {

constexpr Literal kScheduleNames[] = {"SelfLoading", "PersistentPair"};

using enum AttentionSchedule;

// Hopper's instructions multiply 16 bits, and tf32 only in an order in which no values lie.
bool has_hopper_kernels(const Attention& a, const Target& target) {
  return has_tma(target) && a.dtype.size_bytes() == 2;
}

// The tiles of Hopper's kernels that registers and shared memory hold. A group of warps has 64
// queries, and each thread of it a part of their scores and of their results: wide heads leave less
// room for keys. The first of each schedule is the usual one.
std::vector<AttentionConfiguration> hopper_tiles(std::int64_t width) {
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
// so with a causal mask alone, where they balance better: keys after the queries are passed over.
AttentionSchedule usual_schedule(const Attention& a, const Device& device) {
  const std::int64_t blocks = a.batch * a.heads * ((a.queries + 127) / 128);
  const bool is_balanced = !a.is_causal || a.mask;
  return blocks >= device.multiprocessors && is_balanced ? kPersistentPair : kSelfLoading;
}

// The tiles of the other kernels: each of four warps has 16 queries of every 64, with scores and
// results in registers; keys and values of a tile are in shared memory, as float32 twice as large.
std::vector<AttentionConfiguration> multistage_tiles(std::int64_t width, bool is_float) {
  const auto tiles = [](std::initializer_list<std::pair<int, int>> list) {
    std::vector<AttentionConfiguration> all;
    for (const auto& [queries, keys] : list) all.push_back({kMultistage, queries, keys, false});
    return all;
  };
  if (is_float) {
    if (width > 128) return tiles({{64, 32}, {64, 16}});
    if (width > 64) return tiles({{64, 32}, {64, 64}, {64, 16}});
    return tiles({{64, 64}, {128, 32}, {64, 32}, {128, 64}});
  }
  if (width > 128) return tiles({{64, 64}, {64, 32}});
  if (width > 64) return tiles({{64, 64}, {128, 32}, {64, 128}, {128, 64}});
  return tiles({{64, 64}, {128, 64}, {64, 128}, {128, 32}});
}

// As SharedStorage of kernels/attention_sm80.cuh has it.
std::int64_t shared_bytes(const Attention& a, const AttentionConfiguration& c) {
  const std::int64_t row = kernel_width(a, c) * a.dtype.size_bytes() + 16;
  return (c.queries + 2 * c.keys) * row;
}

std::vector<AttentionConfiguration> multistage_candidates(const Attention& a, const Target& target,
                                                          const Device& device) {
  auto all = multistage_tiles(a.width, a.dtype == kFloat32);
  // Where there is work for all, more queries go through each key that is loaded.
  const std::int64_t blocks = a.batch * a.heads * ((a.queries + 127) / 128);
  if (all[1].queries > all[0].queries && blocks >= std::int64_t{2} * device.multiprocessors) {
    std::swap(all[0], all[1]);
  }
  const bool has_own_mask = a.mask && a.mask->row_stride != 0;
  std::erase_if(all, [&](const AttentionConfiguration& c) {
    // Rows of a mask for each query take the registers that many queries need.
    return (has_own_mask && c.queries > 64) || shared_bytes(a, c) > shared_bytes_of(target);
  });
  return all;
}

}  // namespace

Literal AttentionConfiguration::schedule_name() const {
  return kScheduleNames[static_cast<int>(schedule)];
}

std::string AttentionConfiguration::kernel_name() const {
  if (schedule == kMultistage) return fmt::format("sm80_{}x{}", queries, keys);
  return fmt::format("sm90_{}x{}_{}", queries, keys, schedule_name());
}

std::string AttentionConfiguration::text() const {
  return kernel_name() + (is_dependent ? " dependent" : "");
}

std::optional<AttentionConfiguration> parse_attention_configuration(std::string_view text) {
  const std::string copy(text);
  AttentionConfiguration c;
  if (std::sscanf(copy.c_str(), "sm80_%dx%d", &c.queries, &c.keys) == 2) {
    c.schedule = kMultistage;
    c.is_dependent = false;
    return c.text() == text ? std::optional(c) : std::nullopt;
  }
  char schedule[16] = "", dependent[16] = "";
  if (std::sscanf(copy.c_str(), "sm90_%dx%d_%15s %15s", &c.queries, &c.keys, schedule, dependent) <
      3) {
    return std::nullopt;
  }
  if (schedule == kScheduleNames[1].text()) c.schedule = kPersistentPair;
  c.is_dependent = dependent[0] != '\0';
  return c.text() == text ? std::optional(c) : std::nullopt;
}

std::optional<relay::Refusal> check_kernels(const Attention& a, const Target& target) {
  const auto because = [](std::string why) { return relay::Refusal{std::move(why)}; };
  if (!has_kernels(target)) {
    return because("kernels of attention are for sm_80 and later, the target is for " +
                   architecture(target));
  }
  if (a.dtype != kFloat16 && a.dtype != kBFloat16 && a.dtype != kFloat32) {
    return because("there is no attention kernel for " + to_string(a.dtype));
  }
  // TMA and cp.async copy 16 bytes from where 16 bytes begin.
  const std::int64_t together = 16 / a.dtype.size_bytes();
  if (a.width % together != 0 || a.width > 256) {
    return because(
        fmt::format("heads are {} wide, not a multiple of {} up to 256", a.width, together));
  }
  for (const HeadsView* x : {&a.q, &a.k, &a.v, &a.o}) {
    for (const std::int64_t d : {x->offset, x->batch_stride, x->head_stride, x->row_stride}) {
      if (d % together != 0 || d > INT32_MAX) {
        return because("the distance of rows of heads is not a multiple of 16 bytes");
      }
    }
  }
  if (a.mask) {
    for (const std::int64_t d : {a.mask->batch_stride, a.mask->head_stride, a.mask->row_stride}) {
      if (d > INT32_MAX) return because("parts of the mask are more than 2^31 elements apart");
    }
  }
  return std::nullopt;
}

std::int64_t kernel_width(const Attention& a, const AttentionConfiguration& c) {
  const std::int64_t step = c.schedule == kMultistage ? 32 : 64;
  return (a.width + step - 1) / step * step;
}

// Hopper's kernels store a float for each query, which nobody reads.
std::int64_t workspace_bytes(const Attention& a, const AttentionConfiguration& c) {
  return c.schedule == kMultistage ? 0 : (a.queries + 127) / 128 * 128 * 4;
}

std::vector<AttentionConfiguration> candidates(const Attention& attention, const Target& target,
                                               const Device& device) {
  if (check_kernels(attention, target)) return {};
  if (!has_hopper_kernels(attention, target)) {
    return multistage_candidates(attention, target, device);
  }
  auto all = hopper_tiles(kernel_width(attention, {}));
  if (all[0].schedule != usual_schedule(attention, device)) std::swap(all[0], all[1]);
  // Rows of a mask for each query take the registers that many keys need.
  const bool has_own_mask = attention.mask && attention.mask->row_stride != 0;
  if (has_own_mask) std::erase_if(all, [](const auto& c) { return c.keys > 128; });
  return all;
}

std::vector<AttentionConfiguration> launches(const AttentionConfiguration& candidate) {
  if (candidate.schedule == kMultistage) return {candidate};
  AttentionConfiguration other = candidate;
  other.is_dependent = !candidate.is_dependent;
  return {candidate, other};
}

}  // namespace tessera::backends::cutlass
