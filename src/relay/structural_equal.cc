// SPDX-License-Identifier: Apache-2.0
#include "relay/structural_equal.h"

#include <algorithm>

#include <fmt/format.h>

#include "relay/describe.h"
#include "relay/operator.h"
#include "relay/print_value.h"
#include "relay/rewrite.h"

namespace tessera::relay {

namespace {

std::vector<std::vector<NodeId>> lets_by_region(const Function& f) {
  std::vector<std::vector<NodeId>> out(f.num_regions());
  const std::vector<bool> live = live_nodes(f);
  for (std::size_t i = 0; i < f.num_nodes(); ++i) {
    if (live[i] && f.as<Let>(NodeId(i)) != nullptr)
      out[f[NodeId(i)].region.index()].push_back(NodeId(i));
  }
  return out;
}

const Tensor& tensor_of(const Constant& constant, const ConstantPool* pool) {
  if (const auto* tensor = std::get_if<Tensor>(&constant.value)) return *tensor;
  TESSERA_CHECK(pool != nullptr, "a constant's pool is not known");
  return pool->resolve(constant.value);
}

// Compares front to back with a stack of its own; what is found first is reported.
class Comparer {
 public:
  Comparer(const Function& a, const Function& b, const EqualOptions& options)
      : a_(a),
        b_(b),
        options_(options),
        lets_a_(lets_by_region(a)),
        lets_b_(lets_by_region(b)),
        to_b_(a.num_nodes()),
        to_a_(b.num_nodes()) {}

  std::optional<Difference> run() {
    if (!attrs(a_.attrs, b_.attrs) ||
        !types(a_.result_annotation, b_.result_annotation, "result type")) {
      return std::move(difference_);
    }
    if (!push_region(Function::kBody, Function::kBody, kRoot)) return std::move(difference_);
    while (!tasks_.empty()) {
      const Task task = tasks_.back();
      tasks_.pop_back();
      step_ = task.step;
      if (!nodes(task)) return std::move(difference_);
    }
    return std::nullopt;
  }

 private:
  static constexpr std::uint32_t kRoot = 0xffffffffu;
  // How a pair of nodes was reached: from which pair, through which part of it.
  struct Step {
    std::uint32_t from;
    NodeId a, b;
    int part;  // operand number, or kResult, kBinding
  };
  static constexpr int kResult = -1, kBinding = -2;
  struct Task {
    NodeId a, b;
    std::uint32_t step;
  };

  void push(NodeId a, NodeId b, std::uint32_t from, int part) {
    steps_.push_back({from, a, b, part});
    tasks_.push_back({a, b, static_cast<std::uint32_t>(steps_.size() - 1)});
  }

  bool differ(std::string what) {
    difference_ = Difference{where(), std::move(what)};
    return false;
  }

  std::string where() const {
    if (step_ == kRoot) return "the signature";
    std::string path;
    std::uint32_t s = step_;
    for (int i = 0; i < 5 && s != kRoot; ++i, s = steps_[s].from) {
      path.insert(0, part_text(steps_[s]) + (path.empty() ? "" : " > "));
    }
    if (s != kRoot) path = "... > " + path;
    const std::string place_a = to_string(a_[steps_[step_].a].location);
    const std::string place_b = to_string(b_[steps_[step_].b].location);
    if (!place_a.empty()) path += fmt::format(" ({} against {})", place_a, place_b);
    return path;
  }

  std::string part_text(const Step& s) const {
    if (s.part == kResult) return "result";
    if (s.part == kBinding) return fmt::format("`let %{}`", a_.as<Let>(s.a)->name);
    const NodeId user = steps_[s.from].a;
    if (const Operator* op = a_.op(user))
      return fmt::format("operand {} of `{}`", s.part, op->name);
    if (a_.as<ValueCall>(user) != nullptr) {
      return s.part == 0 ? "callee" : fmt::format("argument {}", s.part - 1);
    }
    return fmt::format("part {} of {}", s.part, describe(a_, user));
  }

  bool types(const Type& a, const Type& b, std::string_view what) {
    if (a == b) return true;
    const auto text = [](const Type& t) { return t ? to_string(t) : std::string("none"); };
    return differ(fmt::format("{} {} against {}", what, text(a), text(b)));
  }

  bool attrs(const Attrs& a, const Attrs& b) {
    if (a == b) return true;
    const auto text = [](const AttrValue* v) { return v != nullptr ? attr_text(*v) : "none"; };
    for (const auto& [first, second] : {std::pair(&a, &b), std::pair(&b, &a)}) {
      for (const auto& [name, value] : *first) {
        const AttrValue* other = second->find(name);
        if (other != nullptr && *other == value) continue;
        return differ(fmt::format("attribute `{}` {} against {}", name, text(a.find(name)),
                                  text(b.find(name))));
      }
    }
    return true;
  }

  // Parameters correspond by position; then the lets in order and the result.
  bool push_region(RegionId ra, RegionId rb, std::uint32_t from) {
    const Region &a = a_.region(ra), &b = b_.region(rb);
    if (a.params.size() != b.params.size()) {
      return differ(fmt::format("{} parameters against {}", a.params.size(), b.params.size()));
    }
    for (std::size_t i = 0; i < a.params.size(); ++i) {
      const Param &pa = *a_.as<Param>(a.params[i]), &pb = *b_.as<Param>(b.params[i]);
      if (!types(pa.annotation, pb.annotation,
                 fmt::format("parameter {} `%{}` has type", i, pa.name))) {
        return false;
      }
      relate(a.params[i], b.params[i]);
    }
    const auto &la = lets_a_[ra.index()], &lb = lets_b_[rb.index()];
    if (la.size() != lb.size()) {
      return differ(fmt::format("{} `let` bindings against {}", la.size(), lb.size()));
    }
    push(a.result, b.result, from, kResult);
    for (std::size_t i = la.size(); i-- > 0;) push(la[i], lb[i], from, kBinding);
    return true;
  }

  void relate(NodeId a, NodeId b) {
    to_b_[a.index()] = b;
    to_a_[b.index()] = a;
  }

  bool nodes(const Task& task) {
    const auto [a, b, step] = task;
    const bool seen_a = static_cast<bool>(to_b_[a.index()]),
               seen_b = static_cast<bool>(to_a_[b.index()]);
    if (seen_a || seen_b) {
      if (to_b_[a.index()] == b && to_a_[b.index()] == a) return true;
      return differ(
          fmt::format("{} against {}, which is another value", describe(a_, a), describe(b_, b)));
    }
    if (!payload(a, b)) return false;
    // Constants and references to globals have no identity.
    const NodeKind kind = a_[a].kind();
    if (kind == NodeKind::kConstant || kind == NodeKind::kGlobalRef) return true;
    relate(a, b);
    const auto ra = regions_of(a_, a), rb = regions_of(b_, b);
    for (std::size_t i = ra.size(); i-- > 0;) {
      if (!push_region(ra[i], rb[i], step)) return false;
    }
    const auto oa = a_.operands(a), ob = b_.operands(b);
    for (std::size_t i = oa.size(); i-- > 0;) push(oa[i], ob[i], step, static_cast<int>(i));
    return true;
  }

  // Everything but operands and regions.
  bool payload(NodeId a, NodeId b) {
    const auto against = [&] { return differ(describe(a_, a) + " against " + describe(b_, b)); };
    if (a_[a].kind() != b_[b].kind() || a_.op(a) != b_.op(b)) return against();
    if (a_[a].num_operands != b_[b].num_operands) {
      return differ(fmt::format("{} with {} operands against {}", describe(a_, a),
                                a_[a].num_operands, b_[b].num_operands));
    }
    switch (a_[a].kind()) {
      case NodeKind::kParam:
        return against();  // of no region that was entered
      case NodeKind::kConstant:
        return constants(*a_.as<Constant>(a), *b_.as<Constant>(b));
      case NodeKind::kOpCall:
        return attrs(a_.as<OpCall>(a)->attrs, b_.as<OpCall>(b)->attrs);
      case NodeKind::kValueCall:
        return attrs(a_.as<ValueCall>(a)->attrs, b_.as<ValueCall>(b)->attrs);
      case NodeKind::kProject:
        return a_.as<Project>(a)->index == b_.as<Project>(b)->index || against();
      case NodeKind::kGlobalRef:
        return a_.as<GlobalRef>(a)->name == b_.as<GlobalRef>(b)->name || against();
      case NodeKind::kLet:
        return types(a_.as<Let>(a)->annotation, b_.as<Let>(b)->annotation, "annotation");
      case NodeKind::kLiteral:
        return attrs(a_.as<Literal>(a)->attrs, b_.as<Literal>(b)->attrs) &&
               types(a_.as<Literal>(a)->result_annotation, b_.as<Literal>(b)->result_annotation,
                     "result type");
      case NodeKind::kTuple:
      case NodeKind::kIf:
        break;
    }
    return true;
  }

  bool constants(const Constant& ca, const Constant& cb) {
    const Tensor &a = tensor_of(ca, options_.pool_a), &b = tensor_of(cb, options_.pool_b);
    if (a.shape != b.shape || a.dtype != b.dtype) {
      return differ(fmt::format("a constant of type {} against {}", to_string(a.type()),
                                to_string(b.type())));
    }
    if (a == b) return true;
    for (std::int64_t i = 0; i < a.num_elements(); ++i) {
      const double x = element_as_double(a, i), y = element_as_double(b, i);
      if (x != y) return differ(fmt::format("element {} of a constant: {} against {}", i, x, y));
    }
    return differ("constants of different bytes");
  }

  const Function &a_, &b_;
  const EqualOptions& options_;
  const std::vector<std::vector<NodeId>> lets_a_, lets_b_;
  std::vector<NodeId> to_b_, to_a_;
  std::vector<Step> steps_;
  std::vector<Task> tasks_;
  std::uint32_t step_ = kRoot;
  std::optional<Difference> difference_;
};

}  // namespace

std::optional<Difference> find_difference(const Function& a, const Function& b,
                                          const EqualOptions& options) {
  return Comparer(a, b, options).run();
}

bool structural_equal(const Function& a, const Function& b, const EqualOptions& options) {
  return !find_difference(a, b, options).has_value();
}

}  // namespace tessera::relay
