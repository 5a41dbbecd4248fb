// SPDX-License-Identifier: Apache-2.0
#include "lower/host_program.h"

#include <algorithm>
#include <set>

#include "tir/compare.h"
#include "tir/dim_vars.h"
#include "tir/stmt.h"

namespace tessera::lower {

using tir::Buffer;
using tir::Stmt;

tir::Expr HostProgram::size(const Dim& dim) const {
  return tir::dim_expr(dim, [&](const std::string& symbol) {
    const auto it = symbols_.find(symbol);
    TESSERA_CHECK(it != symbols_.end(), "the size `{}` has no value here", symbol);
    return it->second;
  });
}

Buffer HostProgram::buffer_of_type(const std::string& name, const Type& type) const {
  std::vector<tir::Expr> shape;
  for (const Dim& dim : type.shape()) shape.push_back(size(dim));
  return tir::make_buffer(name, type.dtype(), std::move(shape));
}

bool HostProgram::has_type(const Buffer& b, const Type& type) const {
  return b->dtype == type.dtype() &&
         std::equal(type.shape().begin(), type.shape().end(), b->shape.begin(), b->shape.end(),
                    [&](const Dim& x, const tir::Expr& y) { return tir::equal(size(x), y); });
}

HostValue HostProgram::add_root(const std::string& name, const Type& type) {
  roots_.push_back({buffer_of_type(name, type), -1, std::nullopt, false});
  return {static_cast<int>(roots_.size()) - 1, -1};
}

HostValue HostProgram::input(const std::string& name, const Type& type) {
  for (const Dim& dim : type.shape()) {
    for (const std::string& symbol : dim.symbols()) {
      const auto [it, added] = symbols_.try_emplace(symbol);
      if (!added) continue;
      it->second = tir::make_var(symbol);
      dims_.push_back(it->second);
    }
  }
  const HostValue v = add_root(name, type);
  inputs_.push_back(v.root);
  return v;
}

HostValue HostProgram::constant(ConstantIndex index, const Tensor& tensor) {
  if (const auto it = constants_.find(index); it != constants_.end()) return {it->second, -1};
  const HostValue v = add_root(fmt::format("constant_{}", index.index()), tensor.type());
  roots_.back().constant = index;
  constants_[index] = v.root;
  return v;
}

std::vector<HostValue> HostProgram::call(HostCall call, const std::vector<Type>& types,
                                         const std::string& name) {
  std::vector<HostValue> results;
  for (std::size_t i = 0; i < types.size(); ++i) {
    results.push_back(add_root(types.size() == 1 ? name : fmt::format("{}_{}", name, i), types[i]));
    roots_.back().step = static_cast<int>(steps_.size());
    roots_.back().allocated = true;
  }
  steps_.push_back({std::move(call), results});
  return results;
}

HostValue HostProgram::view(HostValue value, const Type& type) {
  if (has_type(roots_[static_cast<std::size_t>(value.root)].buffer, type)) return {value.root, -1};
  for (std::size_t i = 0; i < views_.size(); ++i) {
    if (views_[i].root == value.root && has_type(views_[i].buffer, type)) {
      return {value.root, static_cast<int>(i)};
    }
  }
  const std::string& name = roots_[static_cast<std::size_t>(value.root)].buffer->name;
  views_.push_back({value.root, buffer_of_type(name + "_view", type)});
  return {value.root, static_cast<int>(views_.size()) - 1};
}

const Buffer& HostProgram::buffer(HostValue v) const {
  return v.view >= 0 ? views_[static_cast<std::size_t>(v.view)].buffer
                     : roots_[static_cast<std::size_t>(v.root)].buffer;
}

std::vector<bool> HostProgram::copies_needed(const std::vector<HostValue>& results) const {
  std::vector<bool> copies;
  std::set<int> given;
  for (const HostValue& v : results) {
    const bool made_by_call = roots_[static_cast<std::size_t>(v.root)].step >= 0;
    copies.push_back(!made_by_call || !given.insert(v.root).second);
  }
  return copies;
}

// The value's bytes become output memory: the output has the value's shape, what the kernel writes
// is a view of it where the shapes differ.
void HostProgram::give_away(HostValue result, const std::string& name, tir::PrimFunc& f) {
  Root& root = roots_[static_cast<std::size_t>(result.root)];
  TESSERA_CHECK(root.step >= 0 && root.allocated, "an output that needs a copy");
  root.allocated = false;
  const Buffer& shaped = buffer(result);
  const Buffer output = tir::make_buffer(name, shaped->dtype, shaped->shape);
  f.outputs.push_back(output);
  if (result.view < 0) {
    root.buffer = output;
    return;
  }
  source_[result.root] = output;
  views_[static_cast<std::size_t>(result.view)].buffer = output;
}

tir::PrimFunc HostProgram::finish(const std::vector<HostValue>& results,
                                  const std::vector<std::string>& names) {
  tir::PrimFunc f;
  f.is_host = true;
  f.dims = dims_;
  for (int root : inputs_) f.inputs.push_back(roots_[static_cast<std::size_t>(root)].buffer);
  for (std::size_t i = 0; i < results.size(); ++i) give_away(results[i], names[i], f);

  // Declarations stand in front of the first call that can use them; the program is built from its
  // end.
  Stmt body = tir::seq({});
  for (std::size_t s = steps_.size(); s-- > 0;) body = with_step(s, f.outputs, body);
  body = with_views(-1, f.outputs, body);
  for (std::size_t r = roots_.size(); r-- > 0;) {
    if (roots_[r].constant) {
      body = tir::AllocateConst::make(roots_[r].buffer, ConstantValue(*roots_[r].constant), body);
    }
  }
  f.body = body;
  return f;
}

// `body` inside of the views of what a step makes (-1: of inputs and constants).
Stmt HostProgram::with_views(int step, const std::vector<Buffer>& outputs, Stmt body) const {
  for (std::size_t i = views_.size(); i-- > 0;) {
    const Root& root = roots_[static_cast<std::size_t>(views_[i].root)];
    const bool is_output =
        std::find(outputs.begin(), outputs.end(), views_[i].buffer) != outputs.end();
    if (root.step == step && !is_output) {
      body = tir::View::make(views_[i].buffer, root.buffer, body);
    }
  }
  return body;
}

// A call, with the memory it writes declared in front of it and the views of that behind it.
Stmt HostProgram::with_step(std::size_t number, const std::vector<Buffer>& outputs,
                            Stmt body) const {
  const Step& step = steps_[number];
  body = with_views(static_cast<int>(number), outputs, body);
  std::vector<Buffer> in, out;
  for (const HostValue& v : step.call.inputs) in.push_back(buffer(v));
  for (const HostValue& v : step.outputs) out.push_back(buffer(v));
  std::vector<tir::Expr> dims;
  for (const Dim& dim : step.call.dims) dims.push_back(size(dim));
  body = tir::seq({tir::CallKernel::make(step.call.symbol, in, out, dims), body});
  for (std::size_t i = step.outputs.size(); i-- > 0;) {
    const int r = step.outputs[i].root;
    const Root& root = roots_[static_cast<std::size_t>(r)];
    if (root.allocated) body = tir::Allocate::make(root.buffer, body);
    if (const auto it = source_.find(r); it != source_.end()) {
      body = tir::View::make(root.buffer, it->second, body);
    }
  }
  return body;
}

}  // namespace tessera::lower
