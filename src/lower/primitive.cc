// SPDX-License-Identifier: Apache-2.0
#include "lower/primitive.h"

#include <unordered_map>

#include <fmt/ranges.h>

#include "lower/index_check.h"
#include "lower/stages.h"
#include "tir/names.h"
#include "tir/simplify.h"
#include "tir/walk.h"

namespace tessera::lower {
namespace {

using tir::Buffer;
using tir::Expr;
using tir::Stmt;

Expr scalar_literal(const Tensor& t) {
  if (t.dtype.is_float()) return tir::float_imm(element_as_double(t, 0), t.dtype);
  return tir::int_imm(element_as_int(t, 0), t.dtype);
}

// Turns stages into loops; owns the mapping from tensors to buffers.
class NestBuilder : public tir::Mutator {
 public:
  explicit NestBuilder(const Definitions& definitions) : definitions_(definitions) {}

  tir::PrimFunc run() {
    for (const auto& input : definitions_.inputs) {
      f_.inputs.push_back(new_buffer(input.ref()));
      buffer_of_[input.ref().get()] = f_.inputs.back();
    }
    std::vector<Stage> stages = choose_stages(definitions_);
    f_.outputs.resize(definitions_.outputs.size());
    for (const Stage& s : stages) targets_.push_back(target_of(s));
    std::vector<Stmt> nests;
    for (std::size_t i = 0; i < stages.size(); ++i) {
      nests.push_back(nest(stages[i], targets_[i]));
    }
    f_.body = tir::seq(std::move(nests));
    for (auto it = temporaries_.rbegin(); it != temporaries_.rend(); ++it) {
      f_.body = tir::Allocate::make(*it, f_.body);
    }
    for (auto it = tables_.rbegin(); it != tables_.rend(); ++it) {
      f_.body = tir::AllocateConst::make(it->first, ConstantValue(*it->second), f_.body);
    }
    for (const auto& formal : definitions_.dims.formals()) f_.dims.push_back(formal.var);
    f_.attrs["ops"] = fmt::format("{}", fmt::join(definitions_.operators, " "));
    f_.sources = definitions_.sources;
    return std::move(f_);
  }

  using Mutator::mutate;
  // Reads become loads.
  Expr mutate(const Expr& e) override {
    const Expr inner = Mutator::mutate(e);
    const auto* r = inner.as<tir::Read>();
    if (r == nullptr) return inner;
    const tir::TensorNode& t = *r->tensor;
    if (t.data != nullptr && t.data->num_elements() == 1) return scalar_literal(*t.data);
    return tir::load(source_of(r->tensor), r->indices);
  }

 private:
  Buffer new_buffer(const tir::TensorRef& t) {
    return tir::make_buffer(tir::identifier(t->name), t->dtype, t->shape);
  }

  // The first stage of an output defines it; a further one with the same tensor is a copy, which
  // nobody reads.
  Buffer target_of(const Stage& s) {
    const Buffer buffer = new_buffer(s.tensor);
    if (s.output >= 0) {
      f_.outputs[static_cast<std::size_t>(s.output)] = buffer;
    } else {
      temporaries_.push_back(buffer);
    }
    if (s.tensor->body) buffer_of_.emplace(s.tensor.get(), buffer);
    return buffer;
  }

  Buffer source_of(const tir::TensorRef& t) {
    const auto it = buffer_of_.find(t.get());
    if (it != buffer_of_.end()) return it->second;
    TESSERA_CHECK(t->table != nullptr, "`{}` is read but neither an input nor computed", t->name);
    const Buffer buffer =
        tir::make_buffer(tir::identifier(t->name), t->dtype, t->shape, tir::MemoryScope::kConstant);
    tables_.emplace_back(buffer, t->table);
    buffer_of_[t.get()] = buffer;
    return buffer;
  }

  Stmt nest(const Stage& s, const Buffer& target) {
    const auto store = [&](Expr value) {
      return tir::Store::make(target, s.indices, std::move(value));
    };
    const auto loops = [](const std::vector<tir::IterAxis>& axes, Stmt body) {
      for (auto it = axes.rbegin(); it != axes.rend(); ++it) {
        body = tir::For::make(it->var, Expr(0), it->extent, tir::ForKind::kSerial, body);
      }
      return body;
    };
    const Expr value = mutate(s.value);
    Stmt leaf =
        store(s.reduces ? tir::reduce_step(s.op, tir::load(target, s.indices), value) : value);
    for (auto it = s.lets.rbegin(); it != s.lets.rend(); ++it) {
      leaf = tir::LetStmt::make(it->var, mutate(it->value), leaf);
    }
    if (s.reduces) {
      leaf = tir::seq({store(tir::reduce_identity(s.op, target->dtype)), loops(s.reduction, leaf)});
    }
    return loops(s.axes, leaf);
  }

  const Definitions& definitions_;
  tir::PrimFunc f_;
  std::vector<Buffer> targets_, temporaries_;
  std::vector<std::pair<Buffer, std::shared_ptr<const Tensor>>> tables_;
  std::unordered_map<const tir::TensorNode*, Buffer> buffer_of_;
};

}  // namespace

tir::PrimFunc lower_definitions(const Definitions& definitions) {
  return tir::simplify(NestBuilder(definitions).run());
}

Result<tir::PrimFunc> lower_primitive(const relay::Function& f, relay::RegionId region,
                                      const ConstantPool& pool) {
  TESSERA_TRY(const Definitions definitions, define_region(f, region, pool));
  return with_index_checks(lower_definitions(definitions), f, region, pool);
}

}  // namespace tessera::lower
