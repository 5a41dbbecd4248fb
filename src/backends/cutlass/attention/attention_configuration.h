// SPDX-License-Identifier: Apache-2.0
// Which kernel computes an attention, and how it is launched.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cutlass/attention/attention.h"
#include "backends/cutlass/gemm/configuration.h"

namespace tessera::backends::cutlass {

enum class AttentionSchedule : std::uint8_t {
  kSelfLoading,     // one group of warps that loads for itself
  kPersistentPair,  // two that a third one loads for, as many blocks as multiprocessors
  kMultistage,      // sm80: mma.sync and cp.async, for what has no wgmma, and for float32
};

struct AttentionConfiguration {
  AttentionSchedule schedule = AttentionSchedule::kSelfLoading;
  int queries = 64, keys = 128;  // of a block's tile
  bool is_dependent = true;      // may start while the kernel before it ends

  friend bool operator==(const AttentionConfiguration&, const AttentionConfiguration&) = default;
  // What is compiled: "sm90_64x128_SelfLoading", "sm80_128x64".
  std::string kernel_name() const;
  // As kernels/attention_sm90.cuh calls the schedule, if it is one of its.
  Literal schedule_name() const;
  // All of it, "sm90_64x128_SelfLoading dependent"; reads back equal.
  std::string text() const;
};
std::optional<AttentionConfiguration> parse_attention_configuration(std::string_view text);

// Why none of the target's kernels takes it.
std::optional<relay::Refusal> check_kernels(const Attention& attention, const Target& target);

// All that can compute it, the presumably fastest first; none where check_kernels() says why. Those
// that can start early do.
std::vector<AttentionConfiguration> candidates(const Attention& attention, const Target& target,
                                               const Device& device);

// The heads of a kernel: the next width that it is written for.
std::int64_t kernel_width(const Attention& attention, const AttentionConfiguration& configuration);
// Bytes of workspace that the kernel wants.
std::int64_t workspace_bytes(const Attention& attention,
                             const AttentionConfiguration& configuration);

// The ways to launch one of them, itself first: early or not.
std::vector<AttentionConfiguration> launches(const AttentionConfiguration& candidate);

}  // namespace tessera::backends::cutlass
