// SPDX-License-Identifier: Apache-2.0
#include "emit/host_body.h"

#include <algorithm>
#include <map>
#include <set>

#include "emit/host_calls.h"
#include "emit/host_writer.h"
#include "plan/device.h"
#include "tir/walk.h"
#include "types/target_list.h"

namespace tessera::emit {
namespace {

using tir::Buffer;
using tir::Stmt;

// What the host program calls by name.
std::set<std::string> functions_of(const Module& module) {
  std::set<std::string> out;
  for (const auto& [symbol, e] : module.externs) out.insert(symbol);
  for (const Artifact& a : module.artifacts) out.insert(a.run_function);
  out.erase("");
  return out;
}

// Compilers take more than twice as long for a function of twice the length.
constexpr std::size_t kCallsPerFunction = 256;

class HostBodyEmitter {
 public:
  HostBodyEmitter(const Module& module, const plan::MemoryPlan& plan,
                  const std::map<std::string, int>& extern_index, const tir::PrimFunc& main)
      : module_(module),
        plan_(plan),
        on_device_(!is_on_host(compute_space(module.targets))),
        out_(main, functions_of(module)),
        calls_(module, extern_index, out_) {}

  HostBody emit(const tir::PrimFunc& main) {
    const bool in_pieces = fits_pieces(main);
    out_.open_function(in_pieces ? piece_name(0) : Source("tessera_entry"));
    for (std::size_t i = 0; i < main.inputs.size(); ++i) {
      out_.define(main.inputs[i], source("frame->inputs[{}]", i));
    }
    define_outputs(main);
    in_pieces ? pieces(main.body) : walk(main.body);
    out_.close_function();
    return {out_.take_text(), std::move(steps_)};
  }

 private:
  static Source piece_name(std::size_t i) { return source("tessera_steps_{}", i); }

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
      if (!defines && steps_.size() - begin >= kCallsPerFunction) {
        out_.close_function();
        out_.open_function(piece_name(count++));
        begin = steps_.size();
      }
      if (!defines) {
        tir::for_each_node(*s, [&](const Buffer& b) { out_.define_again(b); });
      }
      step(*s);
    }
    out_.close_function();
    out_.open_function(Literal("tessera_entry"));
    for (std::size_t i = 0; i < count; ++i) {
      out_.line("  if ((status = {}(frame)) != 0) return status;", piece_name(i));
    }
  }

  // The sizes of an output that depend on data are written where the caller reads them.
  void define_outputs(const tir::PrimFunc& main) {
    const std::vector<plan::ResultPort> ports = plan::result_ports(main);
    for (std::size_t i = 0; i < ports.size(); ++i) {
      if (ports[i].sizes) {
        out_.define(ports[i].sizes, source("frame->output_tensors[{}].shape", i));
        out_.define_without_memory(ports[i].buffer);
        late_outputs_[ports[i].buffer.get()] = i;
      } else {
        out_.define(ports[i].buffer, source("frame->outputs[{}]", i));
      }
    }
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
          const Literal table = tir::is_on_host(s.buffer) ? Literal("host_constants") : "constants";
          out_.define(s.buffer, source("(void*)frame->{}[{}]", table, index->index()));
        },
        [&](const tir::View& s) { out_.define_view(s.buffer, s.source); },
        [&](const tir::CallKernel& s) { call(s); },
        [&](const tir::IfThenElse& s) {
          const Source condition = flag(s.condition);
          if (on_device_) out_.line("  if (status != 0) return status;");
          out_.line("  if ({}) {{", condition);
          block(s.then_case);
          if (!tir::is_empty(s.else_case)) {
            out_.line("  }} else {{");
            block(s.else_case);
          }
          out_.line("  }}");
        },
        [&](const tir::While& s) {
          out_.line("  while ({}) {{", flag(s.condition));
          block(s.body);
          out_.line("  }}");
          if (on_device_) out_.line("  if (status != 0) return status;");
        },
        [&](const tir::Store& s) {
          if (s.buffer->dtype != kBool) {
            out_.line("  {} = {};", out_.element(s.buffer, s.indices), out_.size_text(s.value));
          } else if (on_device_ && !tir::is_on_host(s.buffer)) {
            out_.line("  if (tessera_set_flag(frame, {}, {}) != 0) return 1;", out_.name(s.buffer),
                      tir::is_int(s.value, 0) ? 0 : 1);
          } else {
            out_.line("  *(uint8_t*){} = {};", out_.name(s.buffer),
                      tir::is_int(s.value, 0) ? 0 : 1);
          }
        },
        [&](const tir::LetStmt& s) { out_.define_size(s); },
        [&](const tir::Reserve& s) { reserve(s.buffer); },
        [](const tir::For&) { TESSERA_UNREACHABLE("`for` in a host program"); },
        [](const tir::Evaluate&) { TESSERA_UNREACHABLE("`evaluate` in a host program"); },
        [](const tir::Require&) { TESSERA_UNREACHABLE("`require` in a host program"); },
        [](const tir::Seq&) { TESSERA_UNREACHABLE("`sequence` in a host program"); });
  }

  void allocate(const Buffer& buffer) {
    if (tir::sizes_vector(buffer)) return out_.define_without_memory(buffer);
    if (buffer->scope == tir::MemoryScope::kStack) return define_in_frame(buffer);
    if (plan_.heap.contains(buffer.get())) {
      out_.define_without_memory(buffer);
      return reserve(buffer);
    }
    const plan::Placement& at = plan_.buffers.at(buffer.get());
    out_.define(buffer, source("(char*)frame->pools[{}] + {}", at.pool, at.offset));
  }

  void define_in_frame(const Buffer& buffer) {
    const std::int64_t size = std::max<std::int64_t>(tir::constant_size(buffer), 1);
    if (buffer->dtype == kInt64) {
      out_.line("  int64_t {}[{}];", out_.take_name(buffer), size);
    } else {
      out_.line("  alignas(8) char {}[{}];  // {}", out_.take_name(buffer),
                size * buffer->dtype.size_bytes(), shape_text(*buffer));
    }
  }

  void reserve(const Buffer& buffer) {
    const auto output = late_outputs_.find(buffer.get());
    if (output != late_outputs_.end()) {
      out_.line("  {} = tessera_output_reserve(frame, {});", out_.name(buffer), output->second);
    } else {
      out_.line("  {{");
      out_.line("    {}const int64_t shape[] = {{{}}};",
                all_numbers(buffer->shape) ? Literal("static ") : "", out_.list_of(buffer->shape));
      out_.line("    {} = tessera_heap_reserve(frame, {}, {}, shape, {});", out_.name(buffer),
                plan_.heap.at(buffer.get()), buffer->dtype.size_bytes(), buffer->shape.size());
      out_.line("  }}");
    }
    out_.line("  if ({} == nullptr) return 1;", out_.name(buffer));
  }

  void block(const Stmt& stmt) {
    out_.open_block();
    walk(stmt);
    out_.close_block();
  }

  // Conditions of a host program are scalars in its memory.
  Source flag(const tir::Expr& e) const {
    const auto* load = e.as<tir::Load>();
    TESSERA_CHECK(load != nullptr && load->indices.empty(), "a condition that is no scalar");
    if (on_device_ && !tir::is_on_host(load->buffer)) {
      return source("tessera_flag(frame, {}, &status)", out_.name(load->buffer));
    }
    return source("*(const uint8_t*){} != 0", out_.name(load->buffer));
  }

  void call(const tir::CallKernel& s) {
    const auto found = module_.externs.find(s.symbol);
    TESSERA_CHECK(found != module_.externs.end(), "`{}` is not defined", s.symbol);
    out_.line("  {{");
    calls_.write(s);
    out_.line("    if (status != 0) return status;");
    out_.line("    if (frame->profile) tessera_profile_mark(frame->profile, {});", steps_.size());
    out_.line("  }}");
    steps_.emplace_back(s.symbol, found->second.backend);
  }

  const Module& module_;
  const plan::MemoryPlan& plan_;
  const bool on_device_;
  HostWriter out_;
  HostCalls calls_;
  std::vector<std::pair<std::string, std::string>> steps_;      // as in HostBody
  std::map<const tir::BufferNode*, std::size_t> late_outputs_;  // their numbers
};

}  // namespace

HostBody emit_host_body(const tir::PrimFunc& main, const Module& module,
                        const plan::MemoryPlan& plan,
                        const std::map<std::string, int>& extern_index) {
  return HostBodyEmitter(module, plan, extern_index, main).emit(main);
}

}  // namespace tessera::emit
