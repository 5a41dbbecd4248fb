// SPDX-License-Identifier: Apache-2.0
// What an operator keeps between runs: its attributes, and scratch memory for each worker.
#pragma once

#include "runtime/json_graph.h"
#include "tessera/call.h"

namespace tessera::runtime {

// An element to be ordered: 16 bytes, whatever the element type.
inline constexpr std::uint64_t kScratchBytesPerElement = 16;

struct OperatorState {
  JsonGraph graph;
  const JsonNode* node = nullptr;  // the operator
  char* scratch = nullptr;
  std::uint64_t scratch_elements = 0;  // a worker
  std::int32_t workers = 0;

  OperatorState() = default;
  OperatorState(const OperatorState&) = delete;
  OperatorState& operator=(const OperatorState&) = delete;
  ~OperatorState();

  // Scratch for `elements` a worker; grows only if the shape was not known at create. False: no
  // memory.
  [[nodiscard]] bool reserve(std::uint64_t elements, std::int32_t workers_wanted);
  void* scratch_of(std::int32_t worker) const {
    return scratch + worker * scratch_elements * kScratchBytesPerElement;
  }
};

// The state of the call; null, with the error set, if there is none.
OperatorState* operator_state(const tessera_call* call);

// Sets the error and returns a status that is not zero.
std::int32_t operator_error(const tessera_call* call, const char* text);

}  // namespace tessera::runtime
