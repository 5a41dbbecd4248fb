// SPDX-License-Identifier: Apache-2.0
// The calls that mark regions in a function: `annotation.compiler_begin` where a value enters one,
// `annotation.compiler_end` where it leaves (relay-spec 2.7).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "relay/function.h"

namespace tessera::byoc {

// The target of what no back end takes.
inline constexpr std::string_view kDefaultTarget = "default";

bool is_begin(const relay::Function& f, relay::NodeId id);
bool is_end(const relay::Function& f, relay::NodeId id);
inline bool is_annotation(const relay::Function& f, relay::NodeId id) {
  return is_begin(f, id) || is_end(f, id);
}
// The back end that an annotation names.
std::string compiler_of(const relay::Function& f, relay::NodeId annotation);

// Annotations of `value`, with its type.
relay::NodeId make_begin(relay::FunctionBuilder& builder, relay::NodeId value,
                         const std::string& compiler);
relay::NodeId make_end(relay::FunctionBuilder& builder, relay::NodeId value,
                       const std::string& compiler);

// What a node needs before it, in the order in which it is evaluated.
using Reads = std::function<std::vector<relay::NodeId>(relay::NodeId)>;

struct PostOrder {
  std::vector<relay::NodeId> nodes;  // live nodes, each after what it reads
  relay::NodeId cycle;               // a node that needs itself; invalid if there is none
};
// Depth first from the function's body. A region is visited as parameters, the values of its
// `let`s, its result; the regions of an `if` or literal after what that reads.
PostOrder post_order(const relay::Function& f, const Reads& reads);

}  // namespace tessera::byoc
