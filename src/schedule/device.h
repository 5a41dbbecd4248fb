// SPDX-License-Identifier: Apache-2.0
// The rules for devices: plain nests of lower/ become launches (tir/device_loops.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schedule/machine.h"
#include "schedule/nest.h"
#include "schedule/rules.h"
#include "tir/walk.h"

namespace tessera::schedule {

// What schedules need to know of a device.
struct Device {
  std::int64_t threads = 1 << 16;    // so many keep it busy, where each has some work of its own
  bool multiplies_fragments = true;  // it has mma.m16n8k16, of float16 and bfloat16
  int winograd_tile = Machine::kClearlyFaster;  // of convolutions; 0: none is computed so
  MeasuredAlgorithms* measured = nullptr;       // null: rules alone choose
};

// A kernel in the canonical form of lower/primitive.h. Its attribute "schedule" says what was done.
tir::PrimFunc schedule_device_kernel(tir::PrimFunc kernel, const Device& device = {});
// The same for one with inputs that every call gives a constant.
ScheduledKernel schedule_device_kernel(tir::PrimFunc kernel, const Device& device,
                                       const std::vector<tir::Buffer>& constants);

// Independent elements: one thread each, or one for as many neighbours as a vector access takes.
// What crosses memory (a transpose) goes through shared memory in tiles.
tir::Stmt device_map(Nest nest);

// A reduction of few terms, or one that does not run along memory: one thread an element.
tir::Stmt device_reduction(const Nest& nest, const Reduction& reduction);

// Rows: a warp or block for each iteration of the loops around, its threads along the row. Nothing
// where the statements inside do not run along rows.
std::optional<tir::Stmt> device_rows(const tir::Stmt& nest);
// Whether a reduction's terms lie along memory and are enough for the threads of a warp.
bool runs_along_memory(const Nest& nest, const Reduction& reduction);

// A sum of products of two operands with the element-wise nests after it, in tiles through shared
// memory: what matrix products and convolutions are when no back end takes them.
std::optional<Contraction> device_product(std::span<const tir::Stmt> nests,
                                          const std::vector<tir::Buffer>& temporaries);

// The same of few rows, with a matrix of integers of a few bits or of floats of 16 bits: the matrix
// is read as fast as memory gives it (tir/few_rows.h).
std::optional<Contraction> device_few_rows(std::span<const tir::Stmt> nests,
                                           const std::vector<tir::Buffer>& temporaries);

// Convolutions of 3 by 3 without stride by Winograd's algorithm (schedule/winograd_transform.h),
// for whole images: a launch that transforms tiles, one of products, one that transforms them back.
std::optional<Contraction> device_winograd(std::span<const tir::Stmt> nests,
                                           const Surroundings& around, const Device& device);

// What is made of each result of a product, whose nest `nests` begins with, where nothing else
// needs it.
struct DeviceEpilogue {
  std::vector<tir::Stmt> bodies;  // of as many nests after it
  bool keeps_target = true;
};
DeviceEpilogue device_epilogue(const Nest& nest, const Reduction& reduction,
                               std::span<const tir::Stmt> nests,
                               const std::vector<tir::Buffer>& temporaries);

// Convolutions in groups in floats of 16 bits, channels last and in vectors, with what is made of
// each element: a block for some places of some groups, in the form of tir/window_product.h, which
// emitters have tensor cores for.
std::optional<tir::Stmt> device_grouped(const Nest& nest, const Device& device);

// A sum over windows that no tiles are made for, as a depthwise or grouped convolution is, with
// what is made of each element: a thread for some neighbours, in registers.
std::optional<tir::Stmt> device_windows(const Nest& nest, const Device& device);

// Sums of many terms for few results that are neighbours in memory, as a pooling's over an image is
// whose channels are last: a block for a vector of results, its threads along the terms.
std::optional<tir::Stmt> device_columns(const Nest& nest, const Device& device);

// With the barriers that teams need where their threads share memory (tir/verify_teams.h).
tir::PrimFunc place_barriers(tir::PrimFunc kernel);

// The values of loops' variables at the iteration of that number, the last loop running fastest.
tir::VarMap iteration(const std::vector<Loop>& loops, const tir::Expr& number);
// How many iterations the loops have together.
tir::Expr iterations(const std::vector<Loop>& loops);

}  // namespace tessera::schedule
