// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "byoc/partition_graph.h"
#include "relay/constant_mentions.h"
#include "relay/rewrite.h"

namespace tessera::byoc {
namespace {

using relay::Copier;
using relay::Function;
using relay::NodeId;

class RegionFunctionMaker {
 public:
  RegionFunctionMaker(const Function& f, const AnnotatedRegions& regions, std::size_t region,
                      const std::vector<std::vector<NodeId>>& captured,
                      const RegionFunctionOptions& options)
      : f_(f),
        regions_(regions),
        number_(region),
        region_(regions[region]),
        captured_(captured),
        options_(options),
        copier_(f, builder_, false) {
    for (std::size_t i = 0; i < region_.ins.size(); ++i) index_of_in_[region_.ins[i].index()] = i;
  }

  Result<RegionFunction> run() {
    for (const NodeId end : region_.outs) {
      const NodeId value = f_.operands(end)[0];
      if (seen_output_.insert(value.index()).second) out_.outputs.push_back(value);
    }
    // The call is made where the first end is met: what that needs comes first.
    visit(f_.operands(region_.first_out)[0]);
    for (const NodeId output : out_.outputs) visit(output);
    if (!errors_.empty()) return fail(std::move(errors_));
    std::sort(inner_.begin(), inner_.end());
    inner_.erase(std::unique(inner_.begin(), inner_.end()), inner_.end());
    copier_.run(f_[region_.ins[0]].region, inner_);
    finish();
    return std::move(out_);
  }

 private:
  // Members of the region below a node, depth first; parameters come in this order.
  void visit(NodeId root) {
    std::vector<std::pair<NodeId, std::size_t>> stack;
    const auto enter = [&](NodeId id) {
      if (seen_.insert(id.index()).second) stack.push_back({id, 0});
    };
    enter(root);
    while (!stack.empty()) {
      auto& [id, next] = stack.back();
      const auto operands = f_.operands(id);
      if (regions_.of(id) == number_ && !is_begin(f_, id) && next < operands.size()) {
        enter(operands[next++]);
        continue;
      }
      const NodeId done = id;
      stack.pop_back();
      leave(done);
    }
  }

  void leave(NodeId id) {
    if (regions_.of(id) == number_) {
      if (is_begin(f_, id)) return add_input(id);
      inner_.push_back(id);
    } else {
      add_callee(id);
    }
  }

  // What is read and is no member is called: a literal, or a function of the module.
  void add_callee(NodeId id) {
    std::vector<NodeId> needed = captured_[id.index()];
    if (const auto* literal = f_.as<relay::Literal>(id)) {
      for (const NodeId inside : relay::nodes_within(f_, literal->body)) inner_.push_back(inside);
    } else if (f_.as<relay::GlobalRef>(id) == nullptr) {
      needed = {id};
    }
    inner_.push_back(id);
    for (const NodeId value : needed) {
      const bool copies =
          f_.as<relay::GlobalRef>(value) != nullptr || f_.as<relay::Constant>(value) != nullptr;
      if (copies) {
        inner_.push_back(value);
        continue;
      }
      errors_.add(error(Code::kMalformedGraph, f_[id].location,
                        "a region of `{}` calls a local function that uses values from outside",
                        region_.target)
                      .with_remedy("pass the values as arguments"));
    }
  }

  void add_input(NodeId begin) {
    NodeId argument = f_.operands(begin)[0];
    while (is_begin(f_, argument)) argument = f_.operands(argument)[0];
    NodeId source = argument;
    while (is_annotation(f_, source)) source = f_.operands(source)[0];
    const auto* constant = f_.as<relay::Constant>(source);
    const auto [known, fresh] = param_of_.try_emplace(
        constant != nullptr ? constants_.first(*constant, source.index()) : source.index());
    if (fresh) known->second = make_input(begin, argument);
    copier_.set(begin, known->second);
  }

  NodeId make_input(NodeId begin, NodeId argument) {
    if (options_.bind_constants && is_constant(argument)) {
      for (const NodeId field : f_.operands(argument)) copy_once(field);
      return copy_once(argument);
    }
    builder_.at(f_[argument].location);
    const NodeId param =
        builder_.param(legal_identifier(fmt::format("{}_{}_i{}", region_.target, region_.id,
                                                    index_of_in_.at(begin.index()))),
                       f_.type(begin));
    builder_.set_type(param, f_.type(begin));
    out_.inputs.push_back(argument);
    return param;
  }

  bool is_constant(NodeId id) const {
    const auto constant = [&](NodeId n) { return f_.as<relay::Constant>(n) != nullptr; };
    const auto fields = f_.operands(id);
    const bool tuple = f_.as<relay::Tuple>(id) != nullptr && !fields.empty();
    return constant(id) || (tuple && std::all_of(fields.begin(), fields.end(), constant));
  }
  NodeId copy_once(NodeId id) {
    if (!copier_.map(id)) copier_.set(id, copier_.copy(id));
    return copier_.map(id);
  }

  void finish() {
    std::vector<NodeId> results;
    std::vector<Type> types;
    for (const NodeId output : out_.outputs) {
      results.push_back(copier_.map(output));
      types.push_back(f_.type(output));
    }
    NodeId result = results[0];
    Type type = types[0];
    if (results.size() > 1) {
      builder_.at({});
      result = builder_.tuple(results);
      type = tuple_type(types);
      builder_.set_type(result, type);
    }
    std::vector<Location> places;
    for (const NodeId id : inner_) {
      if (regions_.of(id) == number_) places.push_back(f_[id].location);
    }
    out_.function = builder_.finish(result, {}, type);
    out_.function.location = fuse_locations(std::move(places));
  }

  const Function& f_;
  const AnnotatedRegions& regions_;
  const std::size_t number_;
  const AnnotatedRegion& region_;
  const std::vector<std::vector<NodeId>>& captured_;
  const RegionFunctionOptions& options_;
  relay::FunctionBuilder builder_;
  Copier copier_;
  std::vector<NodeId> inner_;  // what is copied
  std::unordered_map<std::uint32_t, std::size_t> index_of_in_;
  std::unordered_map<std::uint32_t, NodeId> param_of_;  // by the value that enters, unmarked
  relay::ConstantMentions constants_;
  std::unordered_set<std::uint32_t> seen_, seen_output_;
  Diagnostics errors_;
  RegionFunction out_;
};

}  // namespace

Result<RegionFunction> make_region_function(const Function& f, const AnnotatedRegions& regions,
                                            std::size_t region,
                                            const std::vector<std::vector<NodeId>>& captured,
                                            const RegionFunctionOptions& options) {
  return RegionFunctionMaker(f, regions, region, captured, options).run();
}

Function flatten_tuple_ends(const Function& f) {
  return relay::rewrite(f, [&](Copier& c, NodeId id) -> std::optional<NodeId> {
    if (!is_end(f, id)) return std::nullopt;
    const NodeId tuple = f.operands(id)[0];
    if (f.as<relay::Tuple>(tuple) == nullptr) return std::nullopt;
    std::vector<NodeId> ends;
    for (const NodeId field : f.operands(tuple))
      ends.push_back(make_end(c.builder(), c.map(field), compiler_of(f, id)));
    return c.copy(tuple, ends);
  });
}

Function without_default_annotations(const Function& f) {
  return relay::rewrite(f, [&](Copier& c, NodeId id) -> std::optional<NodeId> {
    if (!is_annotation(f, id) || compiler_of(f, id) != kDefaultTarget) return std::nullopt;
    return c.map(f.operands(id)[0]);
  });
}

std::string legal_identifier(std::string text) {
  for (char& c : text) {
    const bool legal = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
    if (!legal) c = '_';
  }
  return text;
}

}  // namespace tessera::byoc
