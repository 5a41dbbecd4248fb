// SPDX-License-Identifier: Apache-2.0
// `--weights lossless`: which constants of a library are packed, and what became of each.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "emit/host.h"
#include "module/module.h"
#include "passes/weight_rules.h"
#include "passes/weights_report.h"

namespace tessera::driver {

struct PackedWeights {
  emit::PackedBlobs blobs;
  std::vector<passes::WeightRow> rows;  // one a constant of floats that a rule packs
};
// Of a lowered module, those with a need of a plan that is not among `seen`, where it is added. A
// constant's names are those of the model's nodes whose kernels or regions
// read it.
PackedWeights pack_weights(const Module& module, std::span<const passes::WeightRule> rules,
                           std::span<const std::int32_t> need_of, std::set<std::int32_t>& seen);

}  // namespace tessera::driver
