// SPDX-License-Identifier: Apache-2.0
// Delta debugging: a graph that fails becomes a small one that still does.
#pragma once

#include <functional>

#include "tests/fuzz/random_graph.h"

namespace tessera::fuzz {

// Results are left out, and nodes replaced by parameters that hold their values, as long as
// `fails` says so. `most_tries` bounds how often it is asked.
Graph reduced(const Graph& graph, const std::function<bool(const Graph&)>& fails, int most_tries);

// Operators, tuples, projections, calls: what a user reads in a failing case.
int count_of_calls(const relay::Function& f);

}  // namespace tessera::fuzz
