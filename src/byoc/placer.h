// SPDX-License-Identifier: Apache-2.0
// Strategies that decide which back end runs what. Candidates and regions are the same for all; a
// strategy is asked again when a back end declines what it was given.
#pragma once

#include <span>

#include "byoc/partition.h"

namespace tessera::byoc {

class Placer {
 public:
  virtual ~Placer() = default;
  // Partitions all optimizable functions of the module; as partition_greedy says of the result.
  virtual Result<PartitionOutcome> place(Module module, std::span<const BackendChoice> choices) = 0;
};

// By the order of the choices.
class GreedyPlacer final : public Placer {
 public:
  Result<PartitionOutcome> place(Module module, std::span<const BackendChoice> choices) override {
    return partition_greedy(std::move(module), choices);
  }
};

// Runs the hooks of the back ends, in order of the choices and then of `named_only`, on the
// functions of their names. What a back end declines goes back to where it came from, and the rest
// is placed again: the back end is not given an equal region once more, but may get parts of it;
// with context.strict it is an error. Back ends that are `named_only` get nothing new. `outcome` is
// the partition's and is updated.
Result<PartitionOutcome> compile_backends(PartitionOutcome outcome,
                                          std::span<const BackendChoice> choices,
                                          CompileContext& context, Placer& placer,
                                          std::span<const BackendChoice> named_only = {});
inline Result<PartitionOutcome> compile_backends(PartitionOutcome outcome,
                                                 std::span<const BackendChoice> choices,
                                                 CompileContext& context) {
  GreedyPlacer greedy;
  return compile_backends(std::move(outcome), choices, context, greedy);
}

}  // namespace tessera::byoc
