// SPDX-License-Identifier: Apache-2.0
#include "emit/kernel_writer.h"

#include "emit/banner.h"
#include "emit/byte_map.h"
#include "emit/condition_text.h"
#include "emit/kernel_simd.h"
#include "emit/outer_indices.h"
#include "emit/product_loop.h"
#include "tir/conditions.h"
#include "tir/verify_buffer.h"
#include "tir/walk.h"

namespace tessera::emit {
namespace {

using tir::Buffer;
using tir::Expr;
using tir::ForKind;
using tir::Stmt;

constexpr std::int64_t kMaxPlainArray = 1024;  // elements
constexpr std::int64_t kMostUnrolled = 8;      // steps of a loop that compilers make copies of
constexpr std::int64_t kVectorBytes = 64;      // of the longest vectors

Lanes lanes_of(const tir::For& loop) {
  if (!is_int(loop.min, 0)) return {};
  std::int64_t narrowest = 8;
  const auto see = [&](const Buffer& b) {
    narrowest = std::min<std::int64_t>(narrowest, b->dtype.size_bytes());
  };
  for_each_node(loop.body, [&](const Expr& e) {
    if (const auto* load = e.as<tir::Load>()) see(load->buffer);
  });
  for_each_node(loop.body, [&](const Stmt& s) {
    if (const auto* store = s.as<tir::Store>()) see(store->buffer);
  });
  return {loop.var, kVectorBytes / narrowest};
}

// Does a loop walk along the array, as along a packed operand and not along accumulators?
bool is_walked(const tir::Allocate& n) {
  std::set<const tir::ExprNode*> steps;
  for_each_node(n.body, [&](const Stmt& s) {
    const auto* loop = s.as<tir::For>();
    if (loop == nullptr || loop->loop != ForKind::kSerial) return;
    const std::int64_t* size = tir::as_int(loop->extent);
    if (size == nullptr || *size > kMostUnrolled) steps.insert(loop->var.get());
  });
  bool found = false;
  const auto see = [&](const Buffer& b, const std::vector<Expr>& indices) {
    if (b != n.buffer) return;
    for (const Expr& e : indices) {
      for_each_node(e, [&](const Expr& part) { found |= steps.contains(part.get()); });
    }
  };
  for_each_node(n.body, [&](const Expr& e) {
    if (const auto* load = e.as<tir::Load>()) see(load->buffer, load->indices);
  });
  for_each_node(n.body, [&](const Stmt& s) {
    if (const auto* store = s.as<tir::Store>()) see(store->buffer, store->indices);
  });
  return found;
}

}  // namespace

void KernelWriter::nested(const Stmt& s, Position position) {
  indent_ += 2;
  stmt(s, position);
  indent_ -= 2;
}

void KernelWriter::stmt(const Stmt& s, Position position) {
  visit(
      s, [&](const tir::Store& n) { store(n); },
      [&](const tir::For& n) {
        if (n.loop == ForKind::kParallel && !parallel_) return parallel_loop(n, position);
        loop(n);
      },
      [&](const tir::While& n) {
        open(source("while ({}) {{", expr_text(n.condition, scope_)));
        stmt(n.body, Position::kInside);
        close();
      },
      [&](const tir::IfThenElse& n) { branch(n); },
      [&](const tir::LetStmt& n) { let(n, position); },
      [&](const tir::Allocate& n) { allocate(n, position); },
      [&](const tir::View& n) { view(n, position); },
      [&](const tir::AllocateConst& n) {
        TESSERA_UNREACHABLE("constant `{}` inside of a kernel: data are arguments", n.buffer->name);
      },
      [&](const tir::CallKernel& n) { TESSERA_UNREACHABLE("a kernel calls `{}`", n.symbol); },
      [&](const tir::Require& n) { require(n); },
      [&](const tir::Reserve& n) { TESSERA_UNREACHABLE("a kernel reserves `{}`", n.buffer->name); },
      [&](const tir::Evaluate& n) { line("(void)({});", expr_text(n.value, scope_)); },
      [&](const tir::Seq& n) {
        for (std::size_t i = 0; i < n.body.size(); ++i) {
          const Stmt& part = n.body[i];
          if (i + 1 < n.body.size() && zeroed_tile_product(part, n.body[i + 1])) {
            ++i;
            continue;
          }
          const bool last = &part == &n.body.back();
          const bool defines = part.as<tir::LetStmt>() != nullptr ||
                               part.as<tir::Allocate>() != nullptr ||
                               part.as<tir::View>() != nullptr;
          // The scope of a definition ends before the block does.
          if (defines && !last) open(Literal("{"));
          stmt(part, last ? position : Position::kInside);
          if (defines && !last) close();
        }
      });
}

void KernelWriter::require(const tir::Require& n) {
  Source values;
  for (const Expr& e : n.values) {
    values += source(", static_cast<long long>({})", expr_text(e, scope_));
  }
  calls_runtime_ = true;
  line("if (!({})) {{", expr_text(n.condition, scope_));
  line("  return {}(call, {}{});", failing_call(f_), condition_format(n), values);
  line("}}");
}

// What the guards in the statements that `write` appends are compared with stands before them.
void KernelWriter::with_guard_zero(const std::function<void()>& write) {
  const bool outer = std::exchange(scope_.needs_guard_zero, false);
  Source before = std::exchange(out_, {});
  write();
  const Source statements = std::exchange(out_, std::move(before));
  if (scope_.needs_guard_zero) line("const int64_t {} = tk::hidden_zero();", scope_.guard_zero);
  out_ += statements;
  scope_.needs_guard_zero = outer;
}

void KernelWriter::store(const tir::Store& n) {
  const Source place = element_text(n.buffer, n.indices, scope_);
  // `y += x` reads better than `y = y + x`.
  const auto update = [&](const Expr& a, const Expr& b, Literal op) {
    const bool wide = n.buffer->dtype.bits >= 32;
    const bool is_update = wide && a.as<tir::Load>() != nullptr && expr_text(a, scope_) == place;
    if (is_update) line("{} {}= {};", place, op, expr_text(b, scope_));
    return is_update;
  };
  const auto* sum = n.value.as<tir::Add>();
  const auto* product = n.value.as<tir::Mul>();
  if (sum != nullptr && update(sum->a, sum->b, "+")) return;
  if (product != nullptr && update(product->a, product->b, "*")) return;
  line("{} = {};", place, stored_text(n.buffer, n.value, scope_));
}

void KernelWriter::branch(const tir::IfThenElse& n) {
  line("if ({}) {{", guard_text(n.condition, scope_));
  nested(n.then_case);
  if (n.else_case) {
    line("}} else {{");
    nested(n.else_case);
  }
  line("}}");
}

void KernelWriter::let(const tir::LetStmt& n, Position position) {
  // What is true or false may be a guard later.
  const Source value =
      n.var.dtype().is_bool() ? guard_text(n.value, scope_) : expr_text(n.value, scope_);
  if (n.var.dtype() == kInt64) {
    scope_.bounds.set(n.var, range_of(index_form(n.value, scope_.bounds), scope_.bounds));
  }
  line("const {} {} = {};", value_type(n.var.dtype()), scope_.name(n.var), value);
  stmt(n.body, position);
}

void KernelWriter::allocate(const tir::Allocate& n, Position position) {
  const std::int64_t size = constant_size(n.buffer), bytes = tir::constant_bytes(n.buffer);
  TESSERA_CHECK(bytes >= 0 && bytes <= tir::kMaxStackBytes, "`{}` is no array that fits the stack",
                n.buffer->name);
  if (scope_.scalars.contains(n.buffer.get())) return scalar(n, position);
  const Source& name = scope_.name(n.buffer);
  const Literal type = element_type(n.buffer);
  // g++ 12 keeps accumulators in registers beside a pointer, but not beside an array that is large
  // or walked along.
  const bool behind_pointer = size > kMaxPlainArray || is_walked(n);
  const Source array = behind_pointer ? scope_.fresh(name.text() + "_array") : name;
  line("alignas({}) {} {}[{}];  // {}", n.buffer->align_bytes, type, array,
       std::max<std::int64_t>(size, 1), shape_text(n.buffer, scope_));
  if (behind_pointer) line("{}* const __restrict {} = {};", type, name, array);
  stmt(n.body, position);
}

// A plain variable, together with its first value where that stands next to it.
void KernelWriter::scalar(const tir::Allocate& n, Position position) {
  const Source& name = scope_.name(n.buffer);
  const auto* body = n.body.as<tir::Seq>();
  const auto* first =
      body != nullptr && !body->body.empty() ? body->body[0].as<tir::Store>() : nullptr;
  if (first == nullptr || !(first->buffer == n.buffer)) {
    line("{} {};", element_type(n.buffer), name);
    return stmt(n.body, position);
  }
  line("{} {} = {};", element_type(n.buffer), name, stored_text(n.buffer, first->value, scope_));
  stmt(tir::Seq::make(std::vector<Stmt>(body->body.begin() + 1, body->body.end())), position);
}

void KernelWriter::view(const tir::View& n, Position position) {
  if (used_.contains(n.buffer.get())) {
    line("{} {} = {};  // {}", pointer_type(n.buffer), scope_.name(n.buffer), scope_.name(n.source),
         shape_text(n.buffer, scope_));
  }
  stmt(n.body, position);
}

void KernelWriter::loop(const tir::For& n) {
  scope_.bounds.set_loop(n.var, n.min, n.extent);
  if (n.loop == ForKind::kVectorized && !simd_) return vectorized_loop(n);
  if (const auto product = as_tile_product(n, scope_.bounds)) return tile_product(*product, "load");
  const std::int64_t* times = tir::as_int(n.extent);
  if (n.loop == ForKind::kUnrolled && times != nullptr && *times > 1 && *times < 65535) {
    line("TK_UNROLL({})", *times);
  }
  plain_loop(n, n.body);
}

void KernelWriter::plain_loop(const tir::For& n, const Stmt& body) {
  const Source& i = scope_.name(n.var);
  const Literal type = value_type(n.var.dtype());
  Source end = expr_text(simplify_indices(n.min + n.extent, scope_.bounds), scope_);
  const bool hoisted = reads_memory(n.extent) || reads_memory(n.min);
  if (hoisted) {  // the body may change what the limits read
    const Source limit = scope_.fresh(i.text() + "_end");
    open(Literal("{"));
    line("const {} {} = {};", type, limit, end);
    end = limit;
  }
  line("for ({0} {1} = {2}; {1} < {3}; ++{1}) {{", type, i, expr_text(n.min, scope_), end);
  nested(body);
  line("}}");
  if (hoisted) close();
  scope_.names.forget(n.var.get());
}

// Pointers to the first elements, where one instruction does for some lanes.
bool KernelWriter::product_loop(const tir::For& n) {
  const auto products = as_product_loop(n, scope_.bounds);
  if (!products) return false;
  const auto first = [&](const LanePlace& place) {
    return element_text(place.buffer, place.indices, scope_);
  };
  adds_products_ = true;
  line("tk::add_products<{}>(&{}, &{}, &{});", products->lanes, first(products->acc),
       first(products->a), first(products->b));
  return true;
}

bool KernelWriter::byte_map(const tir::For& n) {
  const auto map = as_byte_map(n, scope_.bounds);
  if (!map) return false;
  const auto first = [&](const LanePlace& place) {
    return element_text(place.buffer, place.indices, scope_);
  };
  maps_bytes_ = true;
  line("tk::map_bytes(&{}, &{}, &{}, {});", first(map->y), first(map->x), first(map->table),
       expr_text(simplify_indices(map->lanes, scope_.bounds), scope_));
  return true;
}

// The unit begins with zeros by itself, where they are written in front of it.
bool KernelWriter::zeroed_tile_product(const Stmt& zero, const Stmt& next) {
  const auto* loop = next.as<tir::For>();
  const auto product = loop != nullptr ? as_tile_product(*loop, scope_.bounds) : std::nullopt;
  if (!product || !is_zero_of(zero, *product)) return false;
  tile_product(*product, "zero");
  return true;
}

// `begin`: with which sums.
void KernelWriter::tile_product(const TileProduct& p, Literal begin) {
  const auto number = [&](const Expr& e) {
    return expr_text(simplify_indices(e, scope_.bounds), scope_);
  };
  const auto first = [&](const TileProduct::Place& place) {
    return element_text(place.buffer, place.indices, scope_);
  };
  multiplies_tiles_ = true;
  open(Literal("{"));
  const Source tiles = scope_.fresh("tiles");
  line("tk::TileProduct<{}, {}, {}> {}(&{}, {}, {});", element_type(p.a.buffer),
       element_type(p.b.buffer), element_type(p.sums.buffer), tiles, first(p.sums), number(p.rows),
       number(p.columns));
  line("{}.{}();", tiles, begin);
  for (const tir::For* l : p.outer) {
    scope_.bounds.set_loop(l->var, l->min, l->extent);
    open(source("for (int64_t {0} = {1}; {0} < {2}; ++{0}) {{", scope_.name(l->var), number(l->min),
                number(l->min + l->extent)));
  }
  line("{}.add(&{}, {}, &{}, {}, {});", tiles, first(p.a), p.a_stride, first(p.b), p.b_stride,
       number(p.terms));
  for (const tir::For* l : p.outer) {
    close();
    scope_.names.forget(l->var.get());
  }
  line("{}.store();", tiles);
  close();
}

void KernelWriter::vectorized_loop(const tir::For& n) {
  if (product_loop(n) || byte_map(n)) return;
  if (const auto later = with_indices_in_front(n)) return stmt(*later, Position::kInside);
  const SimdLoop plan = plan_simd(n);
  if (!plan.allowed) return plain_loop(n, n.body);
  const bool adds = !plan.variables.empty();
  if (adds) open(Literal("{"));
  for (std::size_t i = 0; i < plan.variables.size(); ++i) {
    const Buffer& b = plan.variables[i];
    scope_.scalars.insert(b.get());
    line("{} {} = {};", element_type(b), scope_.name(b),
         expr_text(plan.before[i].as<tir::Store>()->value, scope_));
  }
  std::vector<Source> names;
  bool variables = true;
  for (const Reduction& r : plan.reductions) {
    variables &= scope_.scalars.contains(r.accumulator.get());
    names.push_back(scope_.name(r.accumulator));
  }
  if (variables) line("{}", simd_pragma(plan, names));
  simd_ = true;
  scope_.lanes = lanes_of(n);
  plain_loop(n, plan.body);
  scope_.lanes = {};
  simd_ = false;
  for (const Stmt& s : plan.after) stmt(s, Position::kInside);
  for (const Buffer& b : plan.variables) scope_.names.forget(b.get());
  if (adds) close();
}

void KernelWriter::parallel_loop(const tir::For& n, Position position) {
  scope_.bounds.set_loop(n.var, n.min, n.extent);
  calls_runtime_ = true;
  const Captured captured = captured_by(n);
  const Source type = scope_.fresh(symbol_.text() + "_" + scope_.name(n.var).text());
  Source values;
  for (const Expr& v : captured.vars)
    values += (values.empty() ? Literal("") : ", ") + scope_.name(v);
  for (const Buffer& b : captured.buffers)
    values += (values.empty() ? Literal("") : ", ") + scope_.name(b);
  if (tir::has_condition(n.body)) values += values.empty() ? Literal("call") : ", call";
  parallel_body(n, type);
  const bool last = position == Position::kLast;
  if (!last) open(Literal("{"));
  line("{} loop{{{}}};", type, values);
  const Source call =
      source("tessera_parallel_for(call, {}, {}::run, &loop)", expr_text(n.extent, scope_), type);
  if (last) {
    returned_ = true;
    return line("return {};", call);
  }
  line("if (const int32_t status = {}; status != 0) return status;", call);
  close();
}

// The struct before the kernel: what the loop reads, and a function that runs a range of it.
void KernelWriter::parallel_body(const tir::For& n, const Source& type) {
  const Captured captured = captured_by(n);
  Source outer = std::exchange(out_, {});
  const std::size_t outer_indent = std::exchange(indent_, 0);
  parallel_ = true;
  open(source("struct {} {{", type));
  for (const Expr& v : captured.vars) line("{} {};", value_type(v.dtype()), scope_.name(v));
  for (const Buffer& b : captured.buffers) line("{} {};", pointer_type(b), scope_.name(b));
  const bool can_fail = tir::has_condition(n.body);
  if (can_fail) line("const tessera_call* call;");
  empty_line();
  open(Literal("static int32_t run(void* closure, int64_t begin, int64_t end, int32_t) {"));
  line("const auto& self = *static_cast<const {}*>(closure);", type);
  for (const Expr& v : captured.vars) {
    line("const {0} {1} = self.{1};", value_type(v.dtype()), scope_.name(v));
  }
  for (const Buffer& b : captured.buffers) {
    line("{0}{1} {2} = self.{2};  // {3}", pointer_type(b), restrict_word(b), scope_.name(b),
         shape_text(b, scope_));
  }
  if (can_fail) line("const tessera_call* const call = self.call;");
  const Source& i = scope_.name(n.var);
  const Source min = is_int(n.min, 0) ? Source() : expr_text(n.min, scope_) + " + ";
  with_guard_zero([&] {
    open(source("for (int64_t {0} = {1}begin; {0} < {1}end; ++{0}) {{", i, min));
    stmt(n.body, Position::kInside);
    close();
  });
  scope_.names.forget(n.var.get());
  line("return 0;");
  close();
  close("};");
  parallel_ = false;
  helpers_ += "\n" + out_;
  out_ = std::move(outer);
  indent_ = outer_indent;
}

}  // namespace tessera::emit
