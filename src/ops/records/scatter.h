// SPDX-License-Identifier: Apache-2.0
// Scattering: a copy of data in which elements that indices name are updated.
#pragma once

#include "ops/attrs/index.h"
#include "ops/evaluation/evaluate.h"
#include "ops/records/definition.h"
#include "ops/records/record.h"

namespace tessera::ops {

Result<void> expect_scatter_mode(const InferArgs& args, const std::string& mode);
// The element `old` after the update.
double scattered(double old, double update, const std::string& mode);
std::int64_t scattered(std::int64_t old, std::int64_t update, const std::string& mode);

// y[i...] folds in all updates that hit it: `hits` says whether update u lands on i. One reduction
// over the updates, so that each result element is independent; quadratic, and right for duplicates
// in modes other than "update", where the last one must win.
Definitions compute_scatter(const ComputeArgs& args, const std::string& mode,
                            const std::vector<IterAxis>& updates,
                            const std::function<Expr(const Indices& i, const Indices& u)>& hits,
                            const std::function<Expr(const Indices& i, const Indices& u)>& update);

}  // namespace tessera::ops
