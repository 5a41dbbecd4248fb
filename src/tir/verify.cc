// SPDX-License-Identifier: Apache-2.0
#include "tir/verify.h"

#include <set>
#include <utility>
#include <vector>

#include "tir/barrier.h"
#include "tir/conditions.h"
#include "tir/excerpt.h"
#include "tir/intrinsics.h"
#include "tir/verify_buffer.h"
#include "tir/verify_teams.h"
#include "tir/walk.h"

namespace tessera::tir {
namespace {

class Verifier {
 public:
  Verifier(const PrimFunc& f, std::string_view name) : f_(f), name_(name) {}
  Diagnostics run();

 private:
  template <class... A>
  void report(Code code, fmt::format_string<A...> text, A&&... args) {
    const Location at = f_.sources.empty() ? nullptr : f_.sources.front();
    found_.add(error(code, at, "`{}`: {}", name_, fmt::format(text, std::forward<A>(args)...))
                   .with_remedy("write the function by the rules of docs/loop-ir.md"));
  }
  template <class T>
  void malformed(const T& part, std::string_view rule) {
    report(Code::kMalformedGraph, "{} in `{}`", rule, excerpt(part));
  }
  template <class T>
  void expect_type(const T& part, DType found, DType wanted, std::string_view what) {
    if (found == wanted) return;
    report(Code::kDtypeMismatch, "{} is {} and should be {} in `{}`", what, to_string(found),
           to_string(wanted), excerpt(part));
  }

  void parameters();
  void expr(const Expr& e);
  void operands(const Expr& e);
  void call(const Expr& e, const Call& n);
  void access(const Buffer& b, const std::vector<Expr>& indices, DType value, const auto& part);
  void use(const Buffer& b, const auto& part) {
    if (!buffers_.contains(b.get())) {
      report(Code::kUnknownName, "buffer `{}` is used outside of its scope in `{}`", b->name,
             excerpt(part));
    }
  }
  void missing_parts();
  void block(const Stmt& s);
  void stmt(const Stmt& s);
  void store(const Stmt& s, const Store& n);
  void loop(const Stmt& s, const For& n);
  void scoped_buffer(const Stmt& s, const Buffer& b);
  void constant(const Stmt& s, const AllocateConst& n);
  void view(const Stmt& s, const View& n);
  void require(const Stmt& s, const Require& n);
  // A definition up to the end of the innermost scope; false where there is one already.
  bool define(std::set<const void*>& known, const void* what) {
    const bool fresh = known.insert(what).second;
    if (fresh) defined_.emplace_back(&known, what);
    return fresh;
  }
  void open_scope() { scopes_.push_back(defined_.size()); }
  void close_scope() {
    for (; defined_.size() > scopes_.back(); defined_.pop_back()) {
      defined_.back().first->erase(defined_.back().second);
    }
    scopes_.pop_back();
  }

  const PrimFunc& f_;
  std::string_view name_;
  Diagnostics found_;
  std::set<const void*> vars_, buffers_, constants_;
  std::set<const void*> own_;  // buffers that the parallel loop around allocates itself
  std::vector<std::pair<std::set<const void*>*, const void*>> defined_;
  std::vector<std::size_t> scopes_;  // how many definitions were there before each
  bool parallel_ = false;
  bool team_ = false;  // inside of a block or warp, outside of its threads
};

void Verifier::access(const Buffer& b, const std::vector<Expr>& indices, DType value,
                      const auto& part) {
  use(b, part);
  if (indices.size() != b->shape.size()) {
    report(Code::kWrongArity, "`{}` has {} dimensions, {} indices are given in `{}`", b->name,
           b->shape.size(), indices.size(), excerpt(part));
  }
  int lanes = 1;
  for (const Expr& i : indices) {
    expr(i);
    lanes = std::max<int>(lanes, i.dtype().lanes);
    expect_type(part, i.dtype().element(), kInt64, "an index");
  }
  expect_type(part, value, b->dtype.with_lanes(lanes), "the value");
}

void Verifier::call(const Expr& e, const Call& n) {
  for (const Expr& a : n.args) expr(a);
  const Intrinsic* f = find_intrinsic(n.name);
  if (f == nullptr) return report(Code::kUnknownName, "no function `{}` exists", n.name);
  if (static_cast<int>(n.args.size()) != f->arity) {
    return report(Code::kWrongArity, "`{}` takes {} operands in `{}`", n.name, f->arity,
                  excerpt(e));
  }
  for (const Expr& a : n.args) expect_type(e, a.dtype(), n.args[0].dtype(), "an operand");
  const DType operand = n.args[0].dtype();
  if (f->domain == Intrinsic::Domain::kInteger) {
    if (operand.is_float()) malformed(e, "a function of integers");
  } else if (!operand.is_float()) {
    malformed(e, "a function of floats");
  }
  const bool test = f->domain == Intrinsic::Domain::kTest;
  expect_type(e, n.dtype, test ? kBool.with_lanes(operand.lanes) : operand, "the result");
}

void Verifier::operands(const Expr& e) {
  for_each_child(e, [&](const Expr& child) { expr(child); });
  visit(
      e,
      [&](const Select& n) {
        expect_type(e, n.condition.dtype().element(), kBool, "the condition");
        expect_type(e, n.yes.dtype(), n.dtype, "the first value");
        expect_type(e, n.no.dtype(), n.dtype, "the second value");
      },
      [&](const Not& n) { expect_type(e, n.value.dtype(), n.dtype, "the operand"); },
      [&](const Cast& n) {
        expect_type(e, n.value.dtype().with_lanes(n.dtype.lanes), n.value.dtype(), "the operand");
      },
      [&](const Ramp& n) {
        expect_type(e, n.base.dtype().with_lanes(n.lanes), n.dtype, "the base");
        expect_type(e, n.stride.dtype(), n.base.dtype(), "the stride");
      },
      [&](const Broadcast& n) {
        expect_type(e, n.value.dtype().with_lanes(n.lanes), n.dtype, "the value");
      },
      [&]<BinaryNode N>(const N& n) {
        expect_type(e, n.b.dtype(), n.a.dtype(), "the second operand");
        constexpr bool kTests =
            KindOf<N>::value >= ExprKind::Eq && KindOf<N>::value <= ExprKind::Or;
        const DType result = kTests ? kBool.with_lanes(n.a.dtype().lanes) : n.a.dtype();
        expect_type(e, n.dtype, result, "the result");
        if (KindOf<N>::value == ExprKind::And || KindOf<N>::value == ExprKind::Or) {
          expect_type(e, n.a.dtype().element(), kBool, "the first operand");
        }
      },
      // Literals and variables have no operands, and `expr` sees to these.
      [](const IntImm&) {}, [](const FloatImm&) {}, [](const StringImm&) {}, [](const Var&) {},
      [](const Load&) {}, [](const Call&) {}, [](const Reduce&) {}, [](const Read&) {});
}

void Verifier::expr(const Expr& e) {
  if (!e) return report(Code::kMalformedGraph, "an expression is missing");
  visit(
      e,
      [&](const Var& n) {
        if (vars_.contains(&n)) return;
        report(Code::kUnknownName, "variable `{}` is used outside of its scope", n.name);
      },
      [&](const Load& n) { access(n.buffer, n.indices, n.dtype, e); },
      [&](const Call& n) { call(e, n); },
      [&](const Reduce&) { malformed(e, "a reduction outside of a tensor definition"); },
      [&](const Read&) { malformed(e, "a read of a tensor definition"); },
      [&](Otherwise) { operands(e); });
}

void Verifier::store(const Stmt& s, const Store& n) {
  expr(n.value);
  access(n.buffer, n.indices, n.value ? n.value.dtype() : n.buffer->dtype, s);
  if (constants_.contains(n.buffer.get())) malformed(s, "a store to constant data");
  const bool shared = parallel_ && n.buffer->scope == MemoryScope::kStack;
  if (shared && !own_.contains(n.buffer.get())) {
    malformed(s, "a store to a stack buffer that all iterations of a parallel loop share");
  }
}

void Verifier::loop(const Stmt& s, const For& n) {
  expr(n.min);
  expr(n.extent);
  if (n.var.as<Var>() == nullptr) return malformed(s, "a loop over something else than a variable");
  expect_type(s, n.min.dtype(), n.var.dtype(), "the lower limit");
  expect_type(s, n.extent.dtype(), n.var.dtype(), "the extent");
  if (!n.var.dtype().is_int()) malformed(s, "a loop over a variable that is not an integer");
  const bool parallel = n.loop == ForKind::kParallel || is_launch(n.loop);
  const bool threads = n.loop == ForKind::kThreads;
  if (parallel && parallel_) malformed(s, "a parallel loop inside of another");
  if (threads && !team_) malformed(s, "threads outside of a block or warp");
  if (f_.is_host && (parallel || threads || n.loop == ForKind::kVectorized)) {
    malformed(s, "a parallel or vectorised loop in a host program");
  }
  open_scope();
  if (!define(vars_, n.var.get())) malformed(s, "a loop over a variable that is in use");
  const bool outer = parallel_;
  std::set<const void*> outer_own;
  if (parallel) outer_own.swap(own_);
  parallel_ |= parallel;
  const bool outer_team = team_;
  if (parallel) team_ = n.loop == ForKind::kWarps || n.loop == ForKind::kBlocks;
  if (threads) team_ = false;  // one thread, which has no threads of its own
  block(n.body);
  parallel_ = outer;
  team_ = outer_team;
  if (parallel) own_.swap(outer_own);
  close_scope();
}

void Verifier::scoped_buffer(const Stmt& s, const Buffer& b) {
  for (const Expr& extent : b->shape) {
    expr(extent);
    if (extent) expect_type(s, extent.dtype(), kInt64, "an extent");
  }
  for (const Expr& stride : b->strides) expr(stride);
  for (const std::string& rule : verify_buffer(*b, f_.is_host)) malformed(s, rule);
  if (!define(buffers_, b.get())) malformed(s, "a second definition of a buffer");
  define(own_, b.get());
}

void Verifier::constant(const Stmt& s, const AllocateConst& n) {
  if (const auto* t = std::get_if<Tensor>(&n.data)) {
    if (!has_type_of(*n.buffer, *t) || !t->blob) {
      report(Code::kShapeMismatch, "constant `{}` does not have the shape and type of its data",
             n.buffer->name);
    }
  } else if (!std::get<ConstantIndex>(n.data)) {
    malformed(s, "constant data without an index of the pool");
  }
  define(constants_, n.buffer.get());
  scoped_buffer(s, n.buffer);
}

void Verifier::view(const Stmt& s, const View& n) {
  use(n.source, s);
  const std::int64_t size = constant_bytes(n.buffer), source = constant_bytes(n.source);
  const std::int64_t offset = n.buffer->offset_bytes;
  if (size >= 0 && source >= 0 && offset >= 0) {
    if (offset > source - size) {
      report(Code::kShapeMismatch, "view `{}` ends behind `{}`, which has {} bytes", n.buffer->name,
             n.source->name, source);
    }
  } else if (size >= 0 && source >= 0 && size != source) {
    report(Code::kShapeMismatch, "view `{}` has another size than `{}`", n.buffer->name,
           n.source->name);
  }
  if (constants_.contains(n.source.get())) define(constants_, n.buffer.get());
  scoped_buffer(s, n.buffer);
}

void Verifier::require(const Stmt& s, const Require& n) {
  if (f_.is_host) malformed(s, "a condition of a kernel in a host program");
  expr(n.condition);
  if (n.condition) expect_type(s, n.condition.dtype(), kBool, "the condition");
  const std::size_t places = sentence_pieces(n.sentence).size() - 1;
  if (places != n.values.size()) malformed(s, "a sentence with another number of values");
  for (const Expr& value : n.values) {
    expr(value);
    if (value) expect_type(s, value.dtype(), kInt64, "a value of the sentence");
  }
}

void Verifier::missing_parts() {
  for_each_node(f_.body, [&](const Stmt& s) {
    visit(s, [&](const auto& n) {
      if constexpr (requires { n.then_case; }) {
        if (!n.then_case) malformed(s, "a statement without its body");
      } else if constexpr (std::is_same_v<decltype(n), const Seq&>) {
        for (const Stmt& part : n.body) {
          if (!part) malformed(s, "a statement without its body");
        }
      } else if constexpr (requires { n.body; }) {
        if (!n.body) malformed(s, "a statement without its body");
      }
    });
  });
}

// Definitions are in force up to the end of the block, or to where they end before.
void Verifier::block(const Stmt& s) {
  BlockWalk rest(s);
  while (const Stmt* next = rest.next([&](const Stmt&) { close_scope(); })) {
    if (scope_of(*next) != nullptr) open_scope();
    stmt(*next);
  }
}

// All but what is in the scope of a definition.
void Verifier::stmt(const Stmt& s) {
  visit(
      s, [&](const Store& n) { store(s, n); }, [&](const For& n) { loop(s, n); },
      [&](const While& n) {
        expr(n.condition);
        if (n.condition) expect_type(s, n.condition.dtype(), kBool, "the condition");
        block(n.body);
      },
      [&](const IfThenElse& n) {
        expr(n.condition);
        if (n.condition) expect_type(s, n.condition.dtype(), kBool, "the condition");
        block(n.then_case);
        block(n.else_case);
      },
      [&](const LetStmt& n) {
        expr(n.value);
        if (n.value) expect_type(s, n.value.dtype(), n.var.dtype(), "the value");
        if (!define(vars_, n.var.get())) malformed(s, "a second definition of a variable");
      },
      [&](const Allocate& n) {
        if (n.buffer->scope == MemoryScope::kConstant) malformed(s, "constant memory without data");
        scoped_buffer(s, n.buffer);
      },
      [&](const AllocateConst& n) { constant(s, n); }, [&](const View& n) { view(s, n); },
      [&](const CallKernel& n) {
        if (!f_.is_host) malformed(s, "a call of a kernel outside of a host program");
        for (const Buffer& b : n.inputs) use(b, s);
        for (const Buffer& b : n.outputs) {
          use(b, s);
          if (constants_.contains(b.get())) malformed(s, "constant data as an output");
        }
        for (const Expr& dim : n.dims) expr(dim);
      },
      [&](const Require& n) { require(s, n); },
      [&](const Reserve& n) {
        use(n.buffer, s);
        if (!f_.is_host) malformed(s, "memory reserved outside of a host program");
        if (!sizes_vector(n.buffer)) malformed(s, "memory reserved for a buffer that has its own");
      },
      [&](const Evaluate& n) {
        if (!is_barrier(s)) expr(n.value);
      },
      [](const Seq&) {});
}

void Verifier::parameters() {
  for (const Expr& dim : f_.dims) {
    if (dim.as<Var>() == nullptr || dim.dtype() != kInt64) {
      report(Code::kMalformedGraph, "a formal dimension is not a variable of int64");
    }
    if (!vars_.insert(dim.get()).second) {
      report(Code::kDuplicateName, "a formal dimension stands twice");
    }
  }
  const auto add = [&](const Buffer& b) {
    for (const auto* list : {&b->shape, &b->strides}) {
      for (const Expr& e : *list) {
        expr(e);
        if (e) expect_type(e, e.dtype(), kInt64, "an extent or stride of a parameter");
      }
    }
    for (const std::string& rule : verify_buffer(*b, f_.is_host)) {
      report(Code::kMalformedGraph, "{}: the parameter `{}`", rule, b->name);
    }
    if (!buffers_.insert(b.get()).second) {
      report(Code::kDuplicateName, "buffer `{}` is two parameters", b->name);
    }
  };
  for (const Buffer& b : f_.inputs) add(b);
  for (const Buffer& b : f_.outputs) add(b);
}

Diagnostics Verifier::run() {
  parameters();
  if (f_.body) {
    missing_parts();
    block(f_.body);
    if (found_.empty()) {
      for (const std::string& sentence : verify_teams(f_)) {
        report(Code::kMalformedGraph, "{}", sentence);
      }
    }
  } else {
    report(Code::kMalformedGraph, "the function has no body");
  }
  return std::move(found_);
}

}  // namespace

Result<void> verify(const PrimFunc& f, std::string_view name) {
  Diagnostics found = Verifier(f, name).run();
  if (!found.empty()) return fail(std::move(found));
  return {};
}

}  // namespace tessera::tir
