// SPDX-License-Identifier: Apache-2.0
#include "passes/widening_plan.h"

#include <algorithm>
#include <set>

#include "passes/float_types.h"
#include "passes/narrow_constant.h"
#include "passes/regions.h"
#include "passes/widening_rules.h"
#include "relay/operator.h"
#include "relay/rewrite.h"
#include "relay/shape_needs.h"

namespace tessera::passes {
namespace {

using relay::NodeId;

// In which types a value comes, or is wanted: sets. That of constants is empty.
using Forms = std::uint8_t;
constexpr Forms kNarrow = 1, kWide = 2;

class WideningPlanner {
 public:
  WideningPlanner(const relay::Function& f, const ConstantPool& pool, std::vector<DType> narrow,
                  std::vector<DType> products)
      : f_(f),
        pool_(pool),
        products_(std::move(products)),
        closed_(closed_bodies(f)),
        live_(relay::live_nodes(f)),
        comes_(f.num_nodes(), 0),
        wanted_(f.num_nodes(), 0),
        plan_{.from = std::move(narrow),
              .to = kFloat32,
              .calls = std::vector<Conversion>(f.num_nodes(), Conversion::kNone),
              .converted = widened} {}

  ConversionPlan run() {
    for (std::size_t i = 0; i < f_.num_nodes(); ++i) {
      comes_[i] = forms_of(NodeId(i));
      if (live_[i]) note_wide_constants(NodeId(i));
    }
    for (std::size_t i = 0; i < f_.num_regions(); ++i) {
      wanted_[f_.region(relay::RegionId(i)).result.index()] |= kNarrow;
    }
    for (std::size_t i = f_.num_nodes(); i-- > 0;) {
      if (live_[i]) go_backward(NodeId(i));
    }
    return std::move(plan_);
  }

 private:
  bool is_affected(NodeId id) const { return holds(f_.type(id), plan_.from); }
  bool is_affected_call(NodeId id) const {
    const auto operands = f_.operands(id);
    return f_.op(id) != nullptr && (is_affected(id) || std::ranges::any_of(operands, [&](NodeId o) {
                                      return is_affected(o);
                                    }));
  }
  WideningRule::Kind kind_of(NodeId id) const {
    return is_matrix_product(f_, id, products_) ? WideningRule::kKeeps : widening_kind(f_, id);
  }
  bool is_closed(NodeId id) const { return static_cast<bool>(closed_[f_[id].region.index()]); }

  // Is it its operands under another name?
  bool is_transparent(NodeId id) const {
    return f_.as<relay::Tuple>(id) != nullptr || f_.as<relay::Project>(id) != nullptr ||
           f_.as<relay::Let>(id) != nullptr;
  }

  // What a projection of a tuple that is made here stands for, else its operands.
  std::vector<NodeId> read_by(NodeId id) const {
    const auto operands = f_.operands(id);
    const auto* project = f_.as<relay::Project>(id);
    if (project != nullptr && f_.as<relay::Tuple>(operands[0]) != nullptr) {
      return {f_.operands(operands[0])[static_cast<std::size_t>(project->index)]};
    }
    return {operands.begin(), operands.end()};
  }

  Forms forms_of(NodeId id) const {
    if (!is_affected(id) || f_.as<relay::Constant>(id) != nullptr) return 0;
    if (is_closed(id)) return kNarrow;
    const bool is_call = f_.op(id) != nullptr;
    if (!is_call && !is_transparent(id)) return kNarrow;
    const WideningRule::Kind kind = is_call ? kind_of(id) : WideningRule::kMoves;
    if (kind == WideningRule::kKeeps) return kNarrow;
    if (kind == WideningRule::kComputes) return kWide;
    Forms forms = 0;
    for (const NodeId o : read_by(id)) forms |= comes_[o.index()];
    return forms;
  }

  // Settles what moves, and tells the operands what is wanted of them.
  void go_backward(NodeId id) {
    if (is_closed(id)) return;
    Forms want = kNarrow;
    if (is_transparent(id)) {
      want = wanted_[id.index()];
    } else if (is_affected_call(id) && computes_wide(id)) {
      plan_.calls[id.index()] = Conversion::kWhole;
      want = kWide;
    }
    for (const NodeId o : read_by(id)) wanted_[o.index()] |= want;
  }

  bool computes_wide(NodeId id) const {
    const WideningRule::Kind kind = kind_of(id);
    if (kind != WideningRule::kMoves) return kind == WideningRule::kComputes;
    const Forms comes = comes_[id.index()], wanted = wanted_[id.index()];
    if (comes == kWide) return true;
    if (wanted != kWide) return false;
    return comes == (kNarrow | kWide) || reads_wide_constant(id) || !is_smaller(id);
  }

  // The bytes of a constant; null for other nodes.
  const Blob* bytes_of(NodeId id) const {
    const auto* constant = f_.as<relay::Constant>(id);
    return constant != nullptr ? pool_.resolve(constant->value).blob.get() : nullptr;
  }

  void note_wide_constants(NodeId id) {
    if (comes_[id.index()] != kWide || f_.op(id) == nullptr) return;
    if (kind_of(id) != WideningRule::kComputes) return;
    for (const NodeId o : f_.operands(id)) wide_constants_.insert(bytes_of(o));
  }

  // Then the table is there in float32 anyway.
  bool reads_wide_constant(NodeId id) const {
    const auto operands = f_.operands(id);
    return std::ranges::any_of(operands, [&](NodeId o) {
      return f_.as<relay::Constant>(o) != nullptr && wide_constants_.contains(bytes_of(o));
    });
  }

  // May the result have fewer elements than what it is made of?
  bool is_smaller(NodeId id) const {
    if (f_.op(id)->pattern != relay::OpPattern::kInjective) return false;
    const std::optional<Dim> made = elements(f_.type(id));
    const auto operands = f_.operands(id);
    return std::ranges::any_of(operands, [&](NodeId o) {
      if (!is_affected(o)) return false;
      const std::optional<Dim> read = elements(f_.type(o));
      if (made && read && *made == *read) return false;
      const bool is_known = made && read && made->as_constant() && read->as_constant();
      return !is_known || *made->as_constant() < *read->as_constant();
    });
  }

  // How many the affected tensors of a type have; nothing where no number says.
  std::optional<Dim> elements(const Type& type) const {
    Dim sum(0);
    for (const Type& t : flatten(type)) {
      if (!holds(t, plan_.from)) continue;
      if (relay::has_unknown_size(t)) return std::nullopt;
      sum = sum + num_elements(t.shape());
    }
    return sum;
  }

  const relay::Function& f_;
  const ConstantPool& pool_;
  const std::vector<DType> products_;
  const std::vector<relay::RegionId> closed_;  // by region
  const std::vector<bool> live_;               // by node, as the two below
  std::vector<Forms> comes_, wanted_;
  std::set<const Blob*> wide_constants_;  // that are computed with
  ConversionPlan plan_;
};

}  // namespace

ConversionPlan plan_widening(const relay::Function& f, const ConstantPool& pool,
                             std::vector<DType> narrow, std::vector<DType> products) {
  return WideningPlanner(f, pool, std::move(narrow), std::move(products)).run();
}

}  // namespace tessera::passes
