// SPDX-License-Identifier: Apache-2.0
#include "driver/pack_weights.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "constants/lossless.h"
#include "diagnostics/places.h"
#include "tir/walk.h"

namespace tessera::driver {
namespace {

// Below, a code takes too much of what it saves.
constexpr std::int64_t kLeastBytes = 4096;

class Readers {
 public:
  explicit Readers(const Module& module) : module_(module), names_(module.constants.size()) {
    for (const auto& [name, f] : module.prim_funcs) {
      if (f.is_host) add_calls(f.body);
    }
    for (const Artifact& artifact : module.artifacts) {
      for (const NamedConstant& c : artifact.constants) {
        for (const std::string& symbol : artifact.symbols) add_reader(c.index, symbol);
      }
    }
    for (const KeptWeight& weight : module.kept_weights) add(weight.value, weight.name);
  }

  // In the order of the program, each once.
  std::span<const std::string> names(ConstantIndex i) const { return names_[i.index()]; }

 private:
  void add_calls(const tir::Stmt& body) {
    std::map<const tir::BufferNode*, ConstantIndex> constants;
    const auto find = [&](const tir::Buffer& b) {
      const auto it = constants.find(b.get());
      return it == constants.end() ? std::nullopt : std::optional(it->second);
    };
    tir::for_each_node(body, [&](const tir::Stmt& s) {
      if (const auto* constant = s.as<tir::AllocateConst>()) {
        const auto* index = std::get_if<ConstantIndex>(&constant->data);
        if (index != nullptr) constants.emplace(constant->buffer.get(), *index);
      } else if (const auto* view = s.as<tir::View>()) {
        if (const auto index = find(view->source)) constants.emplace(view->buffer.get(), *index);
      } else if (const auto* call = s.as<tir::CallKernel>()) {
        for (const tir::Buffer& input : call->inputs) {
          if (const auto index = find(input)) add_reader(*index, call->symbol);
        }
      }
    });
  }

  void add_reader(ConstantIndex i, const std::string& symbol) {
    const auto it = module_.externs.find(symbol);
    if (it == module_.externs.end()) return;
    for (const Location& at : it->second.sources) {
      for (const std::string& name : nodes_of_model(at)) add(i, name);
    }
  }

  void add(ConstantIndex i, const std::string& name) {
    std::vector<std::string>& names = names_[i.index()];
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }

  const Module& module_;
  std::vector<std::vector<std::string>> names_;
};

passes::WeightRow row_of(const Tensor& t, std::span<const std::string> names,
                         const passes::WeightRule& rule, const Blob* packed) {
  const auto bytes = static_cast<std::uint64_t>(t.size_bytes());
  return {names.empty() ? "" : names.front(),
          fmt::format("[{}] {}", fmt::join(t.shape, ", "), to_string(t.dtype)),
          packed != nullptr ? to_string(rule.form) : "",
          packed != nullptr ? rule.text : "it would not be smaller by a twentieth",
          packed != nullptr ? packed->size_bytes() : bytes,
          bytes};
}

}  // namespace

PackedWeights pack_weights(const Module& module, std::span<const passes::WeightRule> rules,
                           std::span<const std::int32_t> need_of, std::set<std::int32_t>& seen) {
  PackedWeights out;
  if (std::ranges::none_of(rules, [](const auto& rule) { return rule.form.is_lossless; })) {
    return out;
  }
  const Readers readers(module);
  for (std::size_t i = 0; i < need_of.size(); ++i) {
    const Tensor& t = module.constants[ConstantIndex(i)];
    if (need_of[i] < 0 || !can_be_packed(t.dtype) || t.size_bytes() < kLeastBytes) continue;
    const std::span<const std::string> names = readers.names(ConstantIndex(i));
    const passes::WeightRule* rule = passes::rule_of_constant(rules, names);
    if (rule == nullptr || !rule->form.is_lossless) continue;
    if (!seen.insert(need_of[i]).second) continue;
    auto packed = packed_without_loss(t.blob->bytes(), t.dtype);
    t.blob->release_pages();
    out.rows.push_back(row_of(t, names, *rule, packed.get()));
    if (packed == nullptr) continue;
    out.blobs.emplace(
        t.blob.get(),
        emit::PackedBlob{std::move(packed), static_cast<std::uint32_t>(t.dtype.size_bytes())});
  }
  return out;
}

}  // namespace tessera::driver
