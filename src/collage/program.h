// SPDX-License-Identifier: Apache-2.0
// Candidates as programs of their own: what is built and measured.
#pragma once

#include <string>

#include "collage/extract.h"

namespace tessera::collage {

// The same function of tensors alone: a parameter of a tuple type becomes one for each tensor.
relay::Function with_tensor_params(const relay::Function& f);

// The sub-graph as a function of tensors. Constants that it reads are inside, as they are for a
// back end; they may be the graph's pool's.
relay::Function program_of(const DataflowGraph& graph, const SubGraph& sub_graph);

// What two programs have in common that take the same time: operators, attributes and types, and of
// constants the values where these may decide who can run it; not the numbers of larger constants
// of floating point.
std::string program_text(const relay::Function& program, const ConstantPool& pool);

}  // namespace tessera::collage
