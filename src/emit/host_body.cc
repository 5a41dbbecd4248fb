// SPDX-License-Identifier: Apache-2.0
#include "emit/host_body.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "emit/c_text.h"
#include "emit/host_shapes.h"
#include "plan/device.h"
#include "tir/names.h"
#include "tir/walk.h"
#include "types/target_list.h"

namespace tessera::emit {
namespace {

using tir::Buffer;
using tir::BufferNode;
using tir::Stmt;

// Compilers take more than twice as long for a function of twice the length.
constexpr std::size_t kCallsPerFunction = 256;

std::string shape_text(const BufferNode& b) {
  std::string out = to_string(b.dtype) + "[";
  for (std::size_t i = 0; i < b.shape.size(); ++i) {
    const std::int64_t* n = tir::as_int(b.shape[i]);
    out += fmt::format("{}{}", i == 0 ? "" : ",", n == nullptr ? "?" : std::to_string(*n));
  }
  return out + "]";
}

bool all_numbers(const std::vector<tir::Expr>& sizes) {
  return std::all_of(sizes.begin(), sizes.end(),
                     [](const tir::Expr& e) { return tir::as_int(e) != nullptr; });
}

class HostBodyEmitter {
 public:
  HostBodyEmitter(const Module& module, const plan::MemoryPlan& plan,
                  const std::map<std::string, int>& extern_index)
      : module_(module),
        plan_(plan),
        extern_index_(extern_index),
        on_device_(compute_target(module.targets).device() == DeviceType::kCuda) {}

  HostBody emit(const tir::PrimFunc& main) {
    for (const std::string& word : names_in_use()) {
      scope_.names.fresh(word);
      taken_.fresh(word);
    }
    dims_ = define_dims(main, scope_, "frame->dims");
    for (const tir::Expr& dim : main.dims) taken_.fresh(scope_.name(dim));
    const bool in_pieces = fits_pieces(main);
    open_function(in_pieces ? piece_name(0) : "tessera_entry");
    for (std::size_t i = 0; i < main.inputs.size(); ++i) {
      define(main.inputs[i], fmt::format("frame->inputs[{}]", i));
    }
    define_outputs(main);
    in_pieces ? pieces(main.body) : walk(main.body);
    close_function();
    return std::move(body_);
  }

 private:
  // Models name values as they like: `and`, `or`, `new`.
  static std::set<std::string> names_in_use() {
    std::set<std::string> names = {"frame", "status", "buffers", "tensors",
                                   "dims",  "bytes",  "shape"};
    for (const std::string_view word : reserved_words()) names.emplace(word);
    return names;
  }

  void open_function(std::string_view name) {
    line("static int32_t {}(const tessera_frame* frame) {{", name);
    line("  int32_t status = 0;");
    body_.text += dims_;
    defined_here_.clear();
  }
  void close_function() {
    line("  return status;");
    line("}}");
  }
  static std::string piece_name(std::size_t i) { return fmt::format("tessera_steps_{}", i); }

  // Are there too many steps for one function, and does the frame say where all tensors are?
  bool fits_pieces(const tir::PrimFunc& main) const {
    std::size_t calls = 0;
    bool fixed = true;
    tir::for_each_node(main.body, [&](const Stmt& s) {
      const auto* memory = s.as<tir::Allocate>();
      calls += s.as<tir::CallKernel>() != nullptr ? 1 : 0;
      fixed &= s.as<tir::LetStmt>() == nullptr && s.as<tir::Reserve>() == nullptr;
      fixed &= memory == nullptr || plan_.buffers.contains(memory->buffer.get());
    });
    return fixed && calls > kCallsPerFunction;
  }

  // A function for some steps each, and the entry, which calls them.
  void pieces(const Stmt& block) {
    std::size_t count = 1, begin = 0;
    tir::BlockWalk rest(block);
    while (const Stmt* s = rest.next()) {
      const bool defines = tir::scope_of(*s) != nullptr;
      if (!defines && body_.steps.size() - begin >= kCallsPerFunction) {
        close_function();
        open_function(piece_name(count++));
        begin = body_.steps.size();
      }
      if (!defines) {
        tir::for_each_node(*s, [&](const Buffer& b) { define_again(b); });
      }
      step(*s);
    }
    close_function();
    open_function("tessera_entry");
    for (std::size_t i = 0; i < count; ++i) {
      line("  if ((status = {}(frame)) != 0) return status;", piece_name(i));
    }
  }

  // What another function has defined, and a step of this one uses.
  void define_again(const Buffer& buffer) {
    const auto pointer = pointers_.find(buffer.get());
    if (pointer == pointers_.end() || !defined_here_.insert(buffer.get()).second) return;
    line("  void* const {} = {};  // {}", name(buffer), pointer->second, shape_text(*buffer));
  }

  template <class... A>
  void line(fmt::format_string<A...> text, A&&... args) {
    body_.text += indent_ + fmt::format(text, std::forward<A>(args)...);
    body_.text += '\n';
  }

  // The sizes of an output that depend on data are written where the caller reads them.
  void define_outputs(const tir::PrimFunc& main) {
    const std::vector<plan::ResultPort> ports = plan::result_ports(main);
    for (std::size_t i = 0; i < ports.size(); ++i) {
      if (ports[i].sizes) {
        define(ports[i].sizes, fmt::format("frame->output_tensors[{}].shape", i));
        define_without_memory(ports[i].buffer);
        late_outputs_[ports[i].buffer.get()] = i;
      } else {
        define(ports[i].buffer, fmt::format("frame->outputs[{}]", i));
      }
    }
  }

  const std::string& take_name(const Buffer& buffer) {
    return names_[buffer.get()] = taken_.fresh(buffer->name);
  }
  void define(const Buffer& buffer, const std::string& pointer) {
    line("  void* const {} = {};  // {}", take_name(buffer), pointer, shape_text(*buffer));
    pointers_[buffer.get()] = pointer;
    defined_here_.insert(buffer.get());
  }
  void define_without_memory(const Buffer& buffer) {
    line("  void* {} = nullptr;  // {}", take_name(buffer), shape_text(*buffer));
  }

  const std::string& name(const Buffer& buffer) const {
    const auto it = names_.find(buffer.get());
    TESSERA_CHECK(it != names_.end(), "`{}` is used outside of its scope", buffer->name);
    return it->second;
  }

  void walk(const Stmt& block) {
    tir::BlockWalk rest(block);
    while (const Stmt* s = rest.next()) step(*s);
  }

  void step(const Stmt& stmt) {
    tir::visit(
        stmt, [&](const tir::Allocate& s) { allocate(s.buffer); },
        [&](const tir::AllocateConst& s) {
          const auto* index = std::get_if<ConstantIndex>(&s.data);
          TESSERA_CHECK(index != nullptr, "a host program's constants are in the module's pool");
          const std::string_view table =
              plan::is_on_host(s.buffer) ? "host_constants" : "constants";
          define(s.buffer, fmt::format("(void*)frame->{}[{}]", table, index->index()));
        },
        [&](const tir::View& s) {
          define(s.buffer, name(s.source));
          pointers_[s.buffer.get()] = pointers_[s.source.get()];
        },
        [&](const tir::CallKernel& s) { call(s); },
        [&](const tir::IfThenElse& s) {
          const std::string condition = flag(s.condition);
          if (on_device_) line("  if (status != 0) return status;");
          line("  if ({}) {{", condition);
          block(s.then_case);
          if (!tir::is_empty(s.else_case)) {
            line("  }} else {{");
            block(s.else_case);
          }
          line("  }}");
        },
        [&](const tir::While& s) {
          line("  while ({}) {{", flag(s.condition));
          block(s.body);
          line("  }}");
          if (on_device_) line("  if (status != 0) return status;");
        },
        [&](const tir::Store& s) {
          if (s.buffer->dtype != kBool) {
            line("  {} = {};", element(s.buffer, s.indices), size_text(s.value));
          } else if (on_device_ && !plan::is_on_host(s.buffer)) {
            line("  if (tessera_set_flag(frame, {}, {}) != 0) return 1;", name(s.buffer),
                 tir::is_int(s.value, 0) ? 0 : 1);
          } else {
            line("  *(uint8_t*){} = {};", name(s.buffer), tir::is_int(s.value, 0) ? 0 : 1);
          }
        },
        [&](const tir::LetStmt& s) {
          const std::string value = size_text(s.value);
          scope_.bounds.set(s.var, {0, tir::Interval::kAny});
          line("  [[maybe_unused]] const int64_t {} = {};", scope_.name(s.var), value);
        },
        [&](const tir::Reserve& s) { reserve(s.buffer); },
        [&](tir::Otherwise) {
          TESSERA_UNREACHABLE("statement kind {} in a host program", static_cast<int>(stmt.kind()));
        });
  }

  void allocate(const Buffer& buffer) {
    if (tir::sizes_vector(buffer)) return define_without_memory(buffer);
    if (plan::is_on_host(buffer)) return define_in_frame(buffer);
    if (plan_.heap.contains(buffer.get())) {
      define_without_memory(buffer);
      return reserve(buffer);
    }
    const plan::Placement& at = plan_.buffers.at(buffer.get());
    define(buffer, fmt::format("(char*)frame->pools[{}] + {}", pool_index(at.pool), at.offset));
  }

  void define_in_frame(const Buffer& buffer) {
    const std::int64_t size = std::max<std::int64_t>(tir::constant_size(buffer), 1);
    if (buffer->dtype == kInt64) {
      line("  int64_t {}[{}];", take_name(buffer), size);
    } else {
      line("  alignas(8) char {}[{}];  // {}", take_name(buffer), size * buffer->dtype.size_bytes(),
           shape_text(*buffer));
    }
  }

  std::string byte_count(const Buffer& buffer) {
    std::string bytes = std::to_string(buffer->dtype.size_bytes());
    for (const tir::Expr& e : buffer->shape) {
      const bool atom = tir::as_int(e) != nullptr || e.as<tir::Var>() || e.as<tir::Load>();
      bytes += atom ? fmt::format(" * {}", size_text(e)) : fmt::format(" * ({})", size_text(e));
    }
    return bytes;
  }

  void reserve(const Buffer& buffer) {
    const auto output = late_outputs_.find(buffer.get());
    if (output != late_outputs_.end()) {
      line("  {} = tessera_output_reserve(frame, {});", name(buffer), output->second);
    } else {
      line("  {{");
      line("    {}const int64_t shape[] = {{{}}};", all_numbers(buffer->shape) ? "static " : "",
           values(buffer->shape));
      line("    {} = tessera_heap_reserve(frame, {}, {}, shape, {});", name(buffer),
           plan_.heap.at(buffer.get()), buffer->dtype.size_bytes(), buffer->shape.size());
      line("  }}");
    }
    line("  if ({} == nullptr) return 1;", name(buffer));
  }

  // An element of a vector of sizes.
  std::string element(const Buffer& buffer, const std::vector<tir::Expr>& indices) {
    return fmt::format("((int64_t*){})[{}]", name(buffer), expr_text(indices.at(0), scope_));
  }
  std::string size_text(const tir::Expr& e) {
    const auto* load = e.as<tir::Load>();
    return load != nullptr ? element(load->buffer, load->indices) : expr_text(e, scope_);
  }

  void block(const Stmt& stmt) {
    indent_ += "  ";
    walk(stmt);
    indent_.resize(indent_.size() - 2);
  }

  // Conditions of a host program are scalars in its memory.
  std::string flag(const tir::Expr& e) const {
    const auto* load = e.as<tir::Load>();
    TESSERA_CHECK(load != nullptr && load->indices.empty(), "a condition that is no scalar");
    if (on_device_ && !plan::is_on_host(load->buffer)) {
      return fmt::format("tessera_flag(frame, {}, &status)", name(load->buffer));
    }
    return fmt::format("*(const uint8_t*){} != 0", name(load->buffer));
  }

  std::size_t pool_index(const std::string& pool) const {
    for (std::size_t i = 0; i < plan_.pools.size(); ++i) {
      if (plan_.pools[i].name == pool) return i;
    }
    TESSERA_UNREACHABLE("no pool `{}`", pool);
  }

  void call(const tir::CallKernel& s) {
    const auto found = module_.externs.find(s.symbol);
    TESSERA_CHECK(found != module_.externs.end(), "`{}` is not defined", s.symbol);
    const bool generated = found->second.convention == CallingConvention::kGenerated;
    line("  {{");
    generated ? call_generated(s) : call_backend(s);
    line("    if (status != 0) return status;");
    line("    if (frame->profile) tessera_profile_mark(frame->profile, {});", body_.steps.size());
    line("  }}");
    body_.steps.emplace_back(s.symbol, found->second.backend);
  }

  void call_generated(const tir::CallKernel& s) {
    std::string pointers;
    for (const auto* list : {&s.inputs, &s.outputs}) {
      for (const Buffer& b : *list) pointers += (pointers.empty() ? "" : ", ") + name(b);
    }
    line("    void* const buffers[] = {{{}}};", pointers);
    const std::string sizes = dims(s);
    if (on_device_ && plan::computes_on_cpu(module_, s.symbol)) {
      const std::string bytes = copied_bytes(s);
      line("    status = tessera_kernel_on_host(frame, {}, buffers, {}, {}, {}, {});", s.symbol,
           bytes, s.inputs.size(), s.inputs.size() + s.outputs.size(), sizes);
      return;
    }
    line("    status = {}(buffers, {}, {});", s.symbol, sizes, call_record(s.symbol));
  }

  // Of the tensors that are copied for a kernel of the CPU; 0 for others.
  std::string copied_bytes(const tir::CallKernel& s) {
    const std::vector<bool> copied = plan::copied_for_cpu(s, module_.prim_funcs.at(s.symbol));
    std::vector<Buffer> buffers = s.inputs;
    buffers.insert(buffers.end(), s.outputs.begin(), s.outputs.end());
    if (buffers.empty()) return "nullptr";
    std::string text;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      text += fmt::format("{}{}", i == 0 ? "" : ", ", copied[i] ? byte_count(buffers[i]) : "0");
    }
    line("    const int64_t bytes[] = {{{}}};", text);
    return "bytes";
  }

  std::string dims(const tir::CallKernel& s) {
    if (s.dims.empty()) return "nullptr";
    line("    {}const int64_t dims[] = {{{}}};", all_numbers(s.dims) ? "static " : "",
         values(s.dims));
    return "dims";
  }

  std::string values(const std::vector<tir::Expr>& sizes) {
    std::string text;
    for (const tir::Expr& e : sizes) text += (text.empty() ? "" : ", ") + size_text(e);
    return text;
  }

  // Back-end symbols have a record of their own, with their states and workspace.
  std::string call_record(const std::string& symbol) const {
    const auto it = extern_index_.find(symbol);
    return it == extern_index_.end() ? "frame->call"
                                     : fmt::format("&frame->extern_calls[{}]", it->second);
  }

  void call_backend(const tir::CallKernel& s) {
    std::vector<Buffer> all = s.inputs;
    all.insert(all.end(), s.outputs.begin(), s.outputs.end());
    std::string list;
    for (std::size_t i = 0; i < all.size(); ++i) {
      tensor(static_cast<int>(i), all[i]);
      list += fmt::format("{}&t{}", i == 0 ? "" : ", ", i);
    }
    line("    tessera_tensor* tensors[] = {{{}}};", list);
    const std::string& run = run_function(s.symbol);
    if (on_device_ && plan::computes_on_cpu(module_, s.symbol)) {
      line("    status = tessera_call_on_host(frame, {}, {}, tensors, {}, {});  // {}", run,
           call_record(s.symbol), s.inputs.size(), all.size(), s.symbol);
      return;
    }
    line("    status = {}({}, tensors, {});  // {}", run, call_record(s.symbol), all.size(),
         s.symbol);
  }

  const std::string& run_function(const std::string& symbol) const {
    const Extern& e = module_.externs.at(symbol);
    if (e.artifact < 0) return symbol;
    const Artifact& a = module_.artifacts[static_cast<std::size_t>(e.artifact)];
    return a.kind == ArtifactKind::kRuntimeModule ? a.run_function : symbol;
  }

  void tensor(int i, const Buffer& b) {
    const std::string sizes = values(b->shape);
    // The tensor's shape is not const in C, as in DLPack; nobody writes to it.
    const std::string_view storage = all_numbers(b->shape) ? "static " : "";
    if (!sizes.empty()) line("    {}int64_t s{}[] = {{{}}};", storage, i, sizes);
    line("    tessera_tensor t{} = {{{}, frame->call->device, {}, {}, {}, nullptr, 0}};", i,
         name(b), b->shape.size(), c_dtype(b->dtype),
         sizes.empty() ? "nullptr" : fmt::format("s{}", i));
  }

  const Module& module_;
  const plan::MemoryPlan& plan_;
  const std::map<std::string, int>& extern_index_;
  const bool on_device_;
  HostBody body_;
  KernelScope scope_;   // of sizes
  std::string indent_;  // of the block
  std::map<const BufferNode*, std::string> names_;
  std::map<const BufferNode*, std::string> pointers_;      // what they are defined as
  std::set<const BufferNode*> defined_here_;               // in the function that is being written
  std::string dims_;                                       // the definitions of formal dimensions
  std::map<const BufferNode*, std::size_t> late_outputs_;  // their numbers
  tir::Names taken_;  // by pointers and what else the text names
};

}  // namespace

HostBody emit_host_body(const tir::PrimFunc& main, const Module& module,
                        const plan::MemoryPlan& plan,
                        const std::map<std::string, int>& extern_index) {
  return HostBodyEmitter(module, plan, extern_index).emit(main);
}

}  // namespace tessera::emit
