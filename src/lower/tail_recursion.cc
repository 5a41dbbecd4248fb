// SPDX-License-Identifier: Apache-2.0
#include "lower/tail_recursion.h"

#include <algorithm>

#include "relay/evaluation_order.h"
#include "relay/function_attributes.h"
#include "relay/rewrite.h"

namespace tessera::lower {
namespace {

using relay::Function;
using relay::NodeId;
using relay::RegionId;

bool calls_global(const Function& f, NodeId id, const std::string& name) {
  if (f.as<relay::ValueCall>(id) == nullptr) return false;
  const auto* global = f.as<relay::GlobalRef>(relay::behind_lets(f, f.operands(id)[0]));
  return global != nullptr && global->name == name;
}

class Search {
 public:
  Search(const Function& f, const std::string& name) : f_(f), name_(name), uses_(f) {}

  Result<TailRecursion> run() {
    visit(Function::kBody);
    for (std::size_t i = 0; i < f_.num_nodes(); ++i) {
      const NodeId id(i);
      if (!calls_global(f_, id, name_) || found_.calls.contains(id)) continue;
      return fail(error(Code::kNotSupported, f_[id].location,
                        "`@{}` calls itself, and the call's result is not at once its own: such "
                        "recursion cannot be compiled",
                        name_)
                      .with_remedy("write the function so that its recursive calls come last; "
                                   "then it is a loop"));
    }
    found_.changes.resize(f_.params().size());
    for (const NodeId call : found_.calls) {
      for (std::size_t i = 0; i < f_.params().size(); ++i) {
        if (argument(call, i) != f_.params()[i]) found_.changes[i] = true;
      }
      for (std::size_t i = 0; i < f_.params().size(); ++i) note_update(call, i);
    }
    return std::move(found_);
  }

 private:
  NodeId argument(NodeId call, std::size_t i) const {
    return relay::behind_lets(f_, f_.operands(call)[1 + i]);
  }

  // Notes the tail calls of a region; are there any?
  bool visit(RegionId region) {
    const NodeId last = relay::behind_lets(f_, f_.region(region).result);
    if (f_[last].region != region) return false;
    if (calls_global(f_, last, name_) && is_used_once(last)) {
      found_.calls.insert(last);
      return true;
    }
    const auto* branch = f_.as<relay::If>(last);
    if (branch == nullptr || !is_used_once(last)) return false;
    const bool in_then = visit(branch->then_region), in_else = visit(branch->else_region);
    if (in_then || in_else) found_.branches.insert(last);
    return in_then || in_else;
  }

  // By the function's or branch's end alone, also under the names of lets.
  bool is_used_once(NodeId id) const {
    for (;;) {
      const auto users = uses_.of(id);
      if (users.size() + (uses_.is_result(id) ? 1 : 0) != 1) return false;
      if (users.empty() || f_.as<relay::Let>(users[0]) == nullptr) return true;
      id = users[0];
    }
  }

  void note_update(NodeId call, std::size_t i) {
    const NodeId update = argument(call, i), param = f_.params()[i];
    const auto parts = row_update(f_, update);
    if (!parts || parts->data != param || !is_used_once(update)) return;
    const RegionId home = f_[update].region;
    for (const NodeId user : uses_.of(param)) {
      if (user != update && !is_elsewhere(user, param, home)) return;
    }
    found_.in_place.emplace(update, i);
  }

  // Does the user read the parameter only in a branch that excludes `home`?
  bool is_elsewhere(NodeId user, NodeId param, RegionId home) const {
    for (const RegionId branch : relay::regions_of(f_, user)) {
      if (f_.region(branch).result != param) continue;
      return f_.operands(user)[0] != param && !relay::is_within(f_, home, branch);
    }
    const RegionId region = f_[user].region;
    return !relay::is_within(f_, home, region) && !relay::is_within(f_, region, home);
  }

  const Function& f_;
  const std::string& name_;
  const relay::Uses uses_;
  TailRecursion found_;
};

}  // namespace

std::optional<RowUpdate> row_update(const Function& f, NodeId id) {
  const auto is_update = [&](NodeId n) { return relay::is_call_of(f, n, "update_row"); };
  const auto operands = f.operands(id);
  if (is_update(id)) return RowUpdate{f.op(id), operands[0], operands[1], operands[2]};
  if (f.as<relay::ValueCall>(id) == nullptr) return std::nullopt;
  const auto* literal = f.as<relay::Literal>(operands[0]);
  if (literal == nullptr || !is_primitive(literal->attrs)) return std::nullopt;
  const relay::Region& body = f.region(literal->body);
  if (!is_update(body.result)) return std::nullopt;
  NodeId parts[3];
  for (std::size_t i = 0; i < 3; ++i) {
    const NodeId part = f.operands(body.result)[i];
    const auto at = std::find(body.params.begin(), body.params.end(), part);
    if (at == body.params.end()) return std::nullopt;
    parts[i] = operands[static_cast<std::size_t>(1 + (at - body.params.begin()))];
  }
  return RowUpdate{f.op(body.result), parts[0], parts[1], parts[2]};
}

Result<TailRecursion> find_tail_recursion(const Function& f, const std::string& name) {
  return Search(f, name).run();
}

}  // namespace tessera::lower
