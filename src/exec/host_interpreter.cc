// SPDX-License-Identifier: Apache-2.0
#include "exec/host_interpreter.h"

#include <algorithm>

#include "plan/device.h"
#include "runtime/device.h"
#include "tir/evaluate.h"
#include "tir/expr_ops.h"
#include "tir/walk.h"

namespace tessera::exec {
namespace {

using tir::Buffer;
using tir::BufferNode;
using tir::Stmt;

// For expressions of sizes.
tir::Evaluator sizes_of_dims(const tir::PrimFunc& main, const std::int64_t* values) {
  tir::Evaluator sizes;
  for (std::size_t i = 0; i < main.dims.size(); ++i) {
    sizes.set(main.dims[i], tir::int_imm(values[i]));
  }
  return sizes;
}

}  // namespace

HostInterpreter::HostInterpreter(std::shared_ptr<const Module> module, plan::MemoryPlan plan,
                                 const tessera_program& library,
                                 std::shared_ptr<const void> keep_alive, const std::string& entry)
    : module_(std::move(module)),
      plan_(std::move(plan)),
      entry_(module_->prim_funcs.at(entry)),
      tables_(entry_, plan_, module_->symbols,
              entry == "main" ? std::span<const KeptWeight>(module_->kept_weights)
                              : std::span<const KeptWeight>(),
              library),
      library_(std::move(keep_alive)),
      program_(library) {
  for (std::int32_t i = 0; i < library.extern_count; ++i) externs_[library.externs[i].symbol] = i;
  for (std::int32_t i = 0; i < library.kernel_count; ++i) {
    kernels_[library.kernels[i].name] = library.kernels[i].fn;
  }
  for (const Tensor& t : module_->constants.tensors()) {
    // Weights lie in a model's file at any offset.
    constant_data_.push_back(t.blob->aligned_bytes(alignof(std::max_align_t)).data());
  }
  tir::for_each_node(entry_.body, [&](const Stmt& s) {
    const auto* call = s.as<tir::CallKernel>();
    if (call == nullptr) return;
    step_of_[s.get()] = static_cast<std::int32_t>(steps_.size());
    const auto found = module_->externs.find(call->symbol);
    TESSERA_CHECK(found != module_->externs.end(), "`{}` is not defined", call->symbol);
    steps_.push_back({found->first.c_str(), found->second.backend.c_str()});
  });
  tables_.put_into(program_);
  program_.constant_data = constant_data_.data();
  program_.steps = steps_.data();
  program_.step_count = static_cast<std::int32_t>(steps_.size());
  program_.entry = &HostInterpreter::run_entry;
  if (!entry_.dims.empty()) {
    program_.output_shapes = &HostInterpreter::output_shapes;
    program_.input_size = &HostInterpreter::input_size;
  }
  program_.context = this;
  program_.replayable =
      program_.device_api != nullptr && plan::replay_obstacle(entry_, *module_, plan_).empty() ? 1
                                                                                               : 0;
}

// One run: where each buffer in scope lies.
class HostInterpreter::Run {
 public:
  Run(const HostInterpreter& program, const tessera_frame& frame) : p_(program), frame_(frame) {}

  std::int32_t run() {
    const tir::PrimFunc& main = p_.entry_;
    sizes_ = sizes_of_dims(main, frame_.dims);
    for (std::size_t i = 0; i < main.inputs.size(); ++i)
      at_[main.inputs[i].get()] = frame_.inputs[i];
    const std::vector<plan::ResultPort> outputs = plan::result_ports(main);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      at_[outputs[i].buffer.get()] = frame_.outputs[i];
      if (!outputs[i].sizes) continue;
      at_[outputs[i].sizes.get()] = frame_.output_tensors[i].shape;
      late_outputs_[outputs[i].buffer.get()] = static_cast<std::int32_t>(i);
    }
    sizes_.load = [this](const Buffer& b, const std::vector<std::int64_t>& at) {
      return tir::int_imm(static_cast<const std::int64_t*>(at_.at(b.get()))[at.at(0)]);
    };
    return walk(main.body);
  }

 private:
  std::int32_t walk(const Stmt& block) {
    tir::BlockWalk rest(block);
    while (const Stmt* s = rest.next()) {
      if (const std::int32_t status = step(*s); status != 0) return status;
    }
    return 0;
  }

  std::int32_t step(const Stmt& stmt) {
    return tir::visit(
        stmt, [&](const tir::Allocate& s) { return allocate(s.buffer); },
        [&](const tir::AllocateConst& s) {
          const auto* index = std::get_if<ConstantIndex>(&s.data);
          TESSERA_CHECK(index != nullptr, "a host program's constants are in the module's pool");
          const void* const* table =
              tir::is_on_host(s.buffer) ? frame_.host_constants : frame_.constants;
          at_[s.buffer.get()] = const_cast<void*>(table[index->index()]);
          return std::int32_t{0};
        },
        [&](const tir::View& s) {
          at_[s.buffer.get()] = at_.at(s.source.get());
          return std::int32_t{0};
        },
        [&](const tir::CallKernel& s) {
          std::vector<Tensor> inputs;
          std::int32_t status = p_.observer_ ? inputs_before(s, inputs) : 0;
          if (status == 0) status = call(s);
          if (status == 0 && p_.observer_) status = report(s, inputs);
          if (status == 0 && frame_.profile != nullptr) {
            tessera_profile_mark(frame_.profile, p_.step_of_.at(stmt.get()));
          }
          return status;
        },
        [&](const tir::IfThenElse& s) {
          std::int32_t status = 0;
          const bool yes = flag(s.condition, status);
          if (status != 0) return status;
          return walk(yes ? s.then_case : s.else_case);
        },
        [&](const tir::While& s) {
          std::int32_t status = 0;
          while (status == 0 && flag(s.condition, status)) status = walk(s.body);
          return status;
        },
        [&](const tir::Store& s) { return store(s); },
        [&](const tir::LetStmt& s) {
          sizes_.set(s.var, tir::int_imm(sizes_.index(s.value)));
          return std::int32_t{0};
        },
        [&](const tir::Reserve& s) { return reserve(s.buffer); },
        [](const tir::For&) -> std::int32_t { TESSERA_UNREACHABLE("`for` in a host program"); },
        [](const tir::Evaluate&) -> std::int32_t {
          TESSERA_UNREACHABLE("`evaluate` in a host program");
        },
        [](const tir::Require&) -> std::int32_t {
          TESSERA_UNREACHABLE("`require` in a host program");
        },
        [](const tir::Seq&) -> std::int32_t {
          TESSERA_UNREACHABLE("`sequence` in a host program");
        });
  }

  bool on_device() const { return p_.program_.device_api != nullptr; }

  // A flag, or a size.
  std::int32_t store(const tir::Store& s) {
    void* data = at_.at(s.buffer.get());
    const std::uint8_t flag = tir::is_int(s.value, 0) ? 0 : 1;
    if (s.buffer->dtype != kBool) {
      static_cast<std::int64_t*>(data)[sizes_.index(s.indices.at(0))] = sizes_.index(s.value);
    } else if (on_device() && !tir::is_on_host(s.buffer)) {
      return tessera_set_flag(&frame_, data, flag);
    } else {
      *static_cast<std::uint8_t*>(data) = flag;
    }
    return 0;
  }

  // Memory for the sizes that a buffer has now, in the heap or of an output.
  std::int32_t reserve(const Buffer& buffer) {
    void*& data = at_[buffer.get()];
    if (const auto i = late_outputs_.find(buffer.get()); i != late_outputs_.end()) {
      data = tessera_output_reserve(&frame_, i->second);
    } else {
      const std::vector<std::int64_t> shape = values(buffer->shape);
      data =
          tessera_heap_reserve(&frame_, p_.plan_.heap.at(buffer.get()), buffer->dtype.size_bytes(),
                               shape.data(), static_cast<std::int32_t>(shape.size()));
    }
    return data == nullptr ? 1 : 0;
  }

  std::int64_t byte_count(const Buffer& buffer) {
    std::int64_t bytes = buffer->dtype.size_bytes();
    for (const tir::Expr& e : buffer->shape) bytes *= sizes_.index(e);
    return bytes;
  }

  std::int32_t allocate(const Buffer& buffer) {
    void*& data = at_[buffer.get()];
    if (tir::sizes_vector(buffer)) {
      data = nullptr;  // until it is reserved
      return 0;
    }
    if (buffer->scope == tir::MemoryScope::kStack) {
      auto& values = stack_[buffer.get()];
      values.resize(
          static_cast<std::size_t>(std::max<std::int64_t>(tir::constant_size(buffer), 1)));
      data = values.data();
      return 0;
    }
    if (p_.plan_.heap.contains(buffer.get())) return reserve(buffer);
    const plan::Placement& at = p_.plan_.buffers.at(buffer.get());
    data = static_cast<char*>(frame_.pools[at.pool]) + at.offset;
    return 0;
  }

  std::vector<std::int64_t> values(const std::vector<tir::Expr>& sizes) {
    std::vector<std::int64_t> out;
    for (const tir::Expr& e : sizes) out.push_back(sizes_.index(e));
    return out;
  }

  // Conditions of a host program are scalars in its memory.
  bool flag(const tir::Expr& e, std::int32_t& status) const {
    const auto* load = e.as<tir::Load>();
    TESSERA_CHECK(load != nullptr && load->indices.empty(), "a condition that is no scalar");
    const void* at = at_.at(load->buffer.get());
    if (on_device() && !tir::is_on_host(load->buffer)) {
      return tessera_flag(&frame_, at, &status) != 0;
    }
    return *static_cast<const std::uint8_t*>(at) != 0;
  }

  std::int32_t call(const tir::CallKernel& s) {
    std::vector<Buffer> buffers = s.inputs;
    buffers.insert(buffers.end(), s.outputs.begin(), s.outputs.end());
    std::vector<void*> pointers;
    for (const Buffer& b : buffers) pointers.push_back(at_.at(b.get()));
    const auto external = p_.externs_.find(s.symbol);
    if (external == p_.externs_.end()) {
      const auto kernel = p_.kernels_.find(s.symbol);
      TESSERA_CHECK(kernel != p_.kernels_.end(), "the kernel library lacks `{}`", s.symbol);
      const std::vector<std::int64_t> dims = values(s.dims);
      if (on_device() && plan::computes_on_cpu(*p_.module_, s.symbol)) {
        const std::vector<bool> copied =
            plan::copied_for_cpu(s, p_.module_->prim_funcs.at(s.symbol));
        std::vector<std::int64_t> bytes;
        for (std::size_t i = 0; i < buffers.size(); ++i) {
          bytes.push_back(copied[i] ? byte_count(buffers[i]) : 0);
        }
        return tessera_kernel_on_host(&frame_, kernel->second, pointers.data(), bytes.data(),
                                      static_cast<std::int32_t>(s.inputs.size()),
                                      static_cast<std::int32_t>(pointers.size()), dims.data());
      }
      return kernel->second(pointers.data(), dims.data(), frame_.call);
    }
    const tessera_program_extern& e = p_.program_.externs[external->second];
    const tessera_call& record = frame_.extern_calls[external->second];
    if (e.kernel_fn != nullptr) return e.kernel_fn(pointers.data(), values(s.dims).data(), &record);
    return call_tensors(s, e, record, buffers, pointers);
  }

  std::int32_t call_tensors(const tir::CallKernel& s, const tessera_program_extern& e,
                            const tessera_call& record, const std::vector<Buffer>& buffers,
                            const std::vector<void*>& pointers) {
    std::vector<std::vector<std::int64_t>> shapes;
    for (const Buffer& b : buffers) shapes.push_back(values(b->shape));
    std::vector<tessera_tensor> tensors(buffers.size());
    std::vector<tessera_tensor*> list;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      const DType t = buffers[i]->dtype;
      tensors[i] = {pointers[i],
                    frame_.call->device,
                    static_cast<std::int32_t>(shapes[i].size()),
                    {static_cast<std::uint8_t>(t.code), t.bits, t.lanes},
                    shapes[i].data(),
                    nullptr,
                    0};
      list.push_back(&tensors[i]);
    }
    const auto count = static_cast<std::int32_t>(list.size());
    if (on_device() && plan::computes_on_cpu(*p_.module_, s.symbol)) {
      return tessera_call_on_host(&frame_, e.backend_fn, &record, list.data(),
                                  static_cast<std::int32_t>(s.inputs.size()), count);
    }
    return e.backend_fn(&record, list.data(), count);
  }

  // What a call is given: copies of what its results take the place of, and of all that is on a
  // device.
  std::int32_t inputs_before(const tir::CallKernel& s, std::vector<Tensor>& inputs) {
    inputs = views(s.inputs);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const bool is_lost = std::any_of(s.outputs.begin(), s.outputs.end(), [&](const Buffer& b) {
        return at_.at(b.get()) == at_.at(s.inputs[i].get());
      });
      if (is_lost && !on_device()) inputs[i].blob = Blob::copy_of(inputs[i].blob->bytes());
    }
    return fetch_all(inputs);
  }

  std::int32_t report(const tir::CallKernel& s, const std::vector<Tensor>& inputs) {
    std::vector<Tensor> outputs = views(s.outputs);
    if (const std::int32_t status = fetch_all(outputs); status != 0) return status;
    p_.observer_(s.symbol, inputs, outputs);
    return 0;
  }

  std::int32_t fetch_all(std::vector<Tensor>& tensors) {
    for (Tensor& t : tensors) {
      if (const std::int32_t status = on_device() ? fetch(t) : 0; status != 0) return status;
    }
    return 0;
  }

  // A copy in the host's memory, once the device has got there, in place of what lies on it.
  std::int32_t fetch(Tensor& t) {
    const tessera_device_api& api = *p_.program_.device_api;
    const std::span<const std::byte> there = t.blob->bytes();
    std::vector<std::byte> here(there.size());
    tessera_device_error error = {};
    std::int32_t status = there.empty() ? 0
                                        : api.copy(here.data(), there.data(), here.size(),
                                                   frame_.call->stream, &error);
    if (status == 0) status = api.synchronize(frame_.call->stream, &error);
    if (status != 0) frame_.call->set_error(frame_.call, error.text);
    t.blob = Blob::copy_of(here);
    return status;
  }

  std::vector<Tensor> views(const std::vector<Buffer>& buffers) {
    std::vector<Tensor> out;
    for (const Buffer& b : buffers) {
      std::vector<std::int64_t> shape = values(b->shape);
      std::size_t bytes = static_cast<std::size_t>(b->dtype.size_bytes());
      for (const std::int64_t n : shape) bytes *= static_cast<std::size_t>(n);
      const auto* data = static_cast<const std::byte*>(at_.at(b.get()));
      out.emplace_back(std::move(shape), b->dtype,
                       std::make_shared<Blob>(std::span(data, bytes), nullptr));
    }
    return out;
  }

  const HostInterpreter& p_;
  const tessera_frame& frame_;
  std::map<const BufferNode*, void*> at_;
  std::map<const BufferNode*, std::int32_t> late_outputs_;        // their numbers
  std::map<const BufferNode*, std::vector<std::int64_t>> stack_;  // what is in the program's frame
  tir::Evaluator sizes_;
};

std::int32_t HostInterpreter::run_entry(const tessera_frame* frame) {
  return Run(*static_cast<const HostInterpreter*>(frame->context), *frame).run();
}

void HostInterpreter::output_shapes(void* context, const std::int64_t* dims, std::int64_t* shapes) {
  const tir::PrimFunc& main = static_cast<const HostInterpreter*>(context)->entry_;
  tir::Evaluator sizes = sizes_of_dims(main, dims);
  for (const plan::ResultPort& p : plan::result_ports(main)) {
    for (const tir::Expr& e : p.buffer->shape) {
      *shapes++ = e.as<tir::Load>() == nullptr ? sizes.index(e) : -1;
    }
  }
}

std::int64_t HostInterpreter::input_size(void* context, const std::int64_t* dims,
                                         std::int32_t input, std::int32_t dimension) {
  const tir::PrimFunc& main = static_cast<const HostInterpreter*>(context)->entry_;
  const auto i = static_cast<std::size_t>(input), d = static_cast<std::size_t>(dimension);
  return sizes_of_dims(main, dims).index(main.inputs[i]->shape[d]);
}

}  // namespace tessera::exec
