// SPDX-License-Identifier: Apache-2.0
#include "backends/onednn/open_sizes.h"

#include <algorithm>
#include <vector>

#include "support/check.h"
#include "types/likely_size.h"

namespace tessera::backends::onednn {
namespace {

using byoc::RegionSizes;

// A plan is made for each: it takes milliseconds where a region is large.
constexpr std::int64_t kMaxTried = 8;

Symbol find_symbol(const std::string& name, const SymbolTable& symbols) {
  const auto it = symbols.find(name);
  return it == symbols.end() ? Symbol() : it->second;
}

std::set<std::string> names_in(const RegionSizes& sizes) {
  std::set<std::string> names;
  for (const RegionSizes::Read& read : sizes.reads()) {
    for (std::string& name : read.size.symbols()) names.insert(std::move(name));
  }
  return names;
}

// Sizes of nothing take no primitive.
std::int64_t least(const Symbol& s) { return std::max<std::int64_t>(s.min, 1); }

// The range's sizes where they are few, else its ends.
std::vector<std::int64_t> some_sizes(const Symbol& s, bool all) {
  std::vector<std::int64_t> out = {least(s)};
  if (s.max < 0) return out;
  for (std::int64_t i = 1; all && i < kMaxTried && least(s) + i * s.step < s.max; ++i) {
    out.push_back(least(s) + i * s.step);
  }
  if (s.max > out.back()) out.push_back(s.max);
  return out;
}

std::vector<SymbolSizes> tried_sizes(const RegionSizes& sizes, const SymbolTable& symbols) {
  const SymbolSizes likely = sizes_for_layouts(sizes, symbols);
  std::vector<SymbolSizes> out = {likely};
  for (const auto& [name, value] : likely) {
    for (const std::int64_t size : some_sizes(find_symbol(name, symbols), likely.size() == 1)) {
      SymbolSizes values = likely;
      values[name] = Dim(size);
      out.push_back(std::move(values));
      if (out.size() > kMaxTried) return out;
    }
  }
  return out;
}

// Is it a run's: does no tensor have fewer elements than none?
bool is_possible(const runtime::JsonGraph& graph) {
  for (const runtime::JsonNode& node : graph.nodes()) {
    for (std::uint32_t output = 0; output < node.output_count; ++output) {
      Dims dims;
      dims.count = graph.shape(node, output, dims.at, DNNL_MAX_NDIMS);
      if (std::any_of(dims.at, dims.at + std::max(dims.count, 0), [](auto d) { return d < 0; })) {
        return false;
      }
    }
  }
  return true;
}

std::string text_of(const SymbolSizes& values) {
  std::string text;
  for (const auto& [name, size] : values) {
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, size.constant());
  }
  return text;
}

}  // namespace

SymbolSizes sizes_for_layouts(const std::set<std::string>& names, const SymbolTable& symbols) {
  SymbolSizes out;
  for (const std::string& name : names) {
    const std::int64_t likely = likely_size(find_symbol(name, symbols));
    out.emplace(name, Dim(std::max<std::int64_t>(likely, 1)));
  }
  return out;
}

SymbolSizes sizes_for_layouts(const RegionSizes& sizes, const SymbolTable& symbols) {
  return sizes_for_layouts(names_in(sizes), symbols);
}

void give_sizes(runtime::JsonGraph& graph, const RegionSizes& sizes, const SymbolSizes& values) {
  for (const RegionSizes::Read& read : sizes.reads()) {
    const auto size = read.size.substitute(values).as_constant();
    TESSERA_CHECK(size && graph.set_size(read.name, *size), "the size `{}` has no value",
                  read.size.expression_text());
  }
}

std::optional<std::uint32_t> by_reference(const Plan& plan) {
  for (const Step& step : plan.steps()) {
    if (!step.is_reorder && is_reference(compiler_library()->api(), step.primitive)) {
      return step.node;
    }
  }
  return std::nullopt;
}

std::string slow_sizes(const std::string& graph, const RegionSizes& sizes,
                       const SymbolTable& symbols, int threads) {
  if (sizes.reads().empty()) return "";
  for (const SymbolSizes& values : tried_sizes(sizes, symbols)) {
    runtime::JsonGraph parsed;
    TESSERA_CHECK(parsed.parse(graph), "the runtime cannot read our graph: {}", parsed.error());
    give_sizes(parsed, sizes, values);
    if (!is_possible(parsed)) continue;
    Library& library = *compiler_library();
    Plan plan(library.api(), library.engine(), threads);
    if (!plan.build(parsed)) return fmt::format("at {}: {}", text_of(values), plan.error());
    if (const auto node = by_reference(plan)) {
      return fmt::format("at {} oneDNN has only its reference implementation of `{}`",
                         text_of(values), parsed.nodes()[*node].name.data());
    }
  }
  return "";
}

}  // namespace tessera::backends::onednn
