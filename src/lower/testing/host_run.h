// SPDX-License-Identifier: Apache-2.0
// For tests: what a host program computes.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "lower/testing/kernel_run.h"
#include "module/module.h"
#include "tir/evaluate.h"
#include "tir/expr_ops.h"
#include "tir/walk.h"

namespace tessera::lower::testing {

// Runs a host program by interpreting the kernels that it calls.
class HostRun {
 public:
  HostRun(const Module& module, const std::vector<Tensor>& inputs)
      : module_(module), main_(module.prim_funcs.at("main")) {
    sizes_.load = [this](const tir::Buffer& b, const std::vector<std::int64_t>& at) {
      return tir::int_imm(sizes_in(b)[at.at(0)]);
    };
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      for (std::size_t d = 0; d < inputs[i].shape.size(); ++d) {
        const tir::Expr& extent = main_.inputs[i]->shape[d];
        if (extent.as<tir::Var>() != nullptr) sizes_.set(extent, tir::int_imm(inputs[i].shape[d]));
      }
      own(main_.inputs[i], &inputs[i]);
    }
    for (const tir::Buffer& b : main_.outputs) own(b, nullptr);
    walk(main_.body);
  }

  std::vector<Tensor> outputs() const {
    std::vector<Tensor> out;
    for (const tir::Buffer& b : main_.outputs) {
      const bool has_sizes =
          std::any_of(main_.outputs.begin(), main_.outputs.end(),
                      [&](const tir::Buffer& other) { return tir::sizes_vector(other) == b; });
      if (has_sizes) continue;  // those of an output, not one itself
      std::vector<std::int64_t> shape;
      for (const tir::Expr& e : b->shape) shape.push_back(sizes_.index(e));
      out.emplace_back(std::move(shape), b->dtype, Blob::copy_of(*memory_.at(b.get())));
    }
    return out;
  }

 private:
  using Bytes = std::shared_ptr<std::vector<std::byte>>;

  void own(const tir::Buffer& b, const Tensor* data) {
    if (tir::sizes_vector(b)) return;  // until it is reserved
    reserve(b);
    if (data == nullptr) return;
    const auto bytes = data->blob->bytes();
    memory_[b.get()]->assign(bytes.begin(), bytes.end());
  }

  void reserve(const tir::Buffer& b) {
    std::int64_t size = b->dtype.size_bytes();
    for (const tir::Expr& e : b->shape) size *= sizes_.index(e);
    // An output is there before the program says that it would have a size below zero.
    size = std::max<std::int64_t>(size, 0);
    memory_[b.get()] = std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(size));
  }

  std::int64_t* sizes_in(const tir::Buffer& b) {
    return reinterpret_cast<std::int64_t*>(memory_.at(b.get())->data());
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
          if (n.buffer->dtype == kBool) {
            memory_.at(n.buffer.get())->front() = std::byte(*tir::as_int(n.value));
          } else {
            sizes_in(n.buffer)[sizes_.index(n.indices.at(0))] = sizes_.index(n.value);
          }
        },
        [&](const tir::LetStmt& n) {
          sizes_.set(n.var, tir::int_imm(sizes_.index(n.value)));
          walk(n.body);
        },
        [&](const tir::Reserve& n) { reserve(n.buffer); },
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
    std::vector<std::int64_t> dims;
    for (const tir::Expr& e : n.dims) dims.push_back(sizes_.index(e));
    const tir::PrimFunc& kernel = module_.prim_funcs.at(n.symbol);
    check_sizes(kernel, n, dims);
    tir::interpret(kernel, pointers, dims);
  }

  // A kernel looks at no more of a buffer than the program has.
  void check_sizes(const tir::PrimFunc& kernel, const tir::CallKernel& n,
                   const std::vector<std::int64_t>& dims) const {
    tir::Evaluator formals;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      formals.set(kernel.dims[i], tir::int_imm(dims[i]));
    }
    std::vector<tir::Buffer> given = n.inputs, taken = kernel.inputs;
    given.insert(given.end(), n.outputs.begin(), n.outputs.end());
    taken.insert(taken.end(), kernel.outputs.begin(), kernel.outputs.end());
    for (std::size_t i = 0; i < taken.size(); ++i) {
      std::int64_t bytes = taken[i]->dtype.size_bytes();
      for (const tir::Expr& e : taken[i]->shape) bytes *= formals.index(e);
      const auto has = static_cast<std::int64_t>(memory_.at(given[i].get())->size());
      TESSERA_CHECK(bytes <= has, "`{}` of `{}` is larger, {} bytes, than what it is given, {}",
                    taken[i]->name, n.symbol, bytes, has);
    }
  }

  const Module& module_;
  const tir::PrimFunc& main_;
  std::map<const tir::BufferNode*, Bytes> memory_;
  mutable tir::Evaluator sizes_;  // it only remembers the sizes
};

}  // namespace tessera::lower::testing
