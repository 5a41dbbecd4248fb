// SPDX-License-Identifier: Apache-2.0
// Who may run what: the targets of a compilation, and the host (relay-spec 9.6).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "collage/candidate.h"

namespace tessera::collage {

struct SpecOptions {
  std::size_t native_depth = 8;    // of what one kernel of a machine may hold
  std::size_t back_end_depth = 8;  // of what a back end gets as one function
};

// One for each target in order, the host last. Candidates point to them, so they stay where they
// are. The tables must live as long, the pool too. A back end without a table is an error.
using Specs = std::vector<std::unique_ptr<const PlacementSpec>>;
void add_spec(Specs& specs, std::string name, const Target& target, Rule rule);
Result<Specs> make_specs(std::span<const Target> targets,
                         std::span<const relay::PatternTable> tables, const ConstantPool& pool,
                         const SpecOptions& options);

}  // namespace tessera::collage
