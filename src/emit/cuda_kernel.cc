// SPDX-License-Identifier: Apache-2.0
#include "emit/cuda_kernel.h"

#include <algorithm>

#include "emit/banner.h"
#include "emit/captured.h"
#include "emit/condition_text.h"
#include "emit/cuda_writer.h"
#include "plan/in_place.h"
#include "tir/conditions.h"
#include "tir/device_loops.h"
#include "tir/walk.h"

namespace tessera::emit {

using tir::Buffer;
using tir::Expr;
using tir::ForKind;
using tir::Stmt;

namespace {

bool rounds_to_whole_numbers(const Stmt& body) {
  bool found = false;
  tir::for_each_node(body, [&](const Expr& e) {
    if (const auto* call = e.as<tir::Call>()) {
      found |= call->name == "rint" || call->name == "floor" || call->name == "ceil" ||
               call->name == "trunc";
    } else if (const auto* cast = e.as<tir::Cast>()) {
      found |= cast->value.dtype().is_float() && !cast->dtype.is_float();
    } else {
      found |= (e.kind() == tir::ExprKind::FloorDiv || e.kind() == tir::ExprKind::FloorMod) &&
               e.dtype().is_float();
    }
  });
  return found;
}

}  // namespace

CudaWriter::CudaWriter(const tir::PrimFunc& f, std::string_view symbol)
    : f_(f), symbol_(c_name(symbol)) {
  for (const std::string_view word :
       {"blockIdx", "threadIdx", "rank", "buffers", "dims", "call", "status"}) {
    scope_.names.fresh(word);
  }
  scope_.names.fresh(symbol);
  for (const Buffer& b : f.inputs) scope_.name(b);
  for (const Buffer& b : f.outputs) scope_.name(b);
  for (const Expr& dim : f.dims) {
    scope_.name(dim);
    scope_.bounds.set_size(dim);
  }
  find_scalars();
}

void CudaWriter::find_scalars() {
  std::set<const tir::BufferNode*> aliased;
  for_each_node(f_.body, [&](const Stmt& s) {
    if (const auto* v = s.as<tir::View>()) aliased.insert({v->buffer.get(), v->source.get()});
  });
  for_each_node(f_.body, [&](const Stmt& s) {
    const auto* a = s.as<tir::Allocate>();
    if (a == nullptr || a->buffer->scope != tir::MemoryScope::kStack) return;
    const bool one = tir::constant_size(a->buffer) == 1 && !aliased.contains(a->buffer.get());
    if (one) scope_.scalars.insert(a->buffer.get());
  });
}

// Loop variables have 32 bits where every element's number has, and none is used as a value.
Source CudaWriter::index_type(const tir::For& n) const {
  bool small = true;
  const auto fits = [&](const Expr& count) {
    const std::int64_t* value = tir::as_int(count);
    small &= value != nullptr && *value <= INT32_MAX;
  };
  for (const Buffer& b : captured_by(n).buffers) {
    const std::int64_t size = tir::constant_size(b);
    small &= size >= 0 && size <= INT32_MAX;
  }
  fits(n.extent);
  const auto in_value = [&](auto& self, const Expr& e) -> void {
    if (e.as<tir::Var>() != nullptr && e.dtype() == kInt64) small = false;
    if (e.as<tir::Load>() != nullptr) return;
    if (const auto* choice = e.as<tir::Select>()) {
      self(self, choice->yes);
      return self(self, choice->no);
    }
    tir::for_each_child(e, [&](const Expr& child) { self(self, child); });
  };
  tir::for_each_node(n.body, [&](const Stmt& s) {
    if (const auto* loop = s.as<tir::For>()) fits(loop->extent);
    if (const auto* store = s.as<tir::Store>()) in_value(in_value, store->value);
    const auto* let = s.as<tir::LetStmt>();
    if (let != nullptr && let->value.dtype() != kInt64) in_value(in_value, let->value);
  });
  return Source(small ? Literal("int32_t") : "int64_t");
}

// Are all floats that the launch reads or writes in memory of 16 bits, and none made a whole
// number, which the smallest error can move to the next one?
bool CudaWriter::holds_half_floats(const tir::For& n) {
  if (rounds_to_whole_numbers(n.body)) return false;
  bool some = false, all = true;
  for (const Buffer& b : captured_by(n).buffers) {
    if (!b->dtype.is_float()) continue;
    some = true;
    all &= b->dtype.bits == 16;
  }
  return some && all;
}

// Also what they are called for the launcher, and those that the kernel reads by.
Source CudaWriter::parameters(const tir::For& n, Source& arguments, Source& inputs) {
  const Captured used = captured_by(n);
  std::set<const tir::BufferNode*> written, read;
  tir::for_each_node(n.body, [&](const Stmt& s) {
    if (const auto* store = s.as<tir::Store>()) written.insert(store->buffer.get());
  });
  tir::for_each_node(n.body, [&](const Expr& e) {
    if (const auto* load = e.as<tir::Load>()) read.insert(load->buffer.get());
  });
  std::set<const tir::BufferNode*> shared;  // results in the memory of operands
  for (const auto& [input, output] : plan::in_place_of(f_)) shared.insert(f_.outputs[output].get());
  std::vector<Source> texts;
  const auto add = [&](Source text, const Source& name, const void* what) {
    texts.push_back(std::move(text) + name);
    arguments += Literal(", ") + name;
    used_by_launcher_.insert(what);
  };
  for (const auto* list : {&f_.inputs, &f_.outputs}) {
    for (const Buffer& b : *list) {
      if (std::ranges::find(used.buffers, b) == used.buffers.end()) continue;
      const bool is_written = written.contains(b.get());
      const bool is_read = !is_written || read.contains(b.get());
      const Literal constant = is_written ? Literal("") : "const ";
      const bool is_alone = !is_read && !shared.contains(b.get());
      const Literal alone = is_alone ? Literal("__restrict__ ") : "";
      add(source("{}{}* {}", constant, element_type(b), alone), scope_.name(b), b.get());
      if (is_read) inputs += (inputs.empty() ? Literal("") : ", ") + scope_.name(b);
    }
  }
  for (const Expr& dim : f_.dims) {
    const bool is_used =
        tir::uses_var(n.extent, dim) ||
        std::ranges::any_of(used.vars, [&](const Expr& v) { return v.same_as(dim); });
    if (is_used) add(Literal("const int64_t "), scope_.name(dim), dim.get());
  }
  reports_.clear();
  tir::for_each_node(n.body, [&](const Stmt& s) {
    const auto* condition = s.as<tir::Require>();
    if (condition == nullptr) return;
    const Source& name = reports_[condition] = scope_.fresh("report");
    texts.push_back(Literal("const tk::report ") + name);
    arguments += source(
        ",\n                     tk::report{{tessera_fault_of(call),\n"
        "                                {}}}",
        condition_format(*condition));
  });
  Source out;
  std::size_t column = 4;
  for (const Source& text : texts) {
    const bool wraps = column + text.size() > 96;
    out += out.empty() ? Literal("") : wraps ? Literal(",\n    ") : ", ";
    column = (wraps || out.empty() ? 4 : column) + text.size() + 2;
    out += text;
  }
  return out;
}

void CudaWriter::first_line(const tir::For& n, int threads) {
  const Source& i = scope_.name(n.var);
  const std::int64_t* extent = tir::as_int(n.extent);
  const Source block =
      Source(index_.text() == "int32_t" ? Literal("int32_t(blockIdx.x)") : "int64_t(blockIdx.x)");
  const Literal thread = "int32_t(threadIdx.x)";
  std::int64_t whole = 1;  // iterations of a block
  if (n.loop == ForKind::kGrid) {
    whole = threads;
    line("const {} {} = {} * {} + {};", index_, i, block, threads, thread);
  } else if (n.loop == ForKind::kWarps) {
    whole = tir::kWarpsOfBlock;
    line("const {} {} = {} * {} + {} / 32;", index_, i, block, whole, thread);
    line("[[maybe_unused]] const int32_t rank = {} % 32;", thread);
  } else {
    line("const {} {} = {};", index_, i, block);
    line("[[maybe_unused]] const int32_t rank = {};", thread);
  }
  if (extent == nullptr || *extent % whole != 0) {
    line("if ({} >= {}) return;", i, expr_text(n.extent, scope_));
  }
}

void CudaWriter::launch(const tir::For& n) {
  TESSERA_CHECK(tir::is_int(n.min, 0), "a launch begins at 0");
  team_ = n.loop != ForKind::kGrid;
  warps_ = n.loop == ForKind::kWarps;
  scope_.bounds.set_loop(n.var, n.min, n.extent);
  few_rows_.find(n, scope_.bounds, tir::as_few_rows_sums);
  block_product_.find(n, scope_.bounds, tir::as_block_product);
  window_product_.find(n, scope_.bounds, tir::as_window_product);
  const int threads = few_rows_ ? tir::few_rows_threads(few_rows_->product, few_rows_->columns())
                      : window_product_          ? tir::kMaxTeamThreads
                      : n.loop == ForKind::kGrid ? tir::kGridThreads
                      : warps_                   ? tir::kWarpThreads * tir::kWarpsOfBlock
                                                 : tir::block_threads(n.body);
  team_size_ = warps_ ? tir::kWarpThreads : team_ ? threads : 1;
  block_ = source("tk::block<{}>", threads);
  index_ = index_type(n);
  scope_.has_half_functions = holds_half_floats(n);
  const Source name = source("{}_launch{}", symbol_, num_launches_++);
  Source arguments, inputs;
  const Source formal = parameters(n, arguments, inputs);
  line("extern \"C\" __global__ void __launch_bounds__({}) {}(\n    {}) {{", threads, name, formal);
  indent_ += 2;
  if (few_rows_) {  // the matrix is on its way while the kernel before this one ends
    first_line(n, threads);
    line("{}.prefetch<{}>();", few_rows_matrix(), few_rows_->columns());
    line("tk::wait_for_inputs({});", inputs);
  } else {
    line("tk::wait_for_inputs({});", inputs);
    first_line(n, threads);
  }
  stmt(n.body);
  close();
  scope_.names.forget(n.var.get());
  const std::int64_t each = n.loop == ForKind::kGrid ? threads : warps_ ? tir::kWarpsOfBlock : 1;
  const Source blocks =
      expr_text(simplify_indices(floor_div(n.extent + (each - 1), each), scope_.bounds), scope_);
  launches_ += source(
      "  if (const int32_t status =\n          tk::launch(call, \"{0}\", {0}, {1}, {2}{3})) {{\n"
      "    return status;\n  }}\n",
      name, blocks, threads, arguments);
}

void CudaWriter::launcher_condition(const tir::Require& n) {
  TESSERA_CHECK(tir::reads_no_memory(n), "a launcher reads no memory: {}", n.sentence);
  Source values;
  for (const Expr& e : n.values) {
    values += source(", static_cast<long long>({})", expr_text(e, scope_));
  }
  launches_ +=
      source("  if (!({})) {{\n    return {}(call, {}{});\n  }}\n", expr_text(n.condition, scope_),
             failing_call(f_), condition_format(n), values);
}

Source CudaWriter::write() {
  const auto* several = f_.body.as<tir::Seq>();
  const std::vector<Stmt> all = several != nullptr ? several->body : std::vector<Stmt>{f_.body};
  for (const Stmt& s : all) {
    if (const auto* condition = s.as<tir::Require>()) {
      launcher_condition(*condition);
      continue;
    }
    const auto* loop = s.as<tir::For>();
    TESSERA_CHECK(loop != nullptr && tir::is_launch(loop->loop),
                  "a statement outside of launches in `{}`", symbol_.text());
    launch(*loop);
    empty_line();
  }
  const Source kernels = std::exchange(out_, Source());
  std::size_t next = 0;
  Source unpacked;
  for (const auto* list : {&f_.inputs, &f_.outputs}) {
    for (const Buffer& b : *list) {
      const std::size_t index = next++;
      if (!used_by_launcher_.contains(b.get())) continue;
      const Source type = source("{}*", element_type(b));
      unpacked += source("  auto* const {} = static_cast<{}>(buffers[{}]);  // {}\n",
                         scope_.name(b), type, index, shape_text(b, scope_));
    }
  }
  bool sized = false;
  for (std::size_t i = 0; i < f_.dims.size(); ++i) {
    sized = true;
    unpacked +=
        source("  [[maybe_unused]] const int64_t {} = dims[{}];\n", scope_.name(f_.dims[i]), i);
  }
  return kernel_banner(f_, symbol_.text(), scope_) + kernels +
         source(
             "extern \"C\" int32_t {}(void* const*{}, const int64_t*{}, "
             "const tessera_call*{}) {{\n",
             symbol_, used_by_launcher_.empty() ? Literal("") : " buffers",
             sized ? Literal(" dims") : "", launches_.empty() ? Literal("") : " call") +
         unpacked + launches_ + "  return 0;\n}\n";
}

Source cuda_prologue() {
  return Literal(
      "#include <stdint.h>\n\n#include \"tessera/call.h\"\n#include "
      "\"tessera/kernel_cuda.cuh\"\n");
}

Source emit_cuda_kernel(const tir::PrimFunc& f, std::string_view symbol) {
  TESSERA_CHECK(!f.is_host, "`{}` is a host program", symbol);
  const CheckContext context(fmt::format("emitting kernel `{}`", symbol));
  return CudaWriter(f, symbol).write();
}

Source emit_cuda_kernels(const std::map<std::string, tir::PrimFunc>& functions) {
  Source text = cuda_prologue();
  for (const auto& [symbol, f] : functions) {
    if (!f.is_host) text += Literal("\n") + emit_cuda_kernel(f, symbol);
  }
  return text;
}

}  // namespace tessera::emit
