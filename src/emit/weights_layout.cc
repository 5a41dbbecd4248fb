// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>

#include "emit/host.h"
#include "plan/rounding.h"
#include "tir/walk.h"

namespace tessera::emit {
namespace {

using Blobs = std::vector<std::shared_ptr<const Blob>>;  // by need of a plan of constants
using Offsets = std::vector<std::uint64_t>;              // likewise

// Those that the constants of some modules bring.
Blobs blobs_of(std::span<const Module* const> modules, const plan::ConstantPlan& plan) {
  TESSERA_CHECK(plan.need_of.size() == modules.size(),
                "constants of {} modules are planned, and there are {}", plan.need_of.size(),
                modules.size());
  Blobs blobs(plan.needs.size());
  for (std::size_t m = 0; m < modules.size(); ++m) {
    const ConstantPool& constants = modules[m]->constants;
    const std::vector<std::int32_t>& need_of = plan.need_of[m];
    TESSERA_CHECK(need_of.size() == constants.size(), "{} constants are planned, and there are {}",
                  need_of.size(), constants.size());
    for (std::size_t i = 0; i < need_of.size(); ++i) {
      if (need_of[i] < 0) continue;
      std::shared_ptr<const Blob>& blob = blobs[static_cast<std::size_t>(need_of[i])];
      if (blob == nullptr) blob = constants[ConstantIndex(i)].blob;
    }
  }
  return blobs;
}

void lay_as_planned(const Blobs& blobs, const plan::ConstantPlan& plan, WeightsLayout& layout,
                    Offsets& offsets) {
  for (std::size_t need = 0; need < blobs.size(); ++need) {
    offsets[need] = static_cast<std::uint64_t>(plan.offset(need));
    if (blobs[need] == nullptr || blobs[need]->size_bytes() == 0) continue;
    layout.pieces.push_back({offsets[need], blobs[need]});
  }
  std::sort(layout.pieces.begin(), layout.pieces.end(),
            [](const auto& a, const auto& b) { return a.offset < b.offset; });
  layout.mapped_bytes = layout.bytes = static_cast<std::uint64_t>(plan.bytes);
}

std::uint64_t padded(std::uint64_t bytes) {
  const std::int64_t whole =
      plan::round_up(static_cast<std::int64_t>(bytes), plan::kConstantAlignBytes);
  return static_cast<std::uint64_t>(whole);
}

using PackedRows = std::map<std::size_t, WeightsLayout::Packed>;  // by need

// In the section, one behind the other: blobs that are packed after all others.
PackedRows lay_packed(const Blobs& blobs, const PackedBlobs& packed, WeightsLayout& layout,
                      Offsets& offsets) {
  for (std::size_t need = 0; need < blobs.size(); ++need) {
    if (blobs[need] == nullptr || packed.contains(blobs[need].get())) continue;
    offsets[need] = layout.bytes;
    layout.pieces.push_back({layout.bytes, blobs[need]});
    layout.bytes += padded(blobs[need]->size_bytes());
  }
  layout.mapped_bytes = layout.bytes;
  PackedRows rows;
  for (std::size_t need = 0; need < blobs.size(); ++need) {
    const auto found = packed.find(blobs[need].get());
    if (found == packed.end()) continue;
    const Blob &blob = *blobs[need], &stored = *found->second.packed;
    rows[need] = {
        0,    blob.size_bytes(), layout.bytes, stored.size_bytes(), found->second.element_bytes,
        false};
    layout.pieces.push_back({layout.bytes, found->second.packed});
    layout.bytes += padded(stored.size_bytes());
  }
  return rows;
}

// Needs that a program for a device reads in the host's memory: its own code, and back ends, which
// are shown their constants there.
std::set<std::int32_t> read_on_host(const Module& module, std::span<const std::int32_t> need_of) {
  std::set<std::int32_t> needs;
  const auto add = [&](ConstantIndex i) { needs.insert(need_of[i.index()]); };
  for (const auto& [name, f] : module.prim_funcs) {
    if (!f.is_host) continue;
    tir::for_each_node(f.body, [&](const tir::Stmt& s) {
      const auto* constant = s.as<tir::AllocateConst>();
      if (constant == nullptr || !tir::is_on_host(constant->buffer)) return;
      if (const auto* index = std::get_if<ConstantIndex>(&constant->data)) add(*index);
    });
  }
  for (const Artifact& artifact : module.artifacts) {
    for (const NamedConstant& c : artifact.constants) add(c.index);
  }
  return needs;
}

// A program unpacks what it reads, and nothing of others.
void add_packed(const Module& module, std::span<const std::int32_t> need_of, const PackedRows& rows,
                WeightsLayout& layout, Offsets& offsets) {
  if (rows.empty()) return;
  const std::set<std::int32_t> read(need_of.begin(), need_of.end());
  const std::set<std::int32_t> on_host = read_on_host(module, need_of);
  for (auto [need, row] : rows) {
    if (!read.contains(static_cast<std::int32_t>(need))) continue;
    row.on_host = on_host.contains(static_cast<std::int32_t>(need));
    row.offset = offsets[need] = layout.mapped_bytes + layout.unpacked_bytes;
    layout.unpacked_bytes += padded(row.bytes);
    layout.packed.push_back(row);
  }
}

}  // namespace

std::vector<WeightsLayout> layout_weights(std::span<const Module* const> modules,
                                          const plan::ConstantPlan& plan,
                                          const PackedBlobs& packed) {
  const Blobs blobs = blobs_of(modules, plan);
  WeightsLayout all;
  Offsets offsets(blobs.size(), 0);
  PackedRows rows;
  if (packed.empty()) {
    lay_as_planned(blobs, plan, all, offsets);
  } else {
    rows = lay_packed(blobs, packed, all, offsets);
  }
  std::vector<WeightsLayout> layouts;
  for (std::size_t m = 0; m < modules.size(); ++m) {
    const std::vector<std::int32_t>& need_of = plan.need_of[m];
    WeightsLayout& layout = layouts.emplace_back(all);
    add_packed(*modules[m], need_of, rows, layout, offsets);
    for (const std::int32_t need : need_of) {
      layout.used.push_back(need >= 0);
      layout.offsets.push_back(need >= 0 ? offsets[static_cast<std::size_t>(need)] : 0);
    }
  }
  return layouts;
}

WeightsLayout layout_weights(const Module& module, const plan::ConstantPlan& plan,
                             const PackedBlobs& packed) {
  const Module* const only[] = {&module};
  return layout_weights(only, plan, packed).front();
}

}  // namespace tessera::emit
