// SPDX-License-Identifier: Apache-2.0
#include "driver/acceptance.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "diagnostics/places.h"
#include "driver/compile.h"
#include "driver/placement.h"
#include "types/target_list.h"

namespace tessera::driver {
namespace {

using NodesByName = std::map<std::string, import::OnnxNode>;

// None of a file that cannot be read, which is the refusal.
std::vector<import::OnnxNode> nodes_of(const CompileOptions& options) {
  if (is_relay_text(options.model)) return {};
  auto nodes = import::imported_nodes(options.model,
                                      import_options(options.dims, options.kept, options.limits));
  return nodes ? std::move(*nodes) : std::vector<import::OnnxNode>();
}

NodesByName by_name(const std::vector<import::OnnxNode>& nodes) {
  NodesByName table;
  for (const import::OnnxNode& node : nodes) {
    const auto [it, is_new] = table.emplace(node.name, node);
    if (!is_new) it->second.op_type += " or " + node.op_type;  // names need not be unique
  }
  return table;
}

// The places of a diagnostic: that of a value made of several nodes are theirs.
std::vector<std::string> places_of(const Location& location) {
  if (!location) return {};
  const auto* fused = std::get_if<Fused>(&location->place);
  if (fused == nullptr) return {place_in_file(location)};
  std::vector<std::string> places;
  for (const Location& part : fused->parts) places.push_back(place_in_file(part));
  return places;
}

bool is_same_reason(const Diagnostic& a, const Diagnostic& b) {
  return a.code == b.code && a.message == b.message && a.remedy == b.remedy;
}

void add_refusal(const Diagnostic& why, const NodesByName& nodes, Acceptance& out) {
  auto refusal = std::find_if(out.refused.begin(), out.refused.end(),
                              [&](const Refusal& r) { return is_same_reason(r.why, why); });
  if (refusal == out.refused.end()) refusal = out.refused.insert(refusal, {why, {}});
  for (const std::string& place : places_of(why.location)) {
    const auto node = nodes.find(place);
    refusal->places.push_back(
        {place, node == nodes.end() ? std::nullopt : std::optional(node->second)});
  }
}

void add_refusals(const Diagnostics& findings, const CompileOptions& options, Acceptance& out) {
  const std::vector<import::OnnxNode> nodes = nodes_of(options);
  const NodesByName named = by_name(nodes);
  std::set<std::string> refused;
  for (const Diagnostic& d : findings.list) {
    if (d.severity != Severity::kError) {
      out.warnings.push_back(d);
      continue;
    }
    add_refusal(d, named, out);
    for (const std::string& place : places_of(d.location)) refused.insert(place);
  }
  for (const import::OnnxNode& node : nodes) {
    if (!node.looked_at && !refused.contains(node.name)) out.not_looked_at.push_back(node);
  }
}

std::vector<std::string> places_of(const std::vector<Location>& sources) {
  std::vector<std::string> places;
  for (const Location& source : sources) {
    for (std::string& place : places_of(source)) {
      if (std::find(places.begin(), places.end(), place) == places.end()) {
        places.push_back(std::move(place));
      }
    }
  }
  return places;
}

// Products and convolutions in generated code.
void add_heavy(Acceptance& out) {
  for (const PlacementRow& row : out.placement) {
    const std::string* heavy = heavy_operator(row);
    if (row.backend != "native" || heavy == nullptr) continue;
    out.slow.push_back({*heavy, "native code: " + row.reason, places_of(row.sources)});
  }
}

bool has_dtype(const std::vector<Type>& tensors, DType dtype) {
  return std::any_of(tensors.begin(), tensors.end(),
                     [dtype](const Type& t) { return t.dtype() == dtype; });
}

void add_narrow(const Module& module, Acceptance& out) {
  for (const DType dtype : {kFloat16, kBFloat16}) {
    std::vector<Location> sources;
    for (const auto& [symbol, e] : module.externs) {
      if (e.backend != "native") continue;
      if (!has_dtype(e.inputs, dtype) && !has_dtype(e.outputs, dtype)) continue;
      sources.insert(sources.end(), e.sources.begin(), e.sources.end());
    }
    if (sources.empty()) continue;
    out.slow.push_back({to_string(dtype),
                        "native code for a CPU computes it in float32, and converts what it reads "
                        "and writes",
                        places_of(sources)});
  }
}

}  // namespace

Acceptance check_acceptance(const CompileOptions& options) {
  Acceptance out;
  Result<PlacedModel> placed = place_model(options);
  if (!placed) {
    add_refusals(placed.error(), options, out);
    return out;
  }
  out.warnings = std::move(placed->report.warnings);
  out.placement = std::move(placed->report.placement);
  add_heavy(out);
  if (compute_target(options.targets).device() == DeviceType::kCpu) add_narrow(placed->module, out);
  if (const std::vector<Location>& loops = placed->report.loops; !loops.empty()) {
    out.slow.push_back(
        {"loops", "they go step by step, in kernels that run once a step", places_of(loops)});
  }
  return out;
}

}  // namespace tessera::driver
