// SPDX-License-Identifier: Apache-2.0
// Loops that converters build: functions that call themselves, as those of import/loop.h.
#include <fmt/format.h>

#include "import/loop.h"
#include "import/node.h"

namespace tessera::import {
namespace {

Tensor int_scalar(std::int64_t value) { return Tensor::of<std::int64_t>({}, kInt64, {value}); }

std::vector<NodeId> joined(NodeId first, std::span<const NodeId> then,
                           std::span<const NodeId> last) {
  std::vector<NodeId> all{first};
  all.insert(all.end(), then.begin(), then.end());
  all.insert(all.end(), last.begin(), last.end());
  return all;
}

}  // namespace

// What the loop's function reads of the function around it: constants are its own, so that they
// stay known; all else comes as parameters.
class Node::Captured {
 public:
  Captured(const CallBuilder& around, std::span<const NodeId> values) {
    for (const NodeId v : values) {
      const Tensor* known = around.constant_of(v);
      known_.push_back(known == nullptr ? std::nullopt : std::optional(*known));
      types_.push_back(around.type(v));
      if (known == nullptr) args_.push_back(v);
    }
  }
  // In the function, at its beginning.
  std::vector<NodeId> define(CallBuilder& inside) {
    params_.clear();
    std::vector<NodeId> values;
    for (std::size_t i = 0; i < known_.size(); ++i) {
      values.push_back(known_[i] ? inside.constant(*known_[i]) : inside.param("outer", types_[i]));
      if (!known_[i]) params_.push_back(values.back());
    }
    return values;
  }
  const std::vector<NodeId>& args() const { return args_; }      // of the first call, around
  const std::vector<NodeId>& params() const { return params_; }  // of the other ones

 private:
  std::vector<std::optional<Tensor>> known_;
  std::vector<Type> types_;
  std::vector<NodeId> args_, params_;
};

std::vector<NodeId> Node::repeat(NodeId count, std::span<const NodeId> carried,
                                 std::span<const NodeId> read, const Iterate& iterate) {
  std::vector<NodeId> around(read.begin(), read.end());
  around.push_back(count);
  Captured captured(builder_, around);
  std::vector<Type> types;
  for (const NodeId v : carried) types.push_back(type(v));
  const std::string name = builder_.new_global();
  while (!define_loop(name, types, captured, iterate)) {
  }
  const NodeId last = builder_.call_global(
      name, joined(constant(int_scalar(0)), carried, captured.args()), tuple_type(types));
  std::vector<NodeId> values;
  for (std::size_t i = 0; i < types.size(); ++i) {
    values.push_back(project(last, static_cast<int>(i)));
  }
  return values;
}

// False where types of what is carried had to be made wider.
bool Node::define_loop(const std::string& name, std::vector<Type>& types, Captured& captured,
                       const Iterate& iterate) {
  builder_.begin_function();
  const NodeId iteration = builder_.param("iteration", tensor_type({}, kInt64));
  std::vector<NodeId> now;
  for (const Type& t : types) now.push_back(builder_.param("carried", t));
  const std::vector<NodeId> seen = captured.define(builder_);
  const NodeId goes_on = call("less", {iteration, seen.back()});
  const relay::RegionId again = builder_.begin_branch();
  const std::vector<NodeId> next = iterate(iteration, now, std::span(seen).first(seen.size() - 1));
  const std::vector<Type> before = types;
  for (std::size_t i = 0; i < types.size(); ++i) {
    auto wide = type_in_loop(types[i], type(next[i]));
    if (!wide) {
      unsupported(fmt::format("a state of the type {} that becomes {}", to_string(types[i]),
                              to_string(type(next[i]))));
    }
    types[i] = std::move(*wide);
  }
  const NodeId following = call("add", {iteration, constant(int_scalar(1))});
  builder_.end_branch(
      builder_.call_global(name, joined(following, next, captured.params()), tuple_type(before)));
  const relay::RegionId done = builder_.begin_branch();
  builder_.end_branch(tuple(now));
  builder_.define_global(name, builder_.end_function(builder_.branch(goes_on, again, done)));
  return types == before;
}

}  // namespace tessera::import
