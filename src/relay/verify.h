// SPDX-License-Identifier: Apache-2.0
// The structural rules of a function (relay/function.h, docs/graph-ir.md).
#pragma once

#include "diagnostics/diagnostic.h"
#include "relay/function.h"

namespace tessera::relay {

// All violations; empty for a well-formed function:
//  * every region has a result, parameters of its own, and an owner that names it;
//  * operands are earlier nodes of the node's own or an enclosing region; so are regions' results;
//  * the nodes of a region come before its owner;
//  * operator calls have the operator's number of operands and normalised attributes;
//  * attributes of functions that the compiler goes by have values of their kind;
//  * literals with `Primitive`, `Compiler` or `Composite` capture nothing.
Diagnostics verify(const Function& f);

}  // namespace tessera::relay
