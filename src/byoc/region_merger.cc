// SPDX-License-Identifier: Apache-2.0
#include "byoc/region_merger.h"

#include <algorithm>

#include "byoc/disjoint_sets.h"
#include "byoc/unit_order.h"
#include "relay/rewrite.h"

namespace tessera::byoc {
namespace {

using relay::Function;
using relay::NodeId;

// A unit is a region, by its number, or a node that is in none, after the regions.
class Merger {
 public:
  Merger(const Function& f, const AnnotatedRegions& regions)
      : f_(f),
        regions_(regions),
        count_(regions.size() + f.num_nodes()),
        inputs_(count_),
        sets_(count_),
        place_(count_),
        order_(count_),
        needed_(count_, 0),
        met_(count_, 0) {}

  std::vector<std::uint32_t> run() {
    find_inputs();
    find_order();
    number_tree();
    for (const std::uint32_t unit : sequence_) take(unit);
    std::vector<std::uint32_t> out;
    for (std::uint32_t i = 0; i < regions_.size(); ++i) out.push_back(sets_.find(i));
    return out;
  }

 private:
  static constexpr std::uint32_t kNone = AnnotatedRegions::kNone;

  std::uint32_t unit_of(NodeId id) const {
    const std::uint32_t region = regions_.of(id);
    return region != kNone ? region : static_cast<std::uint32_t>(regions_.size() + id.index());
  }
  bool is_region(std::uint32_t unit) const { return unit < regions_.size(); }

  // What a node needs: operands, and what its branches or its body compute.
  void find_inputs() {
    for (const NodeId id : regions_.order()) {
      const std::uint32_t unit = unit_of(id);
      for (const NodeId operand : f_.operands(id)) add_input(unit, unit_of(operand));
      for (const relay::RegionId region : relay::regions_of(f_, id)) {
        add_input(unit, unit_of(f_.region(region).result));
      }
      if (f_.as<relay::Let>(id) == nullptr) continue;
      if (const NodeId owner = f_.region(f_[id].region).owner) add_input(unit_of(owner), unit);
    }
  }
  void add_input(std::uint32_t unit, std::uint32_t input) {
    if (unit != input) inputs_[unit].push_back(input);
  }

  // Depth first from the ends; what an earlier pass left cyclic is entered once.
  void find_order() {
    enum class State : std::uint8_t { kNew, kOpen, kDone };
    std::vector<State> state(count_, State::kNew);
    std::vector<std::pair<std::uint32_t, std::size_t>> stack;
    for (const NodeId id : regions_.order()) {
      stack.push_back({unit_of(id), 0});
      while (!stack.empty()) {
        auto& [unit, next] = stack.back();
        if (next == 0 && state[unit] != State::kNew) {
          stack.pop_back();
          continue;
        }
        state[unit] = State::kOpen;
        if (next < inputs_[unit].size()) {
          const std::uint32_t input = inputs_[unit][next++];
          if (state[input] == State::kNew) stack.push_back({input, 0});
          continue;
        }
        place_[unit] = static_cast<std::uint32_t>(sequence_.size());
        sequence_.push_back(unit);
        state[unit] = State::kDone;
        stack.pop_back();
      }
    }
  }

  // A tree of ways between units, each below its latest input: a quick answer for chains.
  void number_tree() {
    enter_.assign(count_, 0);
    leave_.assign(count_, 0);
    std::vector<std::vector<std::uint32_t>> below(count_);
    std::vector<std::uint32_t> stack;
    for (const std::uint32_t unit : sequence_) {
      const std::uint32_t latest = latest_input(unit);
      if (latest != kNone) below[latest].push_back(unit);
      if (latest == kNone) stack.push_back(unit);
    }
    std::uint32_t time = 0;
    while (!stack.empty()) {
      const std::uint32_t unit = stack.back();
      if (enter_[unit] == 0) {
        enter_[unit] = ++time;
        stack.insert(stack.end(), below[unit].begin(), below[unit].end());
      } else {
        leave_[unit] = time;
        stack.pop_back();
      }
    }
  }
  std::uint32_t latest_input(std::uint32_t unit) const {
    std::uint32_t latest = kNone;
    for (const std::uint32_t input : inputs_[unit]) {
      if (place_[input] >= place_[unit]) continue;
      if (latest == kNone || place_[input] > place_[latest]) latest = input;
    }
    return latest;
  }
  bool is_above(std::uint32_t a, std::uint32_t b) const {
    return enter_[a] <= enter_[b] && leave_[b] <= leave_[a];
  }

  struct Input {
    std::uint32_t set;  // that it is in now
    std::uint32_t unit;
    bool mergeable = false;
  };

  void take(std::uint32_t unit) {
    std::vector<Input> inputs = distinct_inputs(unit);
    std::vector<std::uint32_t> passed;
    if (is_region(unit) && !inputs.empty()) passed = refuse_reaching(inputs);
    std::erase_if(inputs, [](const Input& input) { return !input.mergeable; });
    if (inputs.empty()) return order_.append(unit);
    const std::uint32_t place = inputs.front().set;  // the first in the order
    std::erase_if(passed, [&](std::uint32_t set) { return order_.before(set, place); });
    order_.move_before(passed, place);
    merge(unit, inputs);
  }

  // The sets that the unit reads, in their order.
  std::vector<Input> distinct_inputs(std::uint32_t unit) {
    std::vector<Input> inputs;
    ++stamp_;
    for (const std::uint32_t input : inputs_[unit]) {
      const std::uint32_t set = sets_.find(input);
      if (place_[input] >= place_[unit] || met_[set] == stamp_) continue;
      met_[set] = stamp_;
      inputs.push_back({set, input, can_merge(input, unit)});
    }
    std::sort(inputs.begin(), inputs.end(),
              [&](const Input& a, const Input& b) { return order_.before(a.set, b.set); });
    return inputs;
  }
  bool can_merge(std::uint32_t a, std::uint32_t b) const {
    if (!is_region(a) || !is_region(b)) return false;
    const AnnotatedRegion &from = regions_[a], &into = regions_[b];
    if (into.outs.empty()) return false;  // a mark that nothing leaves
    return from.target == into.target && f_[from.ins[0]].region == f_[into.ins[0]].region;
  }

  // Unsets `mergeable` where one input reaches another. Returns what was met between the inputs, in
  // order: none of it depends on those that stay mergeable.
  std::vector<std::uint32_t> refuse_reaching(std::vector<Input>& inputs) {
    const Input& last = inputs.back();
    std::uint32_t lowest = kNone;
    for (Input& input : inputs) {
      if (!input.mergeable || input.set == last.set) continue;
      if (is_above(input.unit, last.unit)) {
        input.mergeable = false;
      } else if (lowest == kNone) {
        lowest = input.set;
      }
    }
    if (lowest == kNone) return {};
    std::vector<std::uint32_t> met = search_back(inputs, lowest);
    for (Input& input : inputs) {
      input.mergeable = input.mergeable && needed_[input.set] != stamp_;
      if (input.mergeable) met_[input.set] = 0;
    }
    std::erase_if(met, [&](std::uint32_t set) { return met_[set] != stamp_; });
    std::sort(met.begin(), met.end(),
              [&](std::uint32_t a, std::uint32_t b) { return order_.before(a, b); });
    return met;
  }

  // What the inputs need, down to `lowest`, themselves included.
  std::vector<std::uint32_t> search_back(const std::vector<Input>& inputs, std::uint32_t lowest) {
    ++stamp_;
    std::vector<std::uint32_t> met;
    const auto meet = [&](std::uint32_t set) {
      if (order_.before(set, lowest) || met_[set] == stamp_) return;
      met_[set] = stamp_;
      met.push_back(set);
    };
    for (const Input& input : inputs) meet(input.set);
    for (std::size_t i = 0; i < met.size(); ++i) {
      for (const std::uint32_t input : inputs_[met[i]]) {
        const std::uint32_t set = sets_.find(input);
        if (set == met[i]) continue;
        needed_[set] = stamp_;
        meet(set);
      }
    }
    return met;
  }

  void merge(std::uint32_t unit, const std::vector<Input>& inputs) {
    const std::uint32_t place = inputs.front().set;
    for (std::size_t i = 1; i < inputs.size(); ++i) order_.remove(inputs[i].set);
    std::vector<std::uint32_t> all = std::move(inputs_[unit]);
    std::uint32_t set = unit;
    for (const Input& input : inputs) {
      std::vector<std::uint32_t> more = std::move(inputs_[input.set]);
      if (more.size() > all.size()) std::swap(more, all);
      all.insert(all.end(), more.begin(), more.end());
      set = sets_.join(set, input.set);
    }
    inputs_[set] = std::move(all);
    if (set != place) order_.replace(place, set);
  }

  const Function& f_;
  const AnnotatedRegions& regions_;
  const std::size_t count_;
  std::vector<std::vector<std::uint32_t>> inputs_;  // units; by set once that has grown
  DisjointSets sets_;
  std::vector<std::uint32_t> sequence_;  // units, each after its inputs
  std::vector<std::uint32_t> place_;     // in the sequence
  std::vector<std::uint32_t> enter_, leave_;
  UnitOrder order_;  // of sets that have been taken: none needs one after it
  std::vector<std::uint32_t> needed_, met_;  // stamped by the searches
  std::uint32_t stamp_ = 0;
};

}  // namespace

std::vector<std::uint32_t> merge_regions(const Function& f, const AnnotatedRegions& regions) {
  return Merger(f, regions).run();
}

}  // namespace tessera::byoc
