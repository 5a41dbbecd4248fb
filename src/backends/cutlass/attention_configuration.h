// SPDX-License-Identifier: Apache-2.0
// Which kernel computes an attention, and how it is launched.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cutlass/attention.h"
#include "backends/cutlass/configuration.h"

namespace tessera::backends::cutlass {

enum class AttentionSchedule : std::uint8_t {
  kSelfLoading,     // one group of warps that loads for itself
  kPersistentPair,  // two that a third one loads for, as many blocks as multiprocessors
};

struct AttentionConfiguration {
  AttentionSchedule schedule = AttentionSchedule::kSelfLoading;
  int queries = 64, keys = 128;  // of a block's tile
  bool is_dependent = true;      // may start while the kernel before it ends

  friend bool operator==(const AttentionConfiguration&, const AttentionConfiguration&) = default;
  // What is compiled: "sm90_64x128_SelfLoading".
  std::string kernel_name() const;
  // As kernels/attention_sm90.cuh calls the schedule.
  const char* schedule_name() const;
  // All of it, "sm90_64x128_SelfLoading dependent"; reads back equal.
  std::string text() const;
};
std::optional<AttentionConfiguration> parse_attention_configuration(std::string_view text);

// All that can compute it, the presumably fastest first. Each starts early.
std::vector<AttentionConfiguration> candidates(const Attention& attention, const Device& device);

// The ways to launch one of them, itself first: early or not.
std::vector<AttentionConfiguration> launches(const AttentionConfiguration& candidate);

}  // namespace tessera::backends::cutlass
