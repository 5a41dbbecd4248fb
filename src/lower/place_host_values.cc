// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "lower/host_values.h"
#include "lower/primitive.h"
#include "tir/expr_ops.h"
#include "tir/walk.h"

namespace tessera::lower {
namespace {

using tir::Buffer;
using tir::Stmt;
using Symbols = std::map<std::string, std::string>;

// One program, rewritten. A value that only the host has keeps its name and changes its memory; of
// a shared one there are two.
class Placement {
 public:
  Placement(tir::PrimFunc program, HostValues values, const Symbols& moved, const Module& module,
            Kernels& kernels)
      : f_(std::move(program)),
        values_(std::move(values)),
        moved_(moved),
        module_(module),
        kernels_(kernels) {}

  tir::PrimFunc run() {
    for (const Buffer& input : f_.inputs) inputs_.insert(input.get());
    f_.body = block(f_.body);
    for (const Buffer& output : f_.outputs) {
      if (values_.contains(output)) f_.body = tir::Allocate::make(on_host(output), f_.body);
    }
    for (auto input = f_.inputs.rbegin(); input != f_.inputs.rend(); ++input) {
      if (!values_.contains(*input)) continue;
      if (values_.is_shared(*input)) {
        f_.body =
            tir::Allocate::make(on_device(*input), tir::seq({send(*input), std::move(f_.body)}));
      }
      *input = on_host(*input);
    }
    return std::move(f_);
  }

 private:
  bool is_input(const Buffer& b) const { return inputs_.contains(values_.root(b).get()); }
  bool is_constant(const Buffer& b) const {
    return values_.constants.contains(values_.root(b).get());
  }

  // What the host reads in its own memory.
  bool is_for_host(const Buffer& b) const { return values_.contains(b) || is_constant(b); }

  // Where the host, or the device, has a value or constant, or a view of one. An input is where the
  // caller has it; what else both read is the device's, with a copy on the host.
  Buffer on_host(const Buffer& b) {
    Buffer& known = on_host_[b.get()];
    if (!known) {
      const bool is_second = !is_input(b) && (values_.is_shared(b) || !values_.contains(b));
      known = tir::make_host_buffer(is_second ? b->name + "_on_host" : b->name, b->dtype, b->shape,
                                    has_own_memory(b) ? tir::MemoryScope::kStack : b->scope);
    }
    return known;
  }
  // In the frame of the program.
  bool has_own_memory(const Buffer& b) const {
    return !is_input(b) && !is_constant(b) && values_.root(b) == b;
  }
  Buffer on_device(const Buffer& b) {
    Buffer& known = on_device_[b.get()];
    if (!known) {
      const bool is_second = is_input(b) && values_.contains(b);
      known = is_second ? tir::make_buffer(b->name + "_on_device", b->dtype, b->shape) : b;
    }
    return known;
  }

  Stmt block(const Stmt& body) {
    return tir::map_block(
        body, [&](const Stmt& s) { return step(s); },
        [&](const Stmt& definition, const Stmt& scope) { return define(definition, scope); });
  }

  // Where its scope asks for it, the host's memory follows the definition of the device's.
  Stmt define(const Stmt& definition, const Stmt& scope) {
    return tir::visit(
        definition,
        [&](const tir::Allocate& n) {
          Stmt out = has_on_host(n.buffer) ? tir::Allocate::make(on_host(n.buffer), scope) : scope;
          return is_on_device(n.buffer) ? tir::Allocate::make(n.buffer, out) : out;
        },
        [&](const tir::AllocateConst& n) {
          Stmt out = scope;
          if (has_on_host(n.buffer)) {
            out = tir::AllocateConst::make(on_host(n.buffer), n.data, scope);
          }
          return is_on_device(n.buffer) ? tir::AllocateConst::make(n.buffer, n.data, out) : out;
        },
        [&](const tir::View& n) {
          Stmt out = scope;
          if (has_on_host(n.buffer)) {
            out = tir::View::make(on_host(n.buffer), on_host(n.source), scope);
          }
          if (!is_on_device(n.buffer)) return out;
          return tir::View::make(on_device(n.buffer), on_device(n.source), out);
        },
        [&](tir::Otherwise) { return tir::with_scope(definition, scope); });
  }
  bool has_on_host(const Buffer& b) const { return on_host_.contains(b.get()); }
  bool is_on_device(const Buffer& b) const {
    if (is_constant(b)) return on_device_.contains(b.get());
    return !values_.contains(b) || values_.is_shared(b);
  }

  Stmt step(const Stmt& s) {
    if (const auto* call = s.as<tir::CallKernel>()) return place_call(*call);
    if (const auto* store = s.as<tir::Store>();
        store != nullptr && values_.contains(store->buffer)) {
      Stmt set = tir::Store::make(on_host(store->buffer), store->indices, store->value);
      return values_.is_shared(store->buffer) ? tir::seq({set, send(values_.root(store->buffer))})
                                              : set;
    }
    return map_children(s, tir::Overloaded{[&](const Stmt& body) { return block(body); },
                                           [&](const tir::Expr& e) { return condition(e); }});
  }

  tir::Expr condition(const tir::Expr& e) {
    const auto* load = e.as<tir::Load>();
    if (load == nullptr || !is_for_host(load->buffer)) return e;
    return tir::load(on_host(load->buffer), load->indices);
  }

  Stmt place_call(const tir::CallKernel& call) {
    const auto kernel = module_.prim_funcs.find(call.symbol);
    const bool moves = values_.computes(call);
    const bool by_cpu = moves || (kernel != module_.prim_funcs.end() && is_for_cpu(kernel->second));
    std::vector<Buffer> in, out;
    for (const Buffer& b : call.inputs) {
      // A kernel of the device gets what the device does not have only to leave it unread.
      const bool is_unread = values_.contains(b) && !values_.is_shared(b);
      in.push_back(is_unread || (by_cpu && is_for_host(b)) ? on_host(b) : on_device(b));
    }
    for (const Buffer& b : call.outputs) out.push_back(moves ? on_host(b) : b);
    const auto other = moves ? moved_.find(call.symbol) : moved_.end();
    std::vector<Stmt> steps = {tir::CallKernel::make(
        other != moved_.end() ? other->second : call.symbol, in, out, call.dims)};
    for (const Buffer& b : call.outputs) {
      if (values_.is_shared(b)) steps.push_back(send(values_.root(b)));
    }
    return tir::seq(std::move(steps));
  }

  // A copy that the CPU makes, into the device's memory.
  Stmt send(const Buffer& value) {
    Shape shape;
    for (const tir::Expr& extent : value->shape) shape.emplace_back(*tir::as_int(extent));
    const Definitions copy = copy_definition(tensor_type(std::move(shape), value->dtype));
    return tir::CallKernel::make(kernels_.symbol_of(for_cpu(lower_definitions(copy))),
                                 std::vector<Buffer>{on_host(value)},
                                 std::vector<Buffer>{on_device(value)}, std::vector<tir::Expr>{});
  }

  tir::PrimFunc f_;
  const HostValues values_;
  const Symbols& moved_;
  const Module& module_;
  Kernels& kernels_;
  std::set<const tir::BufferNode*> inputs_;
  tir::BufferMap on_host_, on_device_;
};

std::span<const Buffer> given_inputs(const std::string& name, const tir::PrimFunc& program,
                                     const Module& module) {
  const std::size_t kept = name == "main" ? module.kept_weights.size() : 0;
  return std::span(program.inputs).first(program.inputs.size() - kept);
}

// Makes the CPU's what only the host calls, and a kernel of its own of what the device calls, too.
Symbols move_kernels(const std::map<std::string, tir::PrimFunc>& programs,
                     const std::map<std::string, HostValues>& values, Module& module,
                     Kernels& kernels) {
  std::set<std::string> host, device;
  for (const auto& [name, program] : programs) {
    const HostValues& of_program = values.at(name);
    tir::for_each_node(program.body, [&](const Stmt& s) {
      const auto* call = s.as<tir::CallKernel>();
      if (call == nullptr) return;
      (of_program.computes(*call) ? host : device).insert(call->symbol);
    });
  }
  Symbols moved;
  for (const std::string& symbol : host) {
    tir::PrimFunc& kernel = module.prim_funcs.at(symbol);
    if (!device.contains(symbol)) {
      kernel = for_cpu(std::move(kernel));
      module.externs.at(symbol).space = MemorySpace();
      continue;
    }
    const std::string other = kernels.symbol_of(for_cpu(kernel));
    moved.emplace(symbol, other);
    if (const auto body = module.functions.find(symbol); body != module.functions.end()) {
      module.functions.emplace(other, body->second);
    }
  }
  return moved;
}

}  // namespace

void place_host_values(std::map<std::string, tir::PrimFunc>& programs, Module& module,
                       Kernels& kernels) {
  std::map<std::string, HostValues> values;
  for (const auto& [name, program] : programs) {
    values.emplace(name, find_host_values(program, given_inputs(name, program, module), module));
  }
  const Symbols moved = move_kernels(programs, values, module, kernels);
  for (auto& [name, program] : programs) {
    program =
        Placement(std::move(program), std::move(values.at(name)), moved, module, kernels).run();
  }
}

}  // namespace tessera::lower
