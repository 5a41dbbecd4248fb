// SPDX-License-Identifier: Apache-2.0
// For tests: a graph as text, placed on back ends, compiled, run, and compared with its evaluation.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "byoc/made_parts.h"
#include "byoc/partition.h"

namespace tessera::backends::testing {

// `text` is a module in Relay text with @main; its parameters whose names begin with `c_` become
// constants. Types are inferred.
Module parse_graph(const std::string& text);

// Placed and compiled, with what is on record; it throws where that fails.
byoc::PartitionOutcome compile_graph(const Module& module,
                                     std::span<const byoc::BackendChoice> choices,
                                     byoc::MadeParts* made = nullptr);

// The names of all composites, in order, without the back ends' names.
std::vector<std::string> composites_of(const byoc::PartitionOutcome& outcome);

// Runs both modules' @main on random inputs and expects the same results.
void expect_same_results(const Module& compiled, const Module& reference, double tolerance = 2e-5,
                         std::vector<int> threads = {1, 2});

}  // namespace tessera::backends::testing
