// SPDX-License-Identifier: Apache-2.0
#include "exec/host_interpreter.h"

#include "tir/walk.h"

namespace tessera::exec {
namespace {

using tir::Buffer;
using tir::BufferNode;
using tir::Stmt;

// Calls f for each CallKernel in the order of the text.
template <class F>
void for_each_call(const Stmt& stmt, F&& f) {
  if (!stmt) return;
  if (const auto* call = stmt.as<tir::CallKernel>()) f(stmt, *call);
  tir::for_each_child(stmt, [&](const Stmt& child) { for_each_call(child, f); });
}

}  // namespace

HostInterpreter::HostInterpreter(std::shared_ptr<const Module> module, plan::MemoryPlan plan,
                                 const tessera_program& library,
                                 std::shared_ptr<const void> keep_alive, const std::string& entry)
    : module_(std::move(module)),
      plan_(std::move(plan)),
      entry_(module_->prim_funcs.at(entry)),
      tables_(entry_, plan_, library),
      library_(std::move(keep_alive)),
      program_(library) {
  for (std::int32_t i = 0; i < library.extern_count; ++i) externs_[library.externs[i].symbol] = i;
  for (std::int32_t i = 0; i < library.kernel_count; ++i) {
    kernels_[library.kernels[i].name] = library.kernels[i].fn;
  }
  for (std::size_t i = 0; i < plan_.pools.size(); ++i) pools_[plan_.pools[i].name] = i;
  for (const Tensor& t : module_->constants.tensors()) {
    // Weights lie in a model's file at any offset.
    constant_data_.push_back(t.blob->aligned_bytes(alignof(std::max_align_t)).data());
  }
  for_each_call(entry_.body, [&](const Stmt& s, const tir::CallKernel& c) {
    step_of_[s.get()] = static_cast<std::int32_t>(steps_.size());
    const auto found = module_->externs.find(c.symbol);
    TESSERA_CHECK(found != module_->externs.end(), "`{}` is not defined", c.symbol);
    steps_.push_back({found->first.c_str(), found->second.backend.c_str()});
  });
  tables_.put_into(program_);
  program_.constant_data = constant_data_.data();
  program_.steps = steps_.data();
  program_.step_count = static_cast<std::int32_t>(steps_.size());
  program_.entry = &HostInterpreter::run_entry;
  program_.context = this;
}

// One run: where each buffer in scope lies.
class HostInterpreter::Run {
 public:
  Run(const HostInterpreter& program, const tessera_frame& frame) : p_(program), frame_(frame) {}

  std::int32_t run() {
    const tir::PrimFunc& main = p_.entry_;
    for (std::size_t i = 0; i < main.inputs.size(); ++i)
      at_[main.inputs[i].get()] = frame_.inputs[i];
    for (std::size_t i = 0; i < main.outputs.size(); ++i) {
      at_[main.outputs[i].get()] = frame_.outputs[i];
    }
    return walk(main.body);
  }

 private:
  std::int32_t walk(const Stmt& stmt) {
    return tir::visit(
        stmt,
        [&](const tir::Seq& s) {
          for (const Stmt& each : s.body) {
            if (const std::int32_t status = walk(each); status != 0) return status;
          }
          return std::int32_t{0};
        },
        [&](const tir::Allocate& s) {
          const plan::Placement& at = p_.plan_.buffers.at(s.buffer.get());
          at_[s.buffer.get()] =
              static_cast<char*>(frame_.pools[p_.pools_.find(at.pool)->second]) + at.offset;
          return walk(s.body);
        },
        [&](const tir::AllocateConst& s) {
          const auto* index = std::get_if<ConstantIndex>(&s.data);
          TESSERA_CHECK(index != nullptr, "a host program's constants are in the module's pool");
          at_[s.buffer.get()] = const_cast<void*>(frame_.constants[index->index()]);
          return walk(s.body);
        },
        [&](const tir::View& s) {
          at_[s.buffer.get()] = at_.at(s.source.get());
          return walk(s.body);
        },
        [&](const tir::CallKernel& s) {
          const std::int32_t status = call(s);
          if (status == 0 && p_.observer_) report(s);
          if (status == 0 && frame_.profile != nullptr) {
            tessera_profile_mark(frame_.profile, p_.step_of_.at(stmt.get()));
          }
          return status;
        },
        [&](tir::Otherwise) -> std::int32_t {
          TESSERA_UNREACHABLE("statement kind {} in a host program", static_cast<int>(stmt.kind()));
        });
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
      return kernel->second(pointers.data(), dims(s).data(), frame_.call);
    }
    const tessera_program_extern& e = p_.program_.externs[external->second];
    const tessera_call& record = frame_.extern_calls[external->second];
    if (e.kernel_fn != nullptr) return e.kernel_fn(pointers.data(), dims(s).data(), &record);
    return call_tensors(e, record, buffers, pointers);
  }

  std::int32_t call_tensors(const tessera_program_extern& e, const tessera_call& record,
                            const std::vector<Buffer>& buffers,
                            const std::vector<void*>& pointers) const {
    std::vector<std::vector<std::int64_t>> shapes;
    for (const Buffer& b : buffers) shapes.push_back(constant_sizes(*b));
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
    return e.backend_fn(&record, list.data(), static_cast<std::int32_t>(list.size()));
  }

  void report(const tir::CallKernel& s) const {
    p_.observer_(s.symbol, views(s.inputs), views(s.outputs));
  }

  std::vector<Tensor> views(const std::vector<Buffer>& buffers) const {
    std::vector<Tensor> out;
    for (const Buffer& b : buffers) {
      std::vector<std::int64_t> shape = constant_sizes(*b);
      std::size_t bytes = static_cast<std::size_t>(b->dtype.size_bytes());
      for (const std::int64_t n : shape) bytes *= static_cast<std::size_t>(n);
      const auto* data = static_cast<const std::byte*>(at_.at(b.get()));
      out.emplace_back(std::move(shape), b->dtype,
                       std::make_shared<Blob>(std::span(data, bytes), nullptr));
    }
    return out;
  }

  static std::vector<std::int64_t> dims(const tir::CallKernel& s) {
    std::vector<std::int64_t> values;
    for (const tir::Expr& e : s.dims) {
      const std::int64_t* n = tir::as_int(e);
      TESSERA_CHECK(n != nullptr, "a dimension of `{}` is not a number", s.symbol);
      values.push_back(*n);
    }
    return values;
  }

  const HostInterpreter& p_;
  const tessera_frame& frame_;
  std::map<const BufferNode*, void*> at_;
};

std::int32_t HostInterpreter::run_entry(const tessera_frame* frame) {
  return Run(*static_cast<const HostInterpreter*>(frame->context), *frame).run();
}

}  // namespace tessera::exec
