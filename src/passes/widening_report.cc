// SPDX-License-Identifier: Apache-2.0
#include "passes/widening_report.h"

#include <algorithm>
#include <map>
#include <set>

#include "passes/float_types.h"
#include "passes/widening_rules.h"
#include "relay/function_attributes.h"
#include "relay/operator.h"

namespace tessera::passes {
namespace {

using relay::NodeId;

// What casts and moves is no work of its own.
bool computes(const relay::Function& f, NodeId id) {
  return f.op(id) != nullptr && f.op(id)->name != "cast" &&
         widening_kind(f, id) == WideningRule::kComputes;
}

bool reads_or_makes(const relay::Function& f, NodeId id, DType dtype) {
  const std::span<const DType> one(&dtype, 1);
  const auto operands = f.operands(id);
  return holds(f.type(id), one) ||
         std::ranges::any_of(operands, [&](NodeId o) { return holds(f.type(o), one); });
}

}  // namespace

WideningReport widening_report(const Module& module, std::span<const DType> narrow,
                               std::span<const DType> products) {
  WideningReport report;
  std::set<DType> found;
  std::set<const Blob*> blobs;
  for (const auto& [name, f] : module.functions) {
    if (!relay::is_optimizable(f)) continue;  // a back end's own
    for (std::size_t i = 0; i < f.num_nodes(); ++i) {
      const NodeId id(i);
      if (const auto* constant = f.as<relay::Constant>(id)) {
        const Tensor& t = module.constants.resolve(constant->value);
        if (blobs.insert(t.blob.get()).second) report.constant_bytes += t.size_bytes();
      }
      if (!computes(f, id) || is_matrix_product(f, id, products)) continue;
      bool is_narrow = false;
      for (const DType dtype : narrow) {
        if (!reads_or_makes(f, id, dtype)) continue;
        is_narrow = true;
        found.insert(dtype);
      }
      if (is_narrow) ++report.operators;
    }
  }
  std::ranges::copy_if(narrow, std::back_inserter(report.dtypes),
                       [&](DType dtype) { return found.contains(dtype); });
  return report;
}

PrecisionReport unchanged_precision(const Module& module, DType low, const std::string& why) {
  PrecisionReport report = precision_report(module, low);
  std::map<std::string, int> counts;
  for (const auto& [op, reason, count] : report.kept) counts[op] += count;
  report.kept.clear();
  for (const auto& [op, count] : counts) report.kept.push_back({op, why, count});
  std::ranges::stable_sort(report.kept, std::greater<>(), &PrecisionReport::Kept::count);
  return report;
}

}  // namespace tessera::passes
