// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "relay/patterns/pattern_graph.h"
#include "relay/patterns/pattern_text.h"
#include "relay/print_value.h"
#include "relay/text/print.h"
#include "support/quoted_text.h"

namespace tessera::relay {

namespace {

// The relay text between the braces of a function without parameters.
std::string body_text(const Function& f) {
  std::string text = print(f, {.types = false, .spans = false});
  const auto open = text.find('{'), close = text.rfind('}');
  std::string out;
  for (const char c : text.substr(open + 1, close - open - 1)) {
    const bool blank = c == '\n' || c == ' ';
    if (!blank || (!out.empty() && out.back() != ' ')) out += blank ? ' ' : c;
  }
  while (out.ends_with(' ')) out.pop_back();
  return out;
}

std::string attrs_text(const Attrs& attrs) {
  std::vector<std::string> entries;
  for (const auto& [name, value] : attrs) {
    entries.push_back(fmt::format("{}={}", name, attr_text(value)));
  }
  return fmt::format("{{{}}}", fmt::join(entries, ", "));
}

class PatternPrinter {
 public:
  PatternPrinter(const Pattern& pattern, int max_depth)
      : graph_(pattern), max_depth_(max_depth), uses_(graph_.size()), names_(graph_.size()) {
    for (std::uint32_t p = 0; p < graph_.size(); ++p) {
      for (const std::uint32_t child : graph_[p].children) ++uses_[child];
    }
    for (std::uint32_t p = 0; p < graph_.size(); ++p) {
      if (is_optional(p)) --uses_[graph_[p].children[1]];
    }
  }

  // Parts with names, one a line, then the pattern.
  std::vector<std::string> lines() {
    std::vector<std::string> out;
    for (std::uint32_t p = 0; p < graph_.size(); ++p) {
      if (uses_[p] < 2) continue;
      const std::string text = pattern(p);
      names_[p] = fmt::format("%{}", out.size());
      out.push_back(fmt::format("{} = {};", names_[p], text));
    }
    out.push_back(pattern(graph_.root()));
    return out;
  }
  std::string one_line() { return pattern(graph_.root()); }

 private:
  // f(p) | p, of which the left one is a call with p as its first argument.
  bool is_optional(std::uint32_t p) const {
    if (graph_[p].pattern->kind != PatternKind::kEither) return false;
    const std::uint32_t left = graph_[p].children[0], right = graph_[p].children[1];
    const auto& parts = graph_[left].children;
    return graph_[left].pattern->kind == PatternKind::kCall && parts.size() > 1 &&
           parts[1] == right && uses_[left] < 2;
  }

  std::string pattern(std::uint32_t p) {
    if (!names_[p].empty()) return names_[p];
    if (depth_ >= max_depth_) return "..";
    ++depth_;
    std::string text = unnamed(p);
    --depth_;
    if (!graph_[p].pattern->capture.empty()) {
      text = fmt::format("{} as {}", open_either(p) ? "(" + text + ")" : text,
                         graph_[p].pattern->capture);
    }
    return text;
  }

  bool open_either(std::uint32_t p) const {
    return graph_[p].pattern->kind == PatternKind::kEither && names_[p].empty() && !is_optional(p);
  }

  // For something that is put after it.
  std::string primary(std::uint32_t p) {
    const bool open = open_either(p) && graph_[p].pattern->capture.empty();
    return open ? "(" + pattern(p) + ")" : pattern(p);
  }

  std::string list(std::span<const std::uint32_t> items) {
    std::vector<std::string> texts;
    for (const std::uint32_t item : items) texts.push_back(pattern(item));
    return fmt::format("{}", fmt::join(texts, ", "));
  }

  std::string leaf(const PatternNode& n) {
    switch (n.kind) {
      case PatternKind::kVar:
        return n.name.empty() ? "var" : fmt::format("var({})", quoted(n.name));
      case PatternKind::kConstant:
        return "constant";
      case PatternKind::kScalar:
        return fmt::format("scalar({})", n.scalar);
      case PatternKind::kOperator:
        return n.name;
      case PatternKind::kGlobal:
        return global_text(n.name);
      case PatternKind::kExpr:
        return expression(*n.expr);
      default:
        return "*";
    }
  }

  static std::string expression(const Function& f) {
    const auto* constant = f.as<Constant>(f.result());
    const Tensor* tensor = constant != nullptr ? std::get_if<Tensor>(&constant->value) : nullptr;
    const auto literal = tensor != nullptr ? scalar_literal(*tensor) : std::nullopt;
    return literal ? *literal : fmt::format("expr {{ {} }}", body_text(f));
  }

  std::string unnamed(std::uint32_t p) {
    const auto& [node, children] = graph_[p];
    const std::span<const std::uint32_t> parts = children;
    switch (node->kind) {
      case PatternKind::kCall:
        return fmt::format("{}({})", primary(parts[0]), node->any ? "..." : list(parts.subspan(1)));
      case PatternKind::kFunction:
        return fmt::format("fn ({}) {{ {} }}",
                           node->any ? "..." : list(parts.first(parts.size() - 1)),
                           pattern(parts.back()));
      case PatternKind::kIf:
        return fmt::format("if ({}) {{ {} }} else {{ {} }}", pattern(parts[0]), pattern(parts[1]),
                           pattern(parts[2]));
      case PatternKind::kLet:
        return fmt::format("let({})", list(parts));
      case PatternKind::kDominator:
        return fmt::format("dominates({})", list(parts));
      case PatternKind::kTuple:
        if (node->any) return "(...)";
        return fmt::format("({}{})", list(parts), parts.size() == 1 ? "," : "");
      case PatternKind::kProject:
        return fmt::format("{}.{}", primary(parts[0]),
                           node->index < 0 ? "*" : std::to_string(node->index));
      case PatternKind::kEither:
        if (is_optional(p)) return pattern(parts[0]) + "?";
        return fmt::format("{} | {}", pattern(parts[0]), primary(parts[1]));
      case PatternKind::kAttr:
        return primary(parts[0]) + attrs_text(node->attrs);
      case PatternKind::kType:
        return fmt::format("{}[type = {}]", primary(parts[0]), to_string(node->type));
      case PatternKind::kDtype:
        return fmt::format("{}[dtype = {}]", primary(parts[0]), to_string(node->dtype));
      case PatternKind::kShape:
        return fmt::format("{}[shape = {}]", primary(parts[0]), to_string(node->shape));
      default:
        return leaf(*node);
    }
  }

  PatternGraph graph_;
  int max_depth_, depth_ = 0;
  std::vector<int> uses_;
  std::vector<std::string> names_;
};

constexpr int kNoLimit = 1 << 20;

}  // namespace

std::string print(const Pattern& pattern) {
  const auto lines = PatternPrinter(pattern, kNoLimit).lines();
  if (lines.size() == 1) return fmt::format(" = {};", lines[0]);
  return fmt::format(" {{\n  {}\n}}", fmt::join(lines, "\n  "));
}

std::string print(const PatternTable& table) {
  std::string out = fmt::format("table {} {{\n", quoted(table.name));
  for (const CompositePattern& c : table.composites) {
    std::string text = fmt::format("composite {}{}", quoted(c.name), print(c.pattern));
    for (auto at = text.find('\n'); at != text.npos; at = text.find('\n', at + 3)) {
      text.replace(at, 1, "\n  ");
    }
    out += fmt::format("  {}\n", text);
  }
  return out + "}\n";
}

std::string print_short(const Pattern& pattern) { return PatternPrinter(pattern, 4).one_line(); }

}  // namespace tessera::relay
