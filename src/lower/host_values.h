// SPDX-License-Identifier: Apache-2.0
// What of a program for a device the host computes: the integers that become sizes, and the flags
// of branches and loops, as far as they follow from what the host has anyway.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>

#include "lower/kernels.h"
#include "module/module.h"

namespace tessera::lower {

// Buffers of a host program. A value is one that has memory; its views stand for it in questions.
struct HostValues {
  std::set<const tir::BufferNode*> values;
  // Those of them that the device reads as well, or the caller: integers, which are sent.
  std::set<const tir::BufferNode*> shared;
  std::set<const tir::BufferNode*> constants;            // of the program, which both sides have
  std::map<const tir::BufferNode*, tir::Buffer> viewed;  // by view: what has its bytes

  tir::Buffer root(const tir::Buffer& b) const;
  bool contains(const tir::Buffer& b) const { return values.contains(root(b).get()); }
  bool is_shared(const tir::Buffer& b) const { return shared.contains(root(b).get()); }
  // Does the host do this call, a kernel that would be the device's?
  bool computes(const tir::CallKernel& call) const;
};

// The small values of a program that only the host needs, or both sides, and that it can compute:
//
//   needed   by a kernel that finds sizes, by a branch or loop, or for another such value;
//   computed by generated kernels alone, from sizes, constants, flags, `inputs` (those that each
//            run is given) and other such values.
//
// What follows from data of the device, as the places that argwhere finds do, is none of them, nor
// are floats that the device needs, too: there it has its own way to compute them.
HostValues find_host_values(const tir::PrimFunc& program, std::span<const tir::Buffer> inputs,
                            const Module& module);

// Gives host values memory of the host (space="host"), also where they are inputs, and makes the
// kernels that compute them the CPU's. A shared one is sent after each call that writes it.
void place_host_values(std::map<std::string, tir::PrimFunc>& programs, Module& module,
                       Kernels& kernels);

}  // namespace tessera::lower
