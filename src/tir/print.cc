// SPDX-License-Identifier: Apache-2.0
#include "tir/print.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "support/f16.h"
#include "support/quoted_text.h"
#include "tir/barrier.h"
#include "tir/names.h"
#include "tir/script.h"
#include "tir/walk.h"

namespace tessera::tir {
namespace {

constexpr std::string_view kReduceWords[] = {"sum", "prod", "max", "min", "any", "all"};

// The shortest digits that read back as the same value of the dtype, with a point or exponent.
std::string float_digits(double value, DType dtype) {
  const auto narrow = static_cast<float>(value);
  const bool exact = static_cast<double>(narrow) == value || std::isnan(value);
  std::string text =
      dtype.bits <= 32 && exact ? fmt::format("{}", narrow) : fmt::format("{}", value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

// `nan` reads back as one bit pattern of many.
bool has_nan(const Tensor& t) {
  if (!t.dtype.is_float()) return false;
  for (std::int64_t i = 0; i < t.num_elements(); ++i) {
    if (std::isnan(element_as_double(t, i))) return true;
  }
  return false;
}

std::string int_digits(std::int64_t value, DType dtype) {
  if (dtype.is_bool()) return value != 0 ? "True" : "False";
  return dtype == kUInt64 ? fmt::format("{}", static_cast<std::uint64_t>(value))
                          : fmt::format("{}", value);
}

bool is_script_word(std::string_view name) {
  return std::ranges::find(kScriptWords, name) != std::end(kScriptWords) ||
         parse_dtype(name).has_value();
}

// What operator- makes; of a literal it would read back as another literal.
bool is_negation(const Sub& n) {
  const auto* zero = n.a.as<FloatImm>();
  const bool minus_zero = zero != nullptr && zero->value == 0 && std::signbit(zero->value);
  const bool literal = n.b.as<IntImm>() != nullptr || n.b.as<FloatImm>() != nullptr;
  return (minus_zero || is_int(n.a, 0)) && !literal && n.dtype.lanes == 1;
}

class Printer {
 public:
  explicit Printer(PrintOptions options = {})
      : options_(std::move(options)), names_({std::begin(kKeywords), std::end(kKeywords)}) {}

  std::string expr(const Expr& e, int context = kLoosest) {
    const auto [text, precedence] = expr_text(e);
    return precedence < context ? "(" + text + ")" : text;
  }
  void stmt(const Stmt& s);
  void function(const PrimFunc& f, std::string_view name);
  std::string definition(const TensorRef& t);
  std::string take() { return std::move(out_); }

 private:
  struct Text {
    std::string text;
    int precedence = kAtom;
  };
  Text expr_text(const Expr& e);
  Text literal(const IntImm& n);
  Text literal(const FloatImm& n);
  Text infix(const ExprKind kind, const Expr& a, const Expr& b);
  std::string list(const std::vector<Expr>& parts) {
    std::string out;
    for (const Expr& e : parts) out += (out.empty() ? "" : ", ") + expr(e);
    return out;
  }
  std::string indices(const std::vector<Expr>& parts) { return parts.empty() ? "()" : list(parts); }
  std::string tuple(const std::vector<Expr>& parts) {
    return "(" + list(parts) + (parts.size() == 1 ? ",)" : ")");
  }
  std::string buffers(const std::vector<Buffer>& list) {
    std::string out;
    for (const Buffer& b : list) out += (out.empty() ? "" : ", ") + name(b);
    return "[" + out + "]";
  }
  std::string name(const Buffer& b) { return names_.of(b.get(), b->name); }
  std::string name(const Expr& var) { return names_.of(var.get(), var.as<Var>()->name); }
  std::string buffer_type(const Buffer& b);
  std::string constant(const AllocateConst& n);
  std::string range(const For& n);

  template <class... A>
  void line(fmt::format_string<A...> text, A&&... args) {
    out_.append(indent_, ' ');
    fmt::format_to(std::back_inserter(out_), text, std::forward<A>(args)...);
    out_ += '\n';
  }
  void block(const Stmt& s) {
    indent_ += 2;
    stmt(s);
    indent_ -= 2;
  }
  // A definition whose scope is `body`: the rest of the block where nothing else follows, which is
  // then what remains to be printed.
  const Stmt* scoped(const std::string& head, const std::string& what, const std::string& name,
                     const Stmt& body, bool last) {
    if (last) {
      line("{} = {}", head, what);
      return &body;
    }
    line("with {} as {}:", what, name);
    block(body);
    return nullptr;
  }
  const Stmt* sequence(const Seq& n);
  const Stmt* definition(const Stmt& s, bool last);
  void simple(const Stmt& s);
  void stmt_in_block(const Stmt& s, bool last);

  PrintOptions options_;
  Names names_;
  std::string out_;
  std::size_t indent_ = 0;
};

Printer::Text Printer::literal(const IntImm& n) {
  const std::string digits = int_digits(n.value, n.dtype);
  if (n.dtype == kInt64) return {digits, n.value < 0 ? kUnary : kAtom};
  if (n.dtype.is_bool()) return {digits};
  return {fmt::format("T.{}({})", to_string(n.dtype), digits)};
}

Printer::Text Printer::literal(const FloatImm& n) {
  const std::string digits = float_digits(n.value, n.dtype);
  if (!std::isfinite(n.value)) return {fmt::format("T.{}(\"{}\")", to_string(n.dtype), digits)};
  if (n.dtype == kFloat32) return {digits, std::signbit(n.value) ? kUnary : kAtom};
  return {fmt::format("T.{}({})", to_string(n.dtype), digits)};
}

Printer::Text Printer::infix(const ExprKind kind, const Expr& a, const Expr& b) {
  if (kind == ExprKind::Min || kind == ExprKind::Max) {
    return {fmt::format("T.{}({}, {})", kind == ExprKind::Min ? "min" : "max", expr(a), expr(b))};
  }
  const auto* word = std::ranges::find(kInfixWords, kind, &InfixWord::kind);
  const int p = word->precedence;
  // Chains of comparisons mean something else in Python, so both sides are put in parentheses.
  const int left = p == kCompare ? p + 1 : p;
  return {fmt::format("{} {} {}", expr(a, left), word->text, expr(b, p + 1)), p};
}

Printer::Text Printer::expr_text(const Expr& e) {
  return visit(
      e, [&](const IntImm& n) -> Text { return literal(n); },
      [&](const FloatImm& n) -> Text { return literal(n); },
      [&](const StringImm& n) -> Text { return {quoted(n.value)}; },
      [&](const Var&) -> Text { return {name(e)}; },
      [&](const Cast& n) -> Text {
        const bool of_literal =
            n.value.as<IntImm>() != nullptr || n.value.as<FloatImm>() != nullptr;
        if (!of_literal) return {fmt::format("T.{}({})", to_string(n.dtype), expr(n.value))};
        return {fmt::format("T.Cast(\"{}\", {})", to_string(n.dtype), expr(n.value))};
      },
      [&](const Not& n) -> Text {
        return {"not " + expr(n.value, kNot), kNot};
      },
      [&](const Select& n) -> Text {
        return {
            fmt::format("T.if_then_else({}, {}, {})", expr(n.condition), expr(n.yes), expr(n.no))};
      },
      [&](const Load& n) -> Text {
        return {fmt::format("{}[{}]", name(n.buffer), indices(n.indices))};
      },
      [&](const Call& n) -> Text {
        const bool plain = !n.args.empty() && n.args[0].dtype() == n.dtype &&
                           identifier(n.name) == n.name && !is_script_word(n.name);
        if (plain) return {fmt::format("T.{}({})", n.name, list(n.args))};
        return {fmt::format("T.call(\"{}\", {}{}{})", to_string(n.dtype), quoted(n.name),
                            n.args.empty() ? "" : ", ", list(n.args))};
      },
      [&](const Ramp& n) -> Text {
        return {fmt::format("T.Ramp({}, {}, {})", expr(n.base), expr(n.stride), n.lanes)};
      },
      [&](const Broadcast& n) -> Text {
        return {fmt::format("T.Broadcast({}, {})", expr(n.value), n.lanes)};
      },
      [&](const Reduce& n) -> Text {
        std::string axes;
        for (const IterAxis& axis : n.axes) {
          axes += fmt::format("{}: {}, ", name(axis.var), expr(axis.extent));
        }
        return {fmt::format("reduce_{}({}{})", kReduceWords[static_cast<int>(n.op)], axes,
                            expr(n.value))};
      },
      [&](const Read& n) -> Text {
        return {fmt::format("{}({})", names_.of(n.tensor.get(), n.tensor->name), list(n.indices))};
      },
      [&](const Sub& n) -> Text {
        if (is_negation(n)) return {"-" + expr(n.b, kAtom), kUnary};
        return infix(n.kind, n.a, n.b);
      },
      [&]<BinaryNode N>(const N& n) -> Text { return infix(n.kind, n.a, n.b); });
}

std::string Printer::buffer_type(const Buffer& b) {
  std::string out = fmt::format("{}, \"{}\"", tuple(b->shape), to_string(b->dtype));
  if (!b->strides.empty()) out += fmt::format(", strides={}", tuple(b->strides));
  if (b->scope != MemoryScope::kGlobal) {
    out += fmt::format(", scope=\"{}\"", kScopeWords[static_cast<int>(b->scope)]);
  }
  if (b->space) out += fmt::format(", space=\"{}\"", to_string(*b->space));
  if (b->align_bytes != kDefaultAlignBytes) out += fmt::format(", align={}", b->align_bytes);
  if (!b->pools.empty()) {
    std::vector<std::string> pools;
    for (const std::string& pool : b->pools) pools.push_back(quoted(pool));
    out += fmt::format(", pools=[{}]", fmt::join(pools, ", "));
  }
  if (b->offset_bytes >= 0) out += fmt::format(", offset={}", b->offset_bytes);
  return "(" + out + ")";
}

std::string Printer::constant(const AllocateConst& n) {
  std::string data;
  if (const auto* index = std::get_if<ConstantIndex>(&n.data)) {
    data = fmt::format("T.pool({})", index->index());
  } else {
    const Tensor& t = std::get<Tensor>(n.data);
    const std::int64_t size = t.num_elements();
    if (options_.large_constant && (size > kMaxPrintedConstant || has_nan(t))) {
      data = options_.large_constant(t);
    } else {
      for (std::int64_t i = 0; i < size; ++i) {
        if (i > 0) data += ", ";
        data += t.dtype.is_float() ? float_digits(element_as_double(t, i), t.dtype)
                                   : int_digits(element_as_int(t, i), t.dtype);
      }
      data = "[" + data + "]";
    }
  }
  // Shape and dtype are the buffer's: the verifier wants them equal to the tensor's.
  return fmt::format("T.allocate_const({}, {}", data, buffer_type(n.buffer).substr(1));
}

std::string Printer::range(const For& n) {
  const std::int64_t *min = as_int(n.min), *extent = as_int(n.extent);
  if (is_int(n.min, 0)) return expr(n.extent);
  if (min != nullptr && extent != nullptr) return fmt::format("{}, {}", *min, *min + *extent);
  return fmt::format("{}, {}", expr(n.min), expr(Add::make(n.min.dtype(), n.min, n.extent)));
}

// All of it but the last part, which is left.
const Stmt* Printer::sequence(const Seq& n) {
  for (std::size_t i = 0; i + 1 < n.body.size(); ++i) stmt_in_block(n.body[i], false);
  return is_empty(n.body.back()) ? nullptr : &n.body.back();
}

const Stmt* Printer::definition(const Stmt& s, bool last) {
  return visit(
      s,
      [&](const LetStmt& n) {
        const std::string value = expr(n.value), var = name(n.var);
        const std::string type = fmt::format("{}: T.{}", var, to_string(n.var.dtype()));
        return scoped(type, last ? value : "T.let(" + value + ")", var, n.body, last);
      },
      [&](const Allocate& n) {
        const std::string type = buffer_type(n.buffer);
        return scoped(name(n.buffer), "T.alloc_buffer" + type, name(n.buffer), n.body, last);
      },
      [&](const AllocateConst& n) {
        const std::string data = constant(n);
        return scoped(name(n.buffer), data, name(n.buffer), n.body, last);
      },
      [&](const View& n) {
        const std::string type = buffer_type(n.buffer);
        const std::string what = fmt::format("T.view({}, {}", name(n.source), type.substr(1));
        return scoped(name(n.buffer), what, name(n.buffer), n.body, last);
      },
      [](Otherwise) -> const Stmt* { return nullptr; });
}

// A statement that is neither a sequence nor a definition.
void Printer::simple(const Stmt& s) {
  visit(
      s,
      [&](const Store& n) {
        line("{}[{}] = {}", name(n.buffer), indices(n.indices), expr(n.value));
      },
      [&](const For& n) {
        line("for {} in T.{}({}):", name(n.var), kLoopWords[static_cast<int>(n.loop)], range(n));
        block(n.body);
        names_.forget(n.var.get());
      },
      [&](const While& n) {
        line("while {}:", expr(n.condition));
        block(n.body);
      },
      [&](const IfThenElse& n) {
        line("if {}:", expr(n.condition));
        block(n.then_case);
        if (!n.else_case) return;
        line("else:");
        block(n.else_case);
      },
      [&](const CallKernel& n) {
        line("T.call_kernel({}, {}, {}, [{}])", quoted(n.symbol), buffers(n.inputs),
             buffers(n.outputs), list(n.dims));
      },
      [&](const Require& n) {
        line("T.require({}, {}{}{})", expr(n.condition), quoted(n.sentence),
             n.values.empty() ? "" : ", ", list(n.values));
      },
      [&](const Reserve& n) { line("T.reserve({})", name(n.buffer)); },
      [&](const Evaluate& n) {
        line("{}", is_barrier(s) ? "T.barrier()" : fmt::format("T.evaluate({})", expr(n.value)));
      },
      [](Otherwise) {});
}

// Goes on with what is left of the block instead of calling itself for it: blocks are as long as
// programs are.
void Printer::stmt_in_block(const Stmt& s, bool last) {
  const Stmt* rest = &s;
  while (rest != nullptr) {
    const Stmt& at = *rest;
    if (is_empty(at)) {
      if (last) line("pass");
      return;
    }
    if (const auto* n = at.as<Seq>()) {
      rest = sequence(*n);
    } else if (scope_of(at) != nullptr) {
      rest = definition(at, last);
    } else {
      return simple(at);
    }
  }
}

void Printer::stmt(const Stmt& s) { stmt_in_block(s, true); }

void Printer::function(const PrimFunc& f, std::string_view function_name) {
  std::vector<std::string> params;
  for (const Expr& dim : f.dims) {
    params.push_back(fmt::format("{}: T.{}", name(dim), to_string(dim.dtype())));
  }
  const auto add = [&](const Buffer& b) {
    const std::string type = buffer_type(b);
    params.push_back(fmt::format("{}: T.Buffer{}", name(b), type));
  };
  for (const Buffer& b : f.inputs) add(b);
  if (!f.outputs.empty()) params.push_back("*");
  for (const Buffer& b : f.outputs) add(b);
  line("@T.prim_func{}", f.is_host ? "(host=True)" : "");
  std::string head = fmt::format("def {}({}):", identifier(function_name), fmt::join(params, ", "));
  if (head.size() > 100) {
    const std::string separator = ",\n" + std::string(8, ' ');
    head = fmt::format("def {}(\n        {}):", identifier(function_name),
                       fmt::join(params, separator));
  }
  line("{}", head);
  indent_ += 2;
  if (!f.attrs.empty()) {
    std::string attrs;
    for (const auto& [key, value] : f.attrs) {
      attrs += fmt::format("{}{}: {}", attrs.empty() ? "" : ", ", quoted(key), quoted(value));
    }
    line("T.func_attr({{{}}})", attrs);
  }
  stmt(f.body);
  indent_ -= 2;
}

std::string Printer::definition(const TensorRef& t) {
  const std::string& tensor = names_.of(t.get(), t->name);
  if (!t->body) {
    return fmt::format("{}: {}{}, \"{}\"\n", tensor, t->data != nullptr ? "table " : "",
                       tuple(t->shape), to_string(t->dtype));
  }
  std::string axes;
  for (std::size_t i = 0; i < t->axes.size(); ++i) {
    axes += fmt::format("{}{}: {}", i > 0 ? ", " : "", name(t->axes[i]), expr(t->shape[i]));
  }
  return fmt::format("{}({}) = {}{}\n", tensor, axes, expr(t->body),
                     t->tag.empty() ? "" : "  # " + t->tag);
}

void collect_tensors(const TensorRef& t, std::set<const TensorNode*>& seen,
                     std::vector<TensorRef>& order) {
  if (!seen.insert(t.get()).second) return;
  if (t->body) {
    for_each_node(t->body, [&](const Expr& e) {
      if (const auto* read = e.as<Read>()) collect_tensors(read->tensor, seen, order);
    });
  }
  order.push_back(t);
}

}  // namespace

std::string print(const PrimFunc& f, std::string_view name, const PrintOptions& options) {
  Printer p(options);
  p.function(f, name);
  return p.take();
}
std::string print(const Stmt& s) {
  Printer p;
  p.stmt(s);
  return p.take();
}
std::string print(const Expr& e) { return e ? Printer().expr(e) : "<none>"; }

std::string print(const TensorExpr& t) {
  std::set<const TensorNode*> seen;
  std::vector<TensorRef> order;
  collect_tensors(t.ref(), seen, order);
  Printer p;
  std::string out;
  for (const TensorRef& part : order) out += p.definition(part);
  return out;
}

}  // namespace tessera::tir
