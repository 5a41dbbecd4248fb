// SPDX-License-Identifier: Apache-2.0
#include "emit/cuda_writer.h"

#include <algorithm>

#include "emit/banner.h"
#include "emit/vector_access.h"
#include "tir/barrier.h"
#include "tir/conditions.h"
#include "tir/device_loops.h"
#include "tir/tensor_expr.h"
#include "tir/walk.h"

namespace tessera::emit {
namespace {

using tir::Buffer;
using tir::Expr;
using tir::ExprKind;
using tir::ForKind;
using tir::MemoryScope;
using tir::Stmt;

constexpr std::int64_t kMaxUnrolledTrips = 64;

// Does where elements lie depend on others, as of rows that are taken by their numbers?
bool is_at_data(const Expr& element) {
  bool found = false;
  tir::for_each_node(element, [&](const Expr& e) {
    const auto* load = e.as<tir::Load>();
    if (load == nullptr) return;
    for (const Expr& index : load->indices) found |= tir::reads_memory(index);
  });
  return found;
}

// `acc[()] = acc[()] op value` inside of a loop over threads.
struct Accumulation {
  Buffer target;
  ExprKind op;
};

std::vector<Accumulation> accumulations(const Stmt& body,
                                        const std::set<const tir::BufferNode*>& own,
                                        const std::set<const tir::BufferNode*>& scalars) {
  std::vector<Accumulation> out;
  tir::for_each_node(body, [&](const Stmt& s) {
    const auto* store = s.as<tir::Store>();
    if (store == nullptr || !scalars.contains(store->buffer.get())) return;
    if (own.contains(store->buffer.get())) return;
    for (const Accumulation& a : out) {
      if (a.target == store->buffer) return;
    }
    // Parts of `total - x` begin at 0, and are added.
    const ExprKind kind = store->value.kind();
    out.push_back({store->buffer, kind == ExprKind::Sub ? ExprKind::Add : kind});
  });
  return out;
}

Literal operation(ExprKind op) {
  switch (op) {
    case ExprKind::Add:
      return "tk::add";
    case ExprKind::Mul:
      return "tk::multiply";
    case ExprKind::Min:
      return "tk::least";
    case ExprKind::Max:
      return "tk::greatest";
    case ExprKind::Or:
      return "tk::any";
    case ExprKind::And:
      return "tk::all";
    default:
      TESSERA_UNREACHABLE("a team cannot reduce by kind {}", static_cast<int>(op));
  }
}

Expr identity(ExprKind op, DType dtype) {
  switch (op) {
    case ExprKind::Add:
      return tir::reduce_identity(tir::ReduceOp::kSum, dtype);
    case ExprKind::Mul:
      return tir::reduce_identity(tir::ReduceOp::kProd, dtype);
    case ExprKind::Min:
      return tir::reduce_identity(tir::ReduceOp::kMin, dtype);
    case ExprKind::Max:
      return tir::reduce_identity(tir::ReduceOp::kMax, dtype);
    default:
      return tir::bool_imm(op == ExprKind::And);
  }
}

// Replaces buffers, and for those that threads hold parts of the first index too.
class ToShares : public tir::Mutator {
 public:
  ToShares(const std::map<const tir::BufferNode*, Buffer>& shares, Expr var, Expr trip)
      : shares_(shares), var_(std::move(var)), trip_(std::move(trip)) {}
  using Mutator::mutate;
  Expr mutate(const Expr& e) override {
    const auto* l = e.as<tir::Load>();
    if (l == nullptr || !shares_.contains(l->buffer.get())) return Mutator::mutate(e);
    return tir::load(shares_.at(l->buffer.get()), part(l->buffer, l->indices));
  }
  Stmt mutate(const Stmt& s) override {
    const auto* t = s.as<tir::Store>();
    if (t == nullptr || !shares_.contains(t->buffer.get())) return Mutator::mutate(s);
    return tir::Store::make(shares_.at(t->buffer.get()), part(t->buffer, t->indices),
                            mutate(t->value));
  }

 private:
  std::vector<Expr> part(const Buffer& b, std::vector<Expr> indices) {
    TESSERA_CHECK(!indices.empty() && indices[0].same_as(var_),
                  "`{}` is not held by the threads that use it", b->name);
    indices[0] = trip_;
    for (std::size_t i = 1; i < indices.size(); ++i) indices[i] = mutate(indices[i]);
    return indices;
  }
  const std::map<const tir::BufferNode*, Buffer>& shares_;
  Expr var_, trip_;
};

}  // namespace

void CudaWriter::nested(const Stmt& s) {
  indent_ += 2;
  stmt(s);
  indent_ -= 2;
}

void CudaWriter::stmt(const Stmt& s) {
  visit(
      s, [&](const tir::Store& n) { store(n); }, [&](const tir::For& n) { loop(n); },
      [&](const tir::While& n) {
        open(source("while ({}) {{", expr_text(n.condition, scope_)));
        stmt(n.body);
        close();
      },
      [&](const tir::IfThenElse& n) { branch(n); }, [&](const tir::LetStmt& n) { let(n); },
      [&](const tir::Allocate& n) { allocate(n); }, [&](const tir::View& n) { view(n); },
      [&](const tir::AllocateConst& n) {
        TESSERA_UNREACHABLE("constant `{}` inside of a kernel: data are arguments", n.buffer->name);
      },
      [&](const tir::CallKernel& n) { TESSERA_UNREACHABLE("a kernel calls `{}`", n.symbol); },
      [&](const tir::Require& n) { require(n); },
      [&](const tir::Reserve& n) {
        TESSERA_UNREACHABLE("a kernel reserves memory for `{}`", n.buffer->name);
      },
      [&](const tir::Evaluate& n) {
        if (tir::is_barrier(s)) return line("{}::sync();", team());
        line("(void)({});", expr_text(n.value, scope_));
      },
      [&](const tir::Seq& n) {
        for (const Stmt& part : n.body) {
          const bool defines = part.as<tir::LetStmt>() != nullptr ||
                               part.as<tir::Allocate>() != nullptr ||
                               part.as<tir::View>() != nullptr;
          const bool enclosed = defines && &part != &n.body.back();
          if (enclosed) open(Literal("{"));
          stmt(part);
          if (enclosed) close();
        }
      });
}

// A thread cannot end the launch: it says what it has found, and goes on.
void CudaWriter::require(const tir::Require& n) {
  TESSERA_CHECK(!team_ && reports_.contains(&n), "a condition that the launch does not know: {}",
                n.sentence);
  TESSERA_CHECK(tir::checks_indices(f_), "on a device indices alone are checked: {}", n.sentence);
  Source values;
  for (const Expr& e : n.values) values += Literal(", ") + expr_text(e, scope_);
  line("if (!({})) tk::fail({}{});", expr_text(n.condition, scope_), reports_.at(&n), values);
}

void CudaWriter::store(const tir::Store& n) {
  // To memory that a team has in common, one thread speaks for it.
  const bool common = team_ && !scope_.scalars.contains(n.buffer.get());
  line("{}{} = {};", common ? Literal("if (rank == 0) ") : "",
       element_text(n.buffer, n.indices, scope_), stored_text(n.buffer, n.value, scope_));
}

void CudaWriter::branch(const tir::IfThenElse& n) {
  line("if ({}) {{", expr_text(n.condition, scope_));
  nested(n.then_case);
  if (n.else_case) {
    line("}} else {{");
    nested(n.else_case);
  }
  line("}}");
}

void CudaWriter::let(const tir::LetStmt& n) {
  const Source value = expr_text(n.value, scope_);
  const bool index = n.var.dtype() == kInt64;
  if (index) {
    scope_.bounds.set(n.var, range_of(index_form(n.value, scope_.bounds), scope_.bounds));
  }
  bool plain = index;  // made of loop variables alone
  tir::for_each_node(n.value, [&](const Expr& e) { plain &= e.as<tir::Load>() == nullptr; });
  line("const {} {} = {};", plain ? index_ : Source(value_type(n.var.dtype())), scope_.name(n.var),
       value);
  stmt(n.body);
}

void CudaWriter::allocate(const tir::Allocate& n) {
  const Buffer& b = n.buffer;
  const std::int64_t size = constant_size(b);
  TESSERA_CHECK(size >= 0, "`{}` has no fixed size", b->name);
  if (scope_.scalars.contains(b.get())) {
    line("{} {};", element_type(b), scope_.name(b));
  } else if (b->scope == MemoryScope::kShared) {
    line("__shared__ alignas(16) {} {}[{}];  // {}", element_type(b), scope_.name(b), size,
         shape_text(b, scope_));
  } else if (team_) {
    const std::int64_t extent = *tir::as_int(b->shape[0]);
    std::vector<Expr> shape = b->shape;
    shape[0] = tir::thread_trips(extent, team_size_);
    shares_[b.get()] = kept(tir::make_buffer(b->name, b->dtype, shape, MemoryScope::kStack));
    line("{} {}[{}];  // each thread's part of {}", element_type(b), scope_.name(shares_[b.get()]),
         constant_size(shares_[b.get()]), shape_text(b, scope_));
  } else {
    line("{} {}[{}];  // {}", element_type(b), scope_.name(b), std::max<std::int64_t>(size, 1),
         shape_text(b, scope_));
  }
  stmt(n.body);
}

void CudaWriter::view(const tir::View& n) {
  line("auto* const {} = {};  // {}", scope_.name(n.buffer), scope_.name(n.source),
       shape_text(n.buffer, scope_));
  stmt(n.body);
}

void CudaWriter::loop(const tir::For& n) {
  if (few_rows_.is_at(n)) return few_rows_sums();
  if (block_product_.is_at(n)) return block_product();
  if (window_product_.is_at(n)) return window_product();
  scope_.bounds.set_loop(n.var, n.min, n.extent);
  if (n.loop == ForKind::kThreads) return thread_loop(n);
  if (n.loop == ForKind::kVectorized && !team_) return vectorized_loop(n);
  if (n.loop == ForKind::kUnrolled) line("#pragma unroll");
  plain_loop(n, n.body);
}

void CudaWriter::plain_loop(const tir::For& n, const Stmt& body) {
  const Source& i = scope_.name(n.var);
  const Source type = n.var.dtype() == kInt64 ? index_ : Source(value_type(n.var.dtype()));
  const Source end = expr_text(simplify_indices(n.min + n.extent, scope_.bounds), scope_);
  open(source("for ({0} {1} = {2}; {1} < {3}; ++{1}) {{", type, i, expr_text(n.min, scope_), end));
  stmt(body);
  close();
  scope_.names.forget(n.var.get());
}

// Of a load, or of the one among several that is chosen.
Source CudaWriter::address(const Expr& element) {
  if (const auto* choice = element.as<tir::Select>()) {
    return source("({} ? {} : {})", guard_text(choice->condition, scope_), address(choice->yes),
                  address(choice->no));
  }
  const auto& load = *element.as<tir::Load>();
  return Literal("&") + element_text(load.buffer, load.indices, scope_);
}

void CudaWriter::vectorized_loop(const tir::For& n) {
  const VectorAccess access = vector_access(n, scope_.bounds);
  const bool several = !access.loads.empty() || !access.stores.empty();
  if (several) open(Literal("{"));
  for (const VectorLoad& v : access.loads) kept(v.vector);
  for (const VectorStore& v : access.stores) kept(v.vector);
  for (const VectorLoad& v : access.loads) {
    line("{} {}[{}];", element_type(v.vector), scope_.name(v.vector), constant_size(v.vector));
    if (v.condition) {
      const Source condition = guard_text(v.condition, scope_);
      // Where the place is found in memory, that is not read in vain either.
      const Source from = is_at_data(v.first)
                              ? source("{} ? {} : nullptr", condition, address(v.first))
                              : address(v.first);
      line("tk::load_vector_if<{}>({}, {}, {});", constant_size(v.vector), condition,
           scope_.name(v.vector), from);
    } else {
      line("tk::load_vector<{}>({}, {});", constant_size(v.vector), scope_.name(v.vector),
           address(v.first));
    }
  }
  for (const VectorStore& v : access.stores) {
    line("{} {}[{}];", element_type(v.vector), scope_.name(v.vector), constant_size(v.vector));
  }
  line("#pragma unroll");
  plain_loop(n, access.body);
  for (const VectorStore& v : access.stores) {
    line("tk::store_vector<{}>({}, {});", constant_size(v.vector),
         address(tir::load(v.memory, v.indices)), scope_.name(v.vector));
  }
  if (several) close();
}

void CudaWriter::thread_loop(const tir::For& n) {
  TESSERA_CHECK(team_ && tir::is_int(n.min, 0), "a loop over threads outside of a team");
  std::set<const tir::BufferNode*> own;
  tir::for_each_node(n.body, [&](const Stmt& s) {
    if (const auto* a = s.as<tir::Allocate>()) own.insert(a->buffer.get());
  });
  const auto sums = accumulations(n.body, own, scope_.scalars);
  tir::BufferMap parts;
  if (!sums.empty()) open(Literal("{"));
  for (const Accumulation& a : sums) {
    const Buffer part =
        kept(tir::make_buffer(a.target->name + "_part", a.target->dtype, {}, MemoryScope::kStack));
    scope_.scalars.insert(part.get());
    parts[a.target.get()] = part;
    line("{} {} = {};", element_type(part), scope_.name(part),
         expr_text(identity(a.op, a.target->dtype), scope_));
  }
  thread_body(n, tir::substitute(n.body, {}, parts));
  for (const Accumulation& a : sums) {
    const Source& name = scope_.name(a.target);
    line("{0} = {1}::apply({0}, {2}::reduce<{1}>({3}));", name, operation(a.op), team(),
         scope_.name(parts[a.target.get()]));
  }
  if (!sums.empty()) close();
}

// The iterations of this thread.
void CudaWriter::thread_body(const tir::For& n, const Stmt& body) {
  const Source& i = scope_.name(n.var);
  const std::int64_t* extent = tir::as_int(n.extent);
  const std::int64_t trips = extent == nullptr ? -1 : tir::thread_trips(*extent, team_size_);
  const bool counted = trips >= 0 && trips <= kMaxUnrolledTrips;
  const Expr trip = made_vars_.emplace_back(tir::make_var("trip"));
  team_ = false;
  if (counted) {
    scope_.bounds.set_loop(trip, 0, Expr(trips));
    const Stmt mine = ToShares(shares_, n.var, trips == 1 ? Expr(0) : trip).mutate(body);
    if (trips == 1) {
      open(Literal("{"));
      line("[[maybe_unused]] const {} {} = rank;", index_, i);
    } else {
      line("#pragma unroll");
      open(source("for (int32_t {0} = 0; {0} < {1}; ++{0}) {{", scope_.name(trip), trips));
      line("[[maybe_unused]] const {} {} = {} * {} + rank;", index_, i, scope_.name(trip),
           team_size_);
    }
    const bool guarded = *extent % team_size_ != 0;
    if (guarded) open(source("if ({} < {}) {{", i, *extent));
    stmt(mine);
    if (guarded) close();
    close();
    scope_.names.forget(trip.get());
  } else {
    open(source("for ({0} {1} = rank; {1} < {2}; {1} += {3}) {{", index_, i,
                expr_text(n.extent, scope_), team_size_));
    stmt(ToShares(shares_, n.var, Expr()).mutate(body));
    close();
  }
  team_ = true;
  scope_.names.forget(n.var.get());
}

}  // namespace tessera::emit
