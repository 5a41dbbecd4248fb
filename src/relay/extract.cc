// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include "relay/rewrite.h"

namespace tessera::relay {

namespace {

class Extraction {
 public:
  Extraction(const Function& f, const Uses& uses, std::span<const NodeId> set,
             const ExtractOptions& options)
      : f_(f),
        uses_(uses),
        options_(options),
        copier_(f, builder_, false),
        set_(set.begin(), set.end()) {
    std::sort(set_.begin(), set_.end());
    TESSERA_CHECK(!set_.empty(), "nothing to extract");
    for (NodeId id : set_) {
      TESSERA_CHECK(f_[id].region == f_[set_[0]].region, "the nodes lie in several regions");
      inside_.insert(id.index());
      for (RegionId region : regions_of(f_, id)) {
        for (NodeId nested : nodes_within(f_, region)) {
          inside_.insert(nested.index());
          nodes_.push_back(nested);
        }
      }
      nodes_.push_back(id);
    }
  }

  Extracted run() {
    find_outputs();
    for (NodeId output : out_.outputs) visit(output);
    copy_globals();
    std::sort(nodes_.begin(), nodes_.end());
    copier_.run(f_[set_[0]].region, nodes_);
    finish();
    return std::move(out_);
  }

 private:
  bool is_inside(NodeId id) const { return inside_.contains(id.index()); }

  void find_outputs() {
    for (NodeId id : set_) {
      const auto users = uses_.of(id);
      const bool used =
          std::any_of(users.begin(), users.end(), [&](NodeId u) { return !is_inside(u); });
      if (used || uses_.is_result(id)) out_.outputs.push_back(id);
    }
    TESSERA_CHECK(!out_.outputs.empty(), "nothing outside uses the nodes");
  }

  // What a node reads, in evaluation order: arguments, what its regions read, callee.
  std::vector<NodeId> reads(NodeId id) const {
    const auto operands = f_.operands(id);
    std::vector<NodeId> out(operands.begin(), operands.end());
    if (f_.as<ValueCall>(id) != nullptr) std::rotate(out.begin(), out.begin() + 1, out.end());
    for (RegionId region : regions_of(f_, id)) {
      for (NodeId nested : nodes_within(f_, region)) {
        const auto inner = f_.operands(nested);
        out.insert(out.end(), inner.begin(), inner.end());
      }
      out.push_back(f_.region(region).result);
    }
    return out;
  }

  // Depth first, so that parameters come in evaluation order whatever the order of the nodes.
  void visit(NodeId root) {
    struct Frame {
      std::vector<NodeId> reads;
      std::size_t next = 0;
    };
    std::vector<Frame> stack;
    const auto enter = [&](NodeId id) {
      if (!seen_.insert(id.index()).second) return;
      if (is_inside(id)) {
        stack.push_back({reads(id)});
      } else {
        add_input(id);
      }
    };
    enter(root);
    while (!stack.empty()) {
      Frame& top = stack.back();
      if (top.next == top.reads.size()) {
        stack.pop_back();
      } else {
        enter(top.reads[top.next++]);
      }
    }
  }

  void add_input(NodeId id) {
    if (f_.as<GlobalRef>(id) != nullptr) {
      globals_.push_back(id);
      return;
    }
    const Param* outer = f_.as<Param>(id);
    const Type type = f_.type(id) || outer == nullptr ? f_.type(id) : outer->annotation;
    builder_.at(f_[id].location);
    const NodeId param =
        builder_.param(fmt::format("{}{}", options_.param_prefix, out_.inputs.size()), type);
    builder_.set_type(param, f_.type(id));
    copier_.set(id, param);
    out_.inputs.push_back(id);
  }

  void copy_globals() {
    for (NodeId id : globals_) copier_.set(id, copier_.copy(id));
  }

  void finish() {
    std::vector<NodeId> results;
    std::vector<Type> types;
    for (NodeId id : out_.outputs) {
      results.push_back(copier_.map(id));
      types.push_back(f_.type(id));
    }
    std::vector<Location> places;
    for (NodeId id : set_) places.push_back(f_[id].location);
    out_.function =
        finish_extracted(builder_, results, std::move(types), options_.attrs, std::move(places));
  }

  const Function& f_;
  const Uses& uses_;
  const ExtractOptions& options_;
  FunctionBuilder builder_;
  Copier copier_;
  std::vector<NodeId> set_;                   // as given, ascending
  std::vector<NodeId> nodes_;                 // with what is in their regions
  std::unordered_set<std::uint32_t> inside_;  // membership of nodes_; never iterated
  std::unordered_set<std::uint32_t> seen_;
  std::vector<NodeId> globals_;
  Extracted out_;
};

}  // namespace

Function finish_extracted(FunctionBuilder& builder, std::span<const NodeId> results,
                          std::vector<Type> types, Attrs attrs, std::vector<Location> places) {
  NodeId result = results[0];
  Type type = types[0];
  if (results.size() > 1) {
    const bool typed =
        std::all_of(types.begin(), types.end(), [](const Type& t) { return bool(t); });
    builder.at({});
    result = builder.tuple(results);
    type = typed ? tuple_type(std::move(types)) : Type();
    builder.set_type(result, type);
  }
  Function f = builder.finish(result, std::move(attrs), type);
  f.location = fuse_locations(std::move(places));
  return f;
}

Extracted extract(const Function& f, const Uses& uses, std::span<const NodeId> set,
                  const ExtractOptions& options) {
  return Extraction(f, uses, set, options).run();
}

}  // namespace tessera::relay
