// SPDX-License-Identifier: Apache-2.0
#include "passes/precision_plan.h"

#include <algorithm>

#include "passes/float_types.h"
#include "passes/narrow_constant.h"
#include "passes/precision_rules.h"
#include "passes/regions.h"
#include "relay/operator.h"

namespace tessera::passes {
namespace {

using relay::NodeId;

// What a value looks like to a call that reads it, or what readers want it to be.
enum class Form : std::uint8_t { kFree, kLow, kFloat32 };

Form joined(Form a, Form b) { return std::max(a, b); }

class Planner {
 public:
  Planner(const relay::Function& f, const ConstantPool& pool, const PrecisionRequest& request)
      : f_(f),
        pool_(pool),
        request_(request),
        closed_(closed_bodies(f)),
        rounded_(f.num_nodes(), false),
        sums_(f.num_nodes(), false),
        seen_(f.num_nodes(), Form::kFree),
        wanted_(f.num_nodes(), Form::kFree) {
    plan_.computed.assign(f.num_nodes(), Precision::kUntouched);
  }

  PrecisionPlan run() {
    for (std::size_t i = f_.num_nodes(); i-- > 0;) find_rounded(NodeId(i));
    for (std::size_t i = 0; i < f_.num_nodes(); ++i) go_forward(NodeId(i));
    for (std::size_t i = 0; i < f_.num_regions(); ++i) {
      const bool free = request_.convert_io && relay::RegionId(i) == relay::Function::kBody;
      if (!free) wanted_[f_.region(relay::RegionId(i)).result.index()] = Form::kFloat32;
    }
    for (std::size_t i = f_.num_nodes(); i-- > 0;) go_backward(NodeId(i));
    return std::move(plan_);
  }

 private:
  Precision& computed(NodeId id) { return plan_.computed[id.index()]; }
  bool is_closed(NodeId id) const { return static_cast<bool>(closed_[f_[id].region.index()]); }

  // Is it its operands under another name?
  bool is_transparent(NodeId id) const {
    return f_.as<relay::Tuple>(id) != nullptr || f_.as<relay::Project>(id) != nullptr ||
           f_.as<relay::Let>(id) != nullptr;
  }

  static bool is_low(PrecisionRule::Kind rule) {
    return rule == PrecisionRule::kLow || rule == PrecisionRule::kLowRows;
  }

  // Values that a product reads, through what moves data only.
  void find_rounded(NodeId id) {
    const relay::Operator* op = f_.op(id);
    const bool passes_on =
        is_transparent(id) || (op != nullptr && op->pattern == relay::OpPattern::kInjective);
    const bool is_product = op != nullptr && is_low(precision_rule(*op).kind);
    if (!is_product && !(passes_on && rounded_[id.index()])) return;
    for (const NodeId o : f_.operands(id)) rounded_[o.index()] = true;
  }

  void go_forward(NodeId id) {
    if (is_closed(id)) return;
    Form& seen = seen_[id.index()];
    if (const auto* constant = f_.as<relay::Constant>(id)) {
      seen = form_of(pool_.resolve(constant->value));
    } else if (f_.as<relay::Param>(id) != nullptr) {
      const bool converted = request_.convert_io && f_[id].region == relay::Function::kBody;
      if (converted) seen = Form::kLow;
    } else if (const auto* project = f_.as<relay::Project>(id)) {
      const NodeId from = f_.operands(id)[0];
      const bool is_tuple = f_.as<relay::Tuple>(from) != nullptr;
      seen = seen_[is_tuple ? f_.operands(from)[static_cast<std::size_t>(project->index)].index()
                            : from.index()];
    } else if (is_transparent(id)) {
      seen = operands_form(id);
    } else if (f_.op(id) != nullptr) {
      seen = forward_call(id);
    }
  }

  Form form_of(const Tensor& t) const {
    const bool fits = t.dtype != kFloat32 || !unrepresentable(t, request_.low);
    return fits ? Form::kFree : Form::kFloat32;
  }

  Form operands_form(NodeId id) const {
    Form form = Form::kFree;
    for (const NodeId o : f_.operands(id)) form = joined(form, seen_[o.index()]);
    return form;
  }

  // Decides for the call, or leaves it to its readers (kEither); returns what its readers see.
  Form forward_call(NodeId id) {
    const bool makes_float32 = has_float32(f_.type(id));
    if (!makes_float32 && !reads([](const Type& t) { return has_float32(t); }, id)) {
      sums_[id.index()] = holds_sums(id);
      return sums_[id.index()] ? Form::kFloat32 : Form::kFree;
    }
    const Form form = call_form(id, makes_float32);
    if (form == Form::kFree) {
      computed(id) = Precision::kEither;
      return Form::kFree;
    }
    computed(id) = form == Form::kLow ? Precision::kLow : Precision::kFloat32;
    const bool rounds = precision_rule(*f_.op(id)).kind == PrecisionRule::kRounds;
    const bool rounded = form == Form::kFloat32 && (rounds || rounded_[id.index()]);
    return rounded ? Form::kLow : form;
  }

  // Sums of a product of integers, and what is computed of them, leave the range of float16; as
  // floats they are float32 until a scale has brought them back.
  bool holds_sums(NodeId id) const {
    const Type& type = f_.type(id);
    if (!type.is_tensor() || type.dtype() != kInt32) return false;
    const auto operands = f_.operands(id);
    return is_low(precision_rule(*f_.op(id)).kind) ||
           std::ranges::any_of(operands, [&](NodeId o) { return sums_[o.index()]; });
  }

  Form call_form(NodeId id, bool makes_float32) {
    const PrecisionRule::Kind rule = precision_rule(*f_.op(id)).kind;
    if (rule == PrecisionRule::kLowRows) {
      return f_.type(f_.operands(id)[0]).dtype() == kFloat32 ? Form::kLow : Form::kFloat32;
    }
    // A model that widens on its own knows why; functions as operands belong to someone else.
    const auto is_other = [](const Type& t) {
      return t.is_function() || (t.is_tensor() && t.dtype().is_float() && t.dtype() != kFloat32);
    };
    if (makes_float32 && reads(is_other, id)) return Form::kFloat32;
    if (rule == PrecisionRule::kFloat32 || rule == PrecisionRule::kRounds) return Form::kFloat32;
    const bool fits = constants_fit(id);
    if (rule == PrecisionRule::kLow) return fits ? Form::kLow : Form::kFloat32;
    return operands_form(id);
  }

  template <class Is>
  bool reads(Is is, NodeId id) const {
    const auto operands = f_.operands(id);
    return std::ranges::any_of(operands, [&](NodeId o) { return is(f_.type(o)); });
  }

  // Single numbers that do not fit are told by the report alone.
  bool constants_fit(NodeId id) {
    for (const NodeId o : f_.operands(id)) {
      const auto* constant = f_.as<relay::Constant>(o);
      if (constant == nullptr || seen_[o.index()] != Form::kFloat32) continue;
      const Tensor& t = pool_.resolve(constant->value);
      if (t.num_elements() > 1) {
        plan_.warnings.push_back(
            warning(Code::kBadOption, f_[id].location,
                    "`{}` stays in float32: a constant of it holds {:g}, which {} cannot",
                    f_.op(id)->name, *unrepresentable(t, request_.low), to_string(request_.low))
                .with_remedy("bfloat16 has the range of float32"));
      }
      return false;
    }
    return true;
  }

  // Settles what the way forward left open, and tells the operands what is wanted of them.
  void go_backward(NodeId id) {
    if (is_closed(id)) return;
    if (computed(id) == Precision::kEither) settle(id);
    const Form want = wanted_of_operands(id);
    for (const NodeId o : f_.operands(id)) {
      wanted_[o.index()] = joined(wanted_[o.index()], want);
    }
  }

  void settle(NodeId id) {
    if (!has_float32(f_.type(id))) {
      // A cast to another type says itself what becomes of its operand.
      if (f_.op(id)->name == "cast") computed(id) = Precision::kFloat32;
      return;
    }
    const bool goes_along = precision_rule(*f_.op(id)).kind == PrecisionRule::kFollows &&
                            wanted_[id.index()] == Form::kLow;
    computed(id) = goes_along ? Precision::kLow : Precision::kFloat32;
  }

  Form wanted_of_operands(NodeId id) {
    if (is_transparent(id)) return wanted_[id.index()];
    if (f_.op(id) == nullptr) return Form::kFloat32;
    if (computed(id) == Precision::kEither) return Form::kFree;
    const bool low = computed(id) == Precision::kLow &&
                     precision_rule(*f_.op(id)).kind != PrecisionRule::kFloat32Inside;
    return low ? Form::kLow : Form::kFloat32;
  }

  const relay::Function& f_;
  const ConstantPool& pool_;
  const PrecisionRequest request_;
  const std::vector<relay::RegionId> closed_;
  std::vector<bool> rounded_, sums_;  // by node, as the two below
  std::vector<Form> seen_, wanted_;
  PrecisionPlan plan_;
};

}  // namespace

PrecisionPlan plan_precision(const relay::Function& f, const ConstantPool& pool,
                             const PrecisionRequest& request) {
  return Planner(f, pool, request).run();
}

}  // namespace tessera::passes
