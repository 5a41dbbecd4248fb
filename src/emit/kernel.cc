// SPDX-License-Identifier: Apache-2.0
#include "emit/kernel.h"

#include <algorithm>

#include "emit/banner.h"
#include "emit/captured.h"
#include "emit/kernel_writer.h"
#include "plan/in_place.h"
#include "tir/walk.h"

namespace tessera::emit {
using tir::Buffer;
using tir::Expr;
using tir::Stmt;

KernelWriter::KernelWriter(const tir::PrimFunc& f, std::string_view symbol)
    : f_(f), symbol_(c_name(symbol)) {
  scope_.hides_guards = true;
  scope_.names.fresh(symbol);
  // Parameters get their names first, so that they keep those of the model.
  for (const Buffer& b : f.inputs) scope_.name(b);
  for (const Buffer& b : f.outputs) scope_.name(b);
  for (const Expr& dim : f.dims) {
    scope_.name(dim);
    scope_.bounds.set_size(dim);
  }
  analyse();
}

// Which buffers are used, written, seen under two names, and seen from inside of a parallel loop.
void KernelWriter::analyse() {
  const auto use = [&](const Buffer& b) {
    used_.insert(b.get());
    for (const Expr& e : strides_of(b)) {
      for_each_node(e, [&](const Expr& part) { used_dims_.insert(part.get()); });
    }
  };
  for_each_node(f_.body, [&](const Expr& e) {
    if (e.as<tir::Var>() != nullptr) used_dims_.insert(e.get());
    if (const auto* load = e.as<tir::Load>()) use(load->buffer);
  });
  for_each_node(f_.body, [&](const Stmt& s) {
    if (const auto* store = s.as<tir::Store>()) {
      use(store->buffer);
      written_.insert(store->buffer.get());
    } else if (const auto* loop = s.as<tir::For>(); loop != nullptr) {
      if (loop->loop != tir::ForKind::kParallel) return;
      for (const Buffer& b : captured_by(*loop).buffers) shared_.insert(b.get());
    }
  });
  // A view hands use and writing on to its source, whose definition stands around it.
  std::vector<const tir::View*> views;
  for_each_node(f_.body, [&](const Stmt& s) {
    if (const auto* view = s.as<tir::View>()) views.push_back(view);
  });
  for (auto it = views.rbegin(); it != views.rend(); ++it) {
    const tir::View& v = **it;
    if (used_.contains(v.buffer.get())) used_.insert(v.source.get());
    if (written_.contains(v.buffer.get())) written_.insert(v.source.get());
    aliased_.insert({v.buffer.get(), v.source.get()});
  }
  for (const auto& [input, output] : plan::in_place_of(f_)) {
    aliased_.insert({f_.inputs[input].get(), f_.outputs[output].get()});
  }
  for_each_node(f_.body, [&](const Stmt& s) {
    const auto* allocate = s.as<tir::Allocate>();
    if (allocate == nullptr) return;
    const tir::BufferNode* b = allocate->buffer.get();
    if (tir::constant_size(allocate->buffer) == 1 && b->scope == tir::MemoryScope::kStack &&
        !shared_.contains(b) && !aliased_.contains(b)) {
      scope_.scalars.insert(b);
    }
  });
}

Source KernelWriter::pointer_type(const Buffer& b) const {
  // A view of something that is written under another name must not claim that it is constant.
  const bool is_input = std::ranges::find(f_.inputs, b) != f_.inputs.end();
  const bool constant = is_input && !written_.contains(b.get());
  bool constant_view = false;
  if (!is_input && !written_.contains(b.get())) {
    for_each_node(f_.body, [&](const Stmt& s) {
      const auto* view = s.as<tir::View>();
      if (view != nullptr && view->buffer == b) {
        constant_view = pointer_type(view->source).text().starts_with("const ");
      }
    });
  }
  return source("{}{}*", constant || constant_view ? Literal("const ") : "", element_type(b));
}

void KernelWriter::unpack() {
  std::size_t next = 0;
  const auto pointers = [&](const std::vector<Buffer>& buffers) {
    for (const Buffer& b : buffers) {
      const std::size_t index = next++;
      if (!used_.contains(b.get())) continue;
      unpacked_.buffers = true;
      line("{0}{1} {2} = static_cast<{0}>(buffers[{3}]);  // {4}", pointer_type(b),
           restrict_word(b), scope_.name(b), index, shape_text(b, scope_));
    }
  };
  for (std::size_t i = 0; i < f_.dims.size(); ++i) {
    if (!used_dims_.contains(f_.dims[i].get())) continue;
    unpacked_.dims = true;
    line("const {} {} = dims[{}];", value_type(f_.dims[i].dtype()), scope_.name(f_.dims[i]), i);
  }
  pointers(f_.inputs);
  pointers(f_.outputs);
}

Source KernelWriter::write() {
  indent_ = 2;
  unpack();
  with_guard_zero([&] { stmt(f_.body, Position::kLast); });
  if (!returned_) line("return 0;");
  indent_ = 0;
  const Source body = std::exchange(out_, Source());
  out_ += kernel_banner(f_, symbol_.text(), scope_);
  if (!helpers_.empty()) out_ += Literal("namespace {\n") + helpers_ + "\n}  // namespace\n\n";
  // Parameters that the kernel does not use have no name, or compilers would ask.
  line("extern \"C\" int32_t {}(void* const*{}, const int64_t*{}, const tessera_call*{}) {{",
       symbol_, unpacked_.buffers ? Literal(" buffers") : "",
       unpacked_.dims ? Literal(" dims") : "", calls_runtime_ ? Literal(" call") : "");
  return out_ + body + "}\n";
}

Source kernel_prologue() {
  return Literal(
      "#include <stdint.h>\n\n#include \"tessera/call.h\"\n#include \"tessera/kernel_math.h\"\n");
}

namespace {

// Headers that kernels call, besides those of the prologue.
struct Calls {
  bool products = false, tiles = false, bytes = false;
};

Source emit_kernel(const tir::PrimFunc& f, std::string_view symbol, Calls& calls) {
  TESSERA_CHECK(!f.is_host, "`{}` is a host program", symbol);
  const CheckContext context(fmt::format("emitting kernel `{}`", symbol));
  KernelWriter writer(f, symbol);
  Source text = writer.write();
  calls.products |= writer.adds_products();
  calls.tiles |= writer.multiplies_tiles();
  calls.bytes |= writer.maps_bytes();
  return text;
}

}  // namespace

Source emit_kernel(const tir::PrimFunc& f, std::string_view symbol) {
  Calls in_the_text;
  return emit_kernel(f, symbol, in_the_text);
}

Source emit_kernels(const std::map<std::string, tir::PrimFunc>& functions) {
  Source text = kernel_prologue(), kernels;
  Calls calls;
  for (const auto& [symbol, f] : functions) {
    if (!f.is_host) kernels += Literal("\n") + emit_kernel(f, symbol, calls);
  }
  if (calls.products) text += Literal("#include \"tessera/kernel_products.h\"\n");
  if (calls.bytes) text += Literal("#include \"tessera/kernel_bytes.h\"\n");
  if (calls.tiles) text += Literal("#include \"tessera/kernel_tiles.h\"\n");
  return text + kernels;
}

}  // namespace tessera::emit
