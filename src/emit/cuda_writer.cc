// SPDX-License-Identifier: Apache-2.0
#include "emit/cuda_writer.h"

#include <algorithm>

#include "emit/banner.h"
#include "emit/vector_access.h"
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

std::string_view operation(ExprKind op) {
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

bool CudaWriter::is_common(const Buffer& b) const {
  return b->scope == MemoryScope::kShared || b->scope == MemoryScope::kGlobal;
}

void CudaWriter::meet() {
  if (!read_.empty() || !written_.empty()) line("{}::sync();", team());
  read_.clear();
  written_.clear();
}

// The threads of a team meet between a write and what reads or writes the same by other threads.
void CudaWriter::meet_before(const Stmt& s) {
  bool needed = false;
  const auto uses = [&](const Buffer& b, bool writes) {
    needed |= written_.contains(b.get()) || (writes && read_.contains(b.get()));
  };
  tir::for_each_node(s, [&](const Stmt& part) {
    if (const auto* store = part.as<tir::Store>()) uses(store->buffer, true);
  });
  tir::for_each_node(s, [&](const Expr& e) {
    if (const auto* load = e.as<tir::Load>()) uses(load->buffer, false);
  });
  if (needed) meet();
}

void CudaWriter::touch(const Stmt& s) {
  tir::for_each_node(s, [&](const Stmt& part) {
    const auto* store = part.as<tir::Store>();
    if (store != nullptr && is_common(store->buffer)) written_.insert(store->buffer.get());
  });
  tir::for_each_node(s, [&](const Expr& e) {
    const auto* load = e.as<tir::Load>();
    if (load != nullptr && is_common(load->buffer)) read_.insert(load->buffer.get());
  });
}

void CudaWriter::nested(const Stmt& s) {
  indent_ += 2;
  stmt(s);
  indent_ -= 2;
}

void CudaWriter::stmt(const Stmt& s) {
  visit(
      s, [&](const tir::Store& n) { store(n); }, [&](const tir::For& n) { loop(n); },
      [&](const tir::While& n) {
        open(fmt::format("while ({}) {{", expr_text(n.condition, scope_)));
        stmt(n.body);
        close();
      },
      [&](const tir::IfThenElse& n) { branch(n); }, [&](const tir::LetStmt& n) { let(n); },
      [&](const tir::Allocate& n) { allocate(n); }, [&](const tir::View& n) { view(n); },
      [&](const tir::AllocateConst& n) {
        TESSERA_UNREACHABLE("constant `{}` inside of a kernel: data are arguments", n.buffer->name);
      },
      [&](const tir::CallKernel& n) { TESSERA_UNREACHABLE("a kernel calls `{}`", n.symbol); },
      [&](const tir::Require& n) { TESSERA_UNREACHABLE("a check on a device: {}", n.sentence); },
      [&](const tir::Reserve& n) {
        TESSERA_UNREACHABLE("a kernel reserves memory for `{}`", n.buffer->name);
      },
      [&](const tir::Evaluate& n) { line("(void)({});", expr_text(n.value, scope_)); },
      [&](const tir::Seq& n) {
        for (const Stmt& part : n.body) {
          const bool defines = part.as<tir::LetStmt>() != nullptr ||
                               part.as<tir::Allocate>() != nullptr ||
                               part.as<tir::View>() != nullptr;
          const bool enclosed = defines && &part != &n.body.back();
          if (enclosed) open("{");
          stmt(part);
          if (enclosed) close();
        }
      });
}

void CudaWriter::store(const tir::Store& n) {
  const std::string text = fmt::format("{} = {};", element_text(n.buffer, n.indices, scope_),
                                       stored_text(n.buffer, n.value, scope_));
  if (!team_ || scope_.scalars.contains(n.buffer.get())) {
    if (team_) {
      const Stmt s = tir::Store::make(n.buffer, n.indices, n.value);
      meet_before(s);
      line("{}", text);
      return touch(s);
    }
    return line("{}", text);
  }
  // One thread speaks for the team.
  const Stmt s = tir::Store::make(n.buffer, n.indices, n.value);
  meet_before(s);
  line("if (rank == 0) {}", text);
  touch(s);
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
  const std::string value = expr_text(n.value, scope_);
  const bool index = n.var.dtype() == kInt64;
  if (index) {
    scope_.bounds.set(n.var, range_of(index_form(n.value, scope_.bounds), scope_.bounds));
  }
  bool plain = index;  // made of loop variables alone
  tir::for_each_node(n.value, [&](const Expr& e) { plain &= e.as<tir::Load>() == nullptr; });
  line("const {} {} = {};", plain ? std::string_view(index_) : value_type(n.var.dtype()),
       scope_.name(n.var), value);
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
  scope_.bounds.set_loop(n.var, n.min, n.extent);
  if (n.loop == ForKind::kThreads) return thread_loop(n);
  if (n.loop == ForKind::kVectorized && !team_) return vectorized_loop(n);
  if (n.loop == ForKind::kUnrolled) line("#pragma unroll");
  plain_loop(n, n.body);
}

void CudaWriter::plain_loop(const tir::For& n, const Stmt& body) {
  const std::string& i = scope_.name(n.var);
  const std::string_view type =
      n.var.dtype() == kInt64 ? std::string_view(index_) : value_type(n.var.dtype());
  const std::string end = expr_text(simplify_indices(n.min + n.extent, scope_.bounds), scope_);
  open(fmt::format("for ({0} {1} = {2}; {1} < {3}; ++{1}) {{", type, i, expr_text(n.min, scope_),
                   end));
  if (team_) meet();  // with what an earlier iteration has left
  stmt(body);
  close();
  if (team_) touch(body);
  scope_.names.forget(n.var.get());
}

void CudaWriter::vectorized_loop(const tir::For& n) {
  const VectorAccess access = vector_access(n, scope_.bounds);
  const bool several = !access.loads.empty() || !access.stores.empty();
  if (several) open("{");
  const auto address = [&](const VectorBuffer& v) {
    return "&" + element_text(v.memory, v.indices, scope_);
  };
  for (const auto* list : {&access.loads, &access.stores}) {
    for (const VectorBuffer& v : *list) kept(v.vector);
  }
  for (const VectorBuffer& v : access.loads) {
    line("{} {}[{}];", element_type(v.vector), scope_.name(v.vector), constant_size(v.vector));
    line("tk::load_vector<{}>({}, {});", constant_size(v.vector), scope_.name(v.vector),
         address(v));
  }
  for (const VectorBuffer& v : access.stores) {
    line("{} {}[{}];", element_type(v.vector), scope_.name(v.vector), constant_size(v.vector));
  }
  line("#pragma unroll");
  plain_loop(n, access.body);
  for (const VectorBuffer& v : access.stores) {
    line("tk::store_vector<{}>({}, {});", constant_size(v.vector), address(v),
         scope_.name(v.vector));
  }
  if (several) close();
}

void CudaWriter::thread_loop(const tir::For& n) {
  TESSERA_CHECK(team_ && tir::is_int(n.min, 0), "a loop over threads outside of a team");
  const Stmt whole = tir::For::make(n.var, n.min, n.extent, n.loop, n.body);
  meet_before(whole);
  std::set<const tir::BufferNode*> own;
  tir::for_each_node(n.body, [&](const Stmt& s) {
    if (const auto* a = s.as<tir::Allocate>()) own.insert(a->buffer.get());
  });
  const auto sums = accumulations(n.body, own, scope_.scalars);
  tir::BufferMap parts;
  if (!sums.empty()) open("{");
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
    const std::string& name = scope_.name(a.target);
    line("{0} = {1}::apply({0}, {2}::reduce<{1}>({3}));", name, operation(a.op), team(),
         scope_.name(parts[a.target.get()]));
  }
  if (!sums.empty()) close();
  touch(whole);
}

// The iterations of this thread.
void CudaWriter::thread_body(const tir::For& n, const Stmt& body) {
  const std::string& i = scope_.name(n.var);
  const std::int64_t* extent = tir::as_int(n.extent);
  const std::int64_t trips = extent == nullptr ? -1 : tir::thread_trips(*extent, team_size_);
  const bool counted = trips >= 0 && trips <= kMaxUnrolledTrips;
  const Expr trip = made_vars_.emplace_back(tir::make_var("trip"));
  team_ = false;
  if (counted) {
    scope_.bounds.set_loop(trip, 0, Expr(trips));
    const Stmt mine = ToShares(shares_, n.var, trips == 1 ? Expr(0) : trip).mutate(body);
    if (trips == 1) {
      open("{");
      line("[[maybe_unused]] const {} {} = rank;", index_, i);
    } else {
      line("#pragma unroll");
      open(fmt::format("for (int32_t {0} = 0; {0} < {1}; ++{0}) {{", scope_.name(trip), trips));
      line("[[maybe_unused]] const {} {} = {} * {} + rank;", index_, i, scope_.name(trip),
           team_size_);
    }
    const bool guarded = *extent % team_size_ != 0;
    if (guarded) open(fmt::format("if ({} < {}) {{", i, *extent));
    stmt(mine);
    if (guarded) close();
    close();
    scope_.names.forget(trip.get());
  } else {
    open(fmt::format("for ({0} {1} = rank; {1} < {2}; {1} += {3}) {{", index_, i,
                     expr_text(n.extent, scope_), team_size_));
    stmt(ToShares(shares_, n.var, Expr()).mutate(body));
    close();
  }
  team_ = true;
  scope_.names.forget(n.var.get());
}

}  // namespace tessera::emit
