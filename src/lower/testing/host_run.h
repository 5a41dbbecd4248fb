// SPDX-License-Identifier: Apache-2.0
// For tests: what a host program computes.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "lower/testing/kernel_run.h"
#include "module/module.h"
#include "tir/expr_ops.h"
#include "tir/walk.h"

namespace tessera::lower::testing {

// Runs a host program by interpreting the kernels that it calls.
class HostRun {
 public:
  HostRun(const Module& module, const std::vector<Tensor>& inputs)
      : module_(module), main_(module.prim_funcs.at("main")) {
    for (std::size_t i = 0; i < inputs.size(); ++i) own(main_.inputs[i], &inputs[i]);
    for (const tir::Buffer& b : main_.outputs) own(b, nullptr);
    walk(main_.body);
  }

  std::vector<Tensor> outputs() const {
    std::vector<Tensor> out;
    for (const tir::Buffer& b : main_.outputs) {
      const Type type = testing::type_of_buffer(b);
      out.emplace_back(*constant_shape(type.shape()), type.dtype(),
                       Blob::copy_of(*memory_.at(b.get())));
    }
    return out;
  }

 private:
  using Bytes = std::shared_ptr<std::vector<std::byte>>;

  void own(const tir::Buffer& b, const Tensor* data) {
    const auto size = tir::constant_size(b) * b->dtype.size_bytes();
    memory_[b.get()] = std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(size));
    if (data == nullptr) return;
    const auto bytes = data->blob->bytes();
    memory_[b.get()]->assign(bytes.begin(), bytes.end());
  }

  void walk(const tir::Stmt& s) {
    tir::visit(
        s,
        [&](const tir::Seq& n) {
          for (const tir::Stmt& part : n.body) walk(part);
        },
        [&](const tir::Allocate& n) { own(n.buffer, nullptr), walk(n.body); },
        [&](const tir::AllocateConst& n) {
          own(n.buffer, &module_.constants.resolve(n.data)), walk(n.body);
        },
        [&](const tir::View& n) {
          memory_[n.buffer.get()] = memory_.at(n.source.get()), walk(n.body);
        },
        [&](const tir::CallKernel& n) { call(n); },
        [&](const tir::IfThenElse& n) {
          if (flag(n.condition)) return walk(n.then_case);
          if (n.else_case) walk(n.else_case);
        },
        [&](const tir::While& n) {
          while (flag(n.condition)) walk(n.body);
        },
        [&](const tir::Store& n) {
          memory_.at(n.buffer.get())->front() = std::byte(*tir::as_int(n.value));
        },
        [&](tir::Otherwise) { ADD_FAILURE() << "a statement of another kind"; });
  }

  bool flag(const tir::Expr& e) const {
    return memory_.at(e.as<tir::Load>()->buffer.get())->front() != std::byte{0};
  }

  void call(const tir::CallKernel& n) {
    std::vector<void*> pointers;
    for (const auto* list : {&n.inputs, &n.outputs}) {
      for (const tir::Buffer& b : *list) pointers.push_back(memory_.at(b.get())->data());
    }
    tir::interpret(module_.prim_funcs.at(n.symbol), pointers);
  }

  const Module& module_;
  const tir::PrimFunc& main_;
  std::map<const tir::BufferNode*, Bytes> memory_;
};

}  // namespace tessera::lower::testing
