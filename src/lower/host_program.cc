// SPDX-License-Identifier: Apache-2.0
#include "lower/host_program.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "tir/compare.h"
#include "tir/dim_vars.h"
#include "tir/expr_ops.h"
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
  Root root;
  root.buffer = buffer_of_type(name, type);
  root.count = num_elements(type.shape());
  root.has_run_time_size = has_run_time_size(type);
  roots_.push_back(std::move(root));
  return {static_cast<int>(roots_.size()) - 1, -1};
}

void HostProgram::comes_with_next_step(HostValue value) {
  root(value.root).block = open_.back();
  root(value.root).step = static_cast<int>(blocks_[static_cast<std::size_t>(open_.back())].size());
}

HostProgram::Step& HostProgram::add_step(StepKind kind, HostCall call) {
  for (const HostValue& v : call.inputs) root(v.root).is_read = true;
  Step& step = blocks_[static_cast<std::size_t>(open_.back())].emplace_back();
  step.kind = kind;
  step.call = std::move(call);
  return step;
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
    comes_with_next_step(results.back());
    roots_.back().movable = true;
  }
  add_step(StepKind::kCall, std::move(call)).outputs = results;
  return results;
}

void HostProgram::check(HostCall call) {
  const Shape sizes(call.dims.begin(), call.dims.end());
  const bool is_early =
      open_.size() == 1 && call.inputs.empty() && !has_run_time_size(tensor_type(sizes, kInt64));
  if (!is_early) {
    add_step(StepKind::kCall, std::move(call));
    return;
  }
  if (checked_.emplace(call.symbol, to_string(sizes)).second) checks_.push_back(std::move(call));
}

void HostProgram::call_into(HostCall call, HostValue into) {
  add_step(StepKind::kCall, std::move(call)).outputs = {into};
}

HostValue HostProgram::view(HostValue value, const Type& type) {
  if (has_type(root(value.root).buffer, type)) return {value.root, -1};
  const bool in_step = has_run_time_size(type) || is_late(value);
  for (const int known : root(value.root).views) {
    if (!in_step && has_type(views_[static_cast<std::size_t>(known)].buffer, type)) {
      return {value.root, known};
    }
  }
  const std::string& name = root(value.root).buffer->name;
  views_.push_back({value.root, buffer_of_type(name + "_view", type), num_elements(type.shape())});
  const HostValue view{value.root, static_cast<int>(views_.size()) - 1};
  root(view.root).views.push_back(view.view);
  if (in_step) {
    views_.back().in_step = true;
    add_step(StepKind::kView).outputs = {view};
  }
  return view;
}

int HostProgram::begin_block() {
  blocks_.emplace_back();
  open_.push_back(static_cast<int>(blocks_.size()) - 1);
  return open_.back();
}

void HostProgram::end_block() { open_.pop_back(); }

HostValue HostProgram::declare(const std::string& name, const Type& type, Memory memory) {
  const HostValue v = add_root(name, type);
  comes_with_next_step(v);
  root(v.root).movable = memory == Memory::kResult;
  add_step(StepKind::kDeclare).outputs = {v};
  return v;
}

void HostProgram::branch(HostValue condition, int then_block, int else_block) {
  Step& step = add_step(StepKind::kBranch, {"", {condition}, {}});
  step.first = then_block;
  step.second = else_block;
}

void HostProgram::loop_while(HostValue flag, int body) {
  add_step(StepKind::kLoop, {"", {flag}, {}}).first = body;
}

void HostProgram::set(HostValue flag, bool value) {
  Step& step = add_step(StepKind::kSet);
  step.outputs = {flag};
  step.flag = value;
}

// Does a step of the block, from one on, or of a block in it read the root's bytes?
bool HostProgram::reads(int block, std::size_t from, int wanted) const {
  if (!root(wanted).is_read) return false;
  const std::vector<Step>& steps = blocks_[static_cast<std::size_t>(block)];
  for (std::size_t s = from; s < steps.size(); ++s) {
    for (const HostValue& v : steps[s].call.inputs) {
      if (v.root == wanted) return true;
    }
    for (const int inner : {steps[s].first, steps[s].second}) {
      if (inner >= 0 && reads(inner, 0, wanted)) return true;
    }
  }
  return false;
}

// Is a view as large as what it shows, before that has been computed? The inputs' sizes are checked
// before the program's own steps; else the check stands where the view begins.
bool HostProgram::fits_before_it_is_written(HostValue value) const {
  const Root& from = root(value.root);
  const View& view = views_[static_cast<std::size_t>(value.view)];
  if (provably_equal(from.count, view.count) == Tri::kYes) return true;
  return from.block == 0 && !from.has_run_time_size && !view.in_step;
}

bool HostProgram::redirect(HostValue value, HostValue into) {
  Root& from = root(value.root);
  if (!from.movable || from.alias >= 0 || from.block != open_.back()) return false;
  if (value.view >= 0 && views_[static_cast<std::size_t>(value.view)].in_step) return false;
  if (value.view >= 0 && !fits_before_it_is_written(value)) return false;
  if (reads(from.block, static_cast<std::size_t>(from.step), into.root)) return false;
  from.alias = into.root;
  from.reshaped = value.view >= 0;
  if (from.reshaped) views_[static_cast<std::size_t>(value.view)].alias = into.root;
  return true;
}

const Buffer& HostProgram::buffer(HostValue v) const {
  if (v.view >= 0) {
    const View& view = views_[static_cast<std::size_t>(v.view)];
    return view.alias >= 0 ? buffer({view.alias, -1}) : view.buffer;
  }
  const Root& r = root(v.root);
  return r.alias >= 0 && !r.reshaped ? buffer({r.alias, -1}) : r.buffer;
}

std::vector<bool> HostProgram::copies_needed(const std::vector<HostValue>& results) const {
  std::vector<bool> copies;
  std::set<int> given;
  for (const HostValue& v : results) {
    const Root& r = root(v.root);
    const bool fixed = v.view >= 0 && (views_[static_cast<std::size_t>(v.view)].in_step ||
                                       !fits_before_it_is_written(v));
    copies.push_back(!late_outputs_.contains(v.root) &&
                     (!r.movable || r.alias >= 0 || fixed || !given.insert(v.root).second));
  }
  return copies;
}

// Steps and definitions from the last one on. What is in a definition's scope is there before it.
class HostProgram::Block {
 public:
  void put(Stmt s) { rest_.push_back(std::move(s)); }
  template <class N, class... A>
  void define(const A&... parts) {
    put(N::make(parts..., take()));
  }
  Stmt take() {
    std::reverse(rest_.begin(), rest_.end());
    return tir::seq(std::exchange(rest_, {}));
  }

 private:
  std::vector<Stmt> rest_;
};

tir::PrimFunc HostProgram::finish(const std::vector<HostValue>& results,
                                  const std::vector<std::string>& names) {
  tir::PrimFunc f;
  f.is_host = true;
  f.dims = dims_;
  for (int r : inputs_) f.inputs.push_back(root(r).buffer);
  // Outputs have the results' shapes; what a kernel writes is a view of them where it differs.
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Buffer shaped = buffer(results[i]);
    if (late_outputs_.contains(results[i].root)) {
      f.outputs.push_back(root(root(results[i].root).sizes).buffer);
      f.outputs.push_back(shaped);
      continue;
    }
    Root output;
    output.buffer = tir::make_buffer(names[i], shaped->dtype, shaped->shape);
    f.outputs.push_back(output.buffer);
    roots_.push_back(std::move(output));
    const bool done = redirect(results[i], {static_cast<int>(roots_.size()) - 1, -1});
    TESSERA_CHECK(done, "an output that needs a copy");
  }
  Block body;
  put_steps(0, body);
  put_checks(body);
  std::vector<int> views;  // of inputs and constants
  for (const Root& r : roots_) {
    if (r.block == 0 && r.step < 0) views.insert(views.end(), r.views.begin(), r.views.end());
  }
  put_views(std::move(views), body);
  put_constants(body);
  f.body = body.take();
  return f;
}

void HostProgram::put_constants(Block& out) const {
  for (std::size_t r = roots_.size(); r-- > 0;) {
    if (!roots_[r].constant) continue;
    out.define<tir::AllocateConst>(roots_[r].buffer, ConstantValue(*roots_[r].constant));
  }
}

void HostProgram::put_checks(Block& out) const {
  for (std::size_t i = checks_.size(); i-- > 0;) {
    out.put(step_stmt({.kind = StepKind::kCall, .call = checks_[i]}));
  }
}

// Declarations stand before the first step that can use them.
void HostProgram::put_steps(int block, Block& out) const {
  for (std::size_t s = blocks_[static_cast<std::size_t>(block)].size(); s-- > 0;) {
    put_step(block, s, out);
  }
}

Stmt HostProgram::block_stmt(int block) const {
  Block body;
  put_steps(block, body);
  return body.take();
}

// The last one first, so that they stand in the order in which they were made.
void HostProgram::put_views(std::vector<int> views, Block& out) const {
  std::sort(views.begin(), views.end(), std::greater<>());
  for (const int i : views) {
    const View& view = views_[static_cast<std::size_t>(i)];
    if (view.alias >= 0 || view.in_step) continue;
    out.define<tir::View>(view.buffer, buffer({view.root, -1}));
  }
}

bool HostProgram::is_made_by(int r, int block, std::size_t number) const {
  return root(r).block == block && root(r).step == static_cast<int>(number);
}

// A step, with the memory it writes declared before it and the views of that after it.
void HostProgram::put_step(int block, std::size_t number, Block& out) const {
  const Step& step = blocks_[static_cast<std::size_t>(block)][number];
  std::vector<int> views;
  for (const HostValue& v : step.outputs) {
    if (!is_made_by(v.root, block, number)) continue;
    views.insert(views.end(), root(v.root).views.begin(), root(v.root).views.end());
  }
  put_views(std::move(views), out);
  if (step.kind == StepKind::kBind || step.kind == StepKind::kView) {
    return put_definitions(step, out);
  }
  if (step.kind != StepKind::kDeclare) out.put(step_stmt(step));
  for (std::size_t i = step.outputs.size(); i-- > 0;) {
    if (!is_made_by(step.outputs[i].root, block, number)) continue;  // declared before
    const Root& r = root(step.outputs[i].root);
    if (r.alias < 0) out.define<tir::Allocate>(r.buffer);
    if (r.reshaped) out.define<tir::View>(r.buffer, buffer({r.alias, -1}));
  }
}

// What a step defines for what follows it: symbols or a view.
void HostProgram::put_definitions(const Step& step, Block& out) const {
  if (step.kind == StepKind::kView) {
    const View& view = views_[static_cast<std::size_t>(step.outputs[0].view)];
    return out.define<tir::View>(view.buffer, buffer({view.root, -1}));
  }
  for (std::size_t i = step.symbols.size(); i-- > 0;) {
    if (step.symbols[i].empty()) continue;
    const tir::Expr value =
        tir::load(buffer(step.call.inputs[0]), {tir::Expr(static_cast<std::int64_t>(i))});
    out.define<tir::LetStmt>(symbols_.at(step.symbols[i]), value);
  }
}

Stmt HostProgram::reserve_stmt(const Step& step) const {
  const Root& late = root(step.outputs[0].root);
  std::vector<Stmt> parts;
  for (std::size_t d = 0; d < step.call.dims.size(); ++d) {
    if (late.buffer->shape[d].as<tir::Load>() == nullptr) continue;
    parts.push_back(tir::Store::make(
        root(late.sizes).buffer, std::vector<tir::Expr>{tir::Expr(static_cast<std::int64_t>(d))},
        size(step.call.dims[d])));
  }
  parts.push_back(tir::Reserve::make(late.buffer));
  return tir::seq(std::move(parts));
}

Stmt HostProgram::step_stmt(const Step& step) const {
  const auto flag = [&](HostValue v) { return tir::load(buffer(v), {}); };
  switch (step.kind) {
    case StepKind::kBranch:
      return tir::IfThenElse::make(flag(step.call.inputs[0]), block_stmt(step.first),
                                   block_stmt(step.second));
    case StepKind::kLoop:
      return tir::While::make(flag(step.call.inputs[0]), block_stmt(step.first));
    case StepKind::kReserve:
      return reserve_stmt(step);
    case StepKind::kSet:
      return tir::Store::make(buffer(step.outputs[0]), std::vector<tir::Expr>{},
                              tir::bool_imm(step.flag));
    default:
      break;
  }
  std::vector<Buffer> in, out;
  for (const HostValue& v : step.call.inputs) in.push_back(buffer(v));
  for (const HostValue& v : step.outputs) out.push_back(buffer(v));
  std::vector<tir::Expr> dims;
  for (const Dim& dim : step.call.dims) dims.push_back(size(dim));
  return tir::CallKernel::make(step.call.symbol, in, out, dims);
}

}  // namespace tessera::lower
