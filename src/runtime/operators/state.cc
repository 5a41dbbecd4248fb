// SPDX-License-Identifier: Apache-2.0
#include "runtime/operators/state.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "runtime/array.h"
#include "runtime/operators/operators.h"

namespace tessera::runtime {
namespace {

constexpr std::int32_t kMaxRank = 16;

const JsonNode* find_kernel(const JsonGraph& graph) {
  for (const JsonNode& node : graph.nodes()) {
    if (node.op == JsonOp::kKernel) return &node;
  }
  return nullptr;
}

// No axis is longer than the longest; 0 if shapes are not known.
std::uint64_t longest_axis(const JsonGraph& graph) {
  std::int64_t longest = 0;
  for (const JsonNode& node : graph.nodes()) {
    std::int64_t dims[kMaxRank];
    const std::int32_t rank = graph.shape(node, 0, dims, kMaxRank);
    for (std::int32_t d = 0; d < rank; ++d) longest = std::max(longest, dims[d]);
  }
  return static_cast<std::uint64_t>(longest);
}

// Does it order elements, for which it needs room?
bool orders(const JsonNode& node) {
  return std::string_view(node.name.data()).substr(0, 8) != "scatter_";
}

}  // namespace

OperatorState::~OperatorState() { std::free(scratch); }

bool OperatorState::reserve(std::uint64_t elements, std::int32_t workers_wanted) {
  if (elements <= scratch_elements && workers_wanted <= workers) return true;
  elements = std::max(elements, scratch_elements);
  std::free(scratch);
  scratch = static_cast<char*>(
      std::calloc(elements * static_cast<std::uint64_t>(workers_wanted), kScratchBytesPerElement));
  scratch_elements = scratch == nullptr ? 0 : elements;
  workers = scratch == nullptr ? 0 : workers_wanted;
  return scratch != nullptr;
}

OperatorState* operator_state(const tessera_call* call) {
  auto* state = call->states == nullptr ? nullptr : call->states->call_site;
  if (state == nullptr) operator_error(call, "the operator was given no attributes");
  return static_cast<OperatorState*>(state);
}

std::int32_t operator_error(const tessera_call* call, const char* text) {
  call->set_error(call, text);
  return 1;
}

}  // namespace tessera::runtime

std::int32_t tessera_operator_create(const tessera_state_args* args, void** state) {
  using namespace tessera::runtime;
  auto* created = create<OperatorState>();
  if (created == nullptr) {
    args->set_error(args, "out of memory");
    return 1;
  }
  const tessera_artifact_view& artifact = args->artifacts[0];
  const char* problem = nullptr;
  if (!created->graph.parse({static_cast<const char*>(artifact.payload), artifact.payload_bytes})) {
    problem = created->graph.error();
  } else if ((created->node = find_kernel(created->graph)) == nullptr) {
    problem = "its graph has no operator";
  } else if (orders(*created->node) &&
             !created->reserve(longest_axis(created->graph), args->threads)) {
    problem = "out of memory";
  }
  if (problem != nullptr) {
    args->set_error(args, problem);
    destroy(created);
    return 1;
  }
  *state = created;
  return 0;
}

void tessera_operator_destroy(void* state) {
  tessera::runtime::destroy(static_cast<tessera::runtime::OperatorState*>(state));
}
