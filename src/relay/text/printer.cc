// SPDX-License-Identifier: Apache-2.0
#include "relay/text/printer.h"

#include <algorithm>

#include <fmt/format.h>

#include "relay/operator.h"
#include "relay/rewrite.h"

namespace tessera::relay {

// One function with the literals and branches inside it. Within a region nodes are visited depth
// first with a stack; only nested regions recurse.
class FunctionPrinter {
 public:
  FunctionPrinter(Printer& shared, const Function& f)
      : shared_(shared),
        f_(f),
        captures_(captures(f)),
        reference_(f.num_nodes()),
        commented_(f.num_nodes()),
        num_uses_(f.num_nodes()),
        lets_(f.num_regions()) {
    const std::vector<bool> live = live_nodes(f);
    ++num_uses_[f.result().index()];
    for (std::size_t i = 0; i < f.num_nodes(); ++i) {
      const NodeId id(i);
      if (!live[i]) continue;
      for (NodeId operand : f.operands(id)) ++num_uses_[operand.index()];
      for (RegionId region : regions_of(f, id)) ++num_uses_[f.region(region).result.index()];
      if (f.as<Let>(id) != nullptr) lets_[f[id].region.index()].push_back(id);
    }
  }

  std::string function() {
    return function_text(Function::kBody, f_.attrs, f_.result_annotation, 0);
  }

 private:
  static std::string indentation(int depth) {
    return std::string(2 * static_cast<std::size_t>(depth), ' ');
  }

  // `(params, attrs) -> R {`, body, `}`; the body's lines are indented one deeper than `depth`.
  std::string function_text(RegionId body, const Attrs& attrs, const Type& result, int depth) {
    std::string out = "(" + params_text(body);
    for (const auto& [name, value] : attrs) {
      if (out.size() > 1) out += ", ";
      out += name + "=" + attr_text(value);
    }
    out += ")";
    if (result) out += " -> " + to_string(result);
    return out + " {\n" + region_text(body, depth + 1) + indentation(depth) + "}";
  }

  std::string params_text(RegionId region) {
    std::string out;
    const bool reserved = region == Function::kBody && shared_.reserved_ == &f_;
    for (std::size_t i = 0; i < f_.region(region).params.size(); ++i) {
      const NodeId id = f_.region(region).params[i];
      const Param& param = *f_.as<Param>(id);
      std::string name = reserved ? shared_.reserved_names_[i] : shared_.names_.local(param.name);
      if (i > 0) out += ", ";
      out += name + annotation(param.annotation) + comment(id);
      reference_[id.index()] = std::move(name);
    }
    return out;
  }

  static std::string annotation(const Type& type) { return type ? ": " + to_string(type) : ""; }

  // ` /* ty=... */` at the first sight of the node.
  std::string comment(NodeId id) {
    if (commented_[id.index()]) return "";
    commented_[id.index()] = true;
    std::string inside;
    if (shared_.options_.types && f_.type(id)) inside += " ty=" + to_string(f_.type(id));
    if (shared_.options_.spans && f_[id].location) inside += " span=" + span_text(f_[id].location);
    return inside.empty() ? "" : " /*" + inside + " */";
  }

  static std::string span_text(const Location& location) {
    std::string text = to_string(location);
    std::replace(text.begin(), text.end(), '*', '_');  // it must not end the comment
    return text;
  }

  // The lines of a region: its lets in order, each after what its value needs, then its result.
  std::string region_text(RegionId region, int depth) {
    std::string out;
    for (NodeId let : lets_[region.index()]) {
      const NodeId value = f_.operands(let)[0];
      print_needs(value, region, depth, out);
      const std::string text = value_text(value, region, depth);
      std::string name = shared_.names_.local(f_.as<Let>(let)->name);
      fmt::format_to(std::back_inserter(out), "{}let {}{}{} = {};\n", indentation(depth), name,
                     annotation(f_.as<Let>(let)->annotation), comment(let), text);
      reference_[let.index()] = std::move(name);
    }
    const NodeId result = f_.region(region).result;
    print_needs(result, region, depth, out);
    return out + indentation(depth) + value_text(result, region, depth) + "\n";
  }

  // A value at the end of a scope or in a `let` stands in place unless it is used elsewhere too.
  bool is_in_place(NodeId id, RegionId region) const {
    return f_[id].region == region && num_uses_[id.index()] <= 1;
  }
  std::string value_text(NodeId id, RegionId region, int depth) {
    if (!is_atom(id) && is_in_place(id, region)) {
      return node_text(id, depth) + comment(id);
    }
    return reference(id);
  }

  bool is_atom(NodeId id) const {
    const NodeKind kind = f_[id].kind();
    return kind == NodeKind::kParam || kind == NodeKind::kConstant || kind == NodeKind::kLet ||
           kind == NodeKind::kGlobalRef;
  }

  // Prints the temporaries that `root` needs, and `root` itself unless it can stand in place.
  void print_needs(NodeId root, RegionId region, int depth, std::string& out) {
    struct Frame {
      NodeId id;
      std::vector<NodeId> needs;
      std::size_t next = 0;
    };
    std::vector<Frame> stack;
    const auto enter = [&](NodeId id) {
      if (!is_atom(id) && reference_[id.index()].empty()) stack.push_back({id, needs(id)});
    };
    enter(root);
    while (!stack.empty()) {
      Frame& top = stack.back();
      if (top.next < top.needs.size()) {
        enter(top.needs[top.next++]);
        continue;
      }
      const NodeId id = top.id;
      stack.pop_back();
      if (!reference_[id.index()].empty()) continue;
      if (id == root && is_in_place(id, region)) return;
      print_temporary(id, depth, out);
    }
  }

  // Evaluation order: arguments, what the regions read, callee.
  std::vector<NodeId> needs(NodeId id) const {
    const auto operands = f_.operands(id);
    std::vector<NodeId> out(operands.begin(), operands.end());
    if (f_.as<ValueCall>(id) != nullptr) std::rotate(out.begin(), out.begin() + 1, out.end());
    for (const NodeId inner : captures_[id.index()]) {
      if (num_uses_[inner.index()] > 0) out.push_back(inner);  // else a dead node reads it
    }
    return out;
  }

  void print_temporary(NodeId id, int depth, std::string& out) {
    const std::string text = node_text(id, depth);
    reference_[id.index()] = fmt::format("%{}", shared_.next_temporary_++);
    fmt::format_to(std::back_inserter(out), "{}{} = {}{};\n", indentation(depth),
                   reference_[id.index()], text, comment(id));
  }

  std::string reference(NodeId id) {
    if (const auto* constant = f_.as<Constant>(id)) return constant_text(*constant) + comment(id);
    if (const auto* global = f_.as<GlobalRef>(id)) return global_text(global->name);
    const std::string& text = reference_[id.index()];
    TESSERA_CHECK(!text.empty(), "node {} is used before it is defined", id.index());
    return text;
  }

  std::string constant_text(const Constant& constant) {
    const Tensor* tensor = std::get_if<Tensor>(&constant.value);
    TESSERA_CHECK(tensor != nullptr || shared_.pool_ != nullptr, "a constant's pool is not known");
    if (tensor == nullptr) tensor = &shared_.pool_->resolve(constant.value);
    if (auto literal = scalar_literal(*tensor)) return *literal;
    return fmt::format("meta[relay.Constant][{}]", shared_.constants_.index_of(*tensor));
  }

  // The node itself, its operands by reference, without comment.
  std::string node_text(NodeId id, int depth) {
    switch (f_[id].kind()) {
      case NodeKind::kOpCall: {
        const OpCall& call = *f_.as<OpCall>(id);
        return call_text(std::string(call.op->name), f_.operands(id), call.attrs, call.op);
      }
      case NodeKind::kValueCall: {
        const auto operands = f_.operands(id);
        return call_text("", operands, f_.as<ValueCall>(id)->attrs, nullptr);
      }
      case NodeKind::kTuple:
        return tuple_text(f_.operands(id));
      case NodeKind::kProject:
        return fmt::format("{}.{}", reference(f_.operands(id)[0]), f_.as<Project>(id)->index);
      case NodeKind::kIf:
        return if_text(id, depth);
      case NodeKind::kLiteral: {
        const Literal& literal = *f_.as<Literal>(id);
        return "fn " + function_text(literal.body, literal.attrs, literal.result_annotation, depth);
      }
      case NodeKind::kParam:
      case NodeKind::kConstant:
      case NodeKind::kLet:
      case NodeKind::kGlobalRef:
        break;
    }
    return reference(id);
  }

  // Without an operator, the first operand is the callee.
  std::string call_text(std::string callee, std::span<const NodeId> operands, const Attrs& attrs,
                        const Operator* op) {
    std::string args;
    const auto separate = [&] { args += args.empty() ? "" : ", "; };
    for (NodeId operand : op == nullptr ? operands.subspan(1) : operands) {
      separate();
      args += reference(operand);
    }
    if (op == nullptr) {
      callee = reference(operands[0]);
      for (const auto& [name, value] : attrs) separate(), args += name + "=" + attr_text(value);
    } else {
      for (const AttrField& field : op->attrs().fields) {
        if (const AttrValue* value = attrs.find(field.name)) {
          separate(), args += field.name + "=" + attr_text(*value);
        }
      }
    }
    return callee + "(" + args + ")";
  }

  std::string tuple_text(std::span<const NodeId> fields) {
    std::string out = "(";
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (i > 0) out += ", ";
      out += reference(fields[i]);
    }
    return out + (fields.size() == 1 ? ",)" : ")");
  }

  std::string if_text(NodeId id, int depth) {
    const If& branch = *f_.as<If>(id);
    std::string out = "if (" + reference(f_.operands(id)[0]) + ") {\n";
    out += region_text(branch.then_region, depth + 1) + indentation(depth) + "} else {\n";
    return out + region_text(branch.else_region, depth + 1) + indentation(depth) + "}";
  }

  Printer& shared_;
  const Function& f_;
  const std::vector<std::vector<NodeId>> captures_;
  std::vector<std::string> reference_;  // what stands for a node that has been printed
  std::vector<bool> commented_;
  std::vector<std::uint32_t> num_uses_;    // by live nodes
  std::vector<std::vector<NodeId>> lets_;  // live ones, by region
};

void Printer::reserve_params(const Function& f) {
  reserved_ = &f;
  for (NodeId id : f.params()) reserved_names_.push_back(names_.exact(f.as<Param>(id)->name));
}

std::string Printer::definition(std::string_view name, const Function& f) {
  return "def " + global_text(name) + FunctionPrinter(*this, f).function() + "\n";
}

std::string Printer::literal(const Function& f) {
  return "fn " + FunctionPrinter(*this, f).function();
}

std::string print(const Function& f, const PrintOptions& options, const ConstantPool* pool) {
  return Printer(options, pool).literal(f);
}

}  // namespace tessera::relay
