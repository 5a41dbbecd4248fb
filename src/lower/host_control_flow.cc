// SPDX-License-Identifier: Apache-2.0
// Branches, and functions that are loops.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "lower/host_lowering.h"
#include "lower/primitive.h"
#include "lower/size_derivation.h"
#include "relay/evaluation_order.h"
#include "relay/rewrite.h"
#include "relay/shape_needs.h"

namespace tessera::lower {

using relay::Function;
using relay::NodeId;
using relay::RegionId;

Result<void> HostLowering::lower_if(NodeId id) {
  const auto& branch = *f_.as<relay::If>(id);
  const Values memory = declare_values(f_.type(id), "if_result", HostProgram::Memory::kResult);
  TESSERA_TRY(const int yes, lower_branch(branch.then_region, memory));
  TESSERA_TRY(const int no, lower_branch(branch.else_region, memory));
  host_.branch(values_of(f_.operands(id)).front(), yes, no);
  open_values(id, memory);
  return {};
}

// Sizes that only the values have that are put there are decided then.
HostLowering::Values HostLowering::declare_values(const Type& type, const std::string& name,
                                                  HostProgram::Memory use) {
  Values memory;
  for (const Type& t : flatten(type)) {
    const bool late = relay::has_unknown_size(t) || host_.has_run_time_size(t);
    memory.push_back(late ? host_.declare_late(name, t) : host_.declare(name, t, use));
  }
  return memory;
}

// Makes what is in this memory the value of a node, its sizes known by name from here on.
void HostLowering::open_values(NodeId id, const Values& memory) {
  value(id).clear();
  std::size_t next = 0;
  types_[id.index()] = opened(f_.type(id), memory, next, value(id));
}

Type HostLowering::opened(const Type& type, const Values& memory, std::size_t& next, Values& out) {
  if (type.is_tuple()) {
    std::vector<Type> fields;
    for (const Type& field : type.fields()) fields.push_back(opened(field, memory, next, out));
    return tuple_type(std::move(fields));
  }
  Type known = type;
  const HostValue v = memory[next++];
  out.push_back(host_.is_late(v) ? host_.opened(v, known) : v);
  return known;
}

Result<int> HostLowering::lower_branch(RegionId region, const Values& results) {
  const int block = host_.begin_block();
  const auto done = lower_region(region);
  const auto delivered = done ? deliver(region, results) : done;
  host_.end_block();
  if (!delivered) return fail(delivered.error());
  return block;
}

Result<void> HostLowering::deliver(RegionId region, const Values& into) {
  const NodeId result = f_.region(region).result;
  const Values from = values_of({&result, 1});
  const std::vector<Type> types = flatten(type(result));
  for (std::size_t i = 0; i < into.size(); ++i) {
    if (host_.has_run_time_size(types[i]) && !host_.is_late(into[i])) {
      return fail(error(Code::kNotSupported, f_[result].location,
                        "the size of this result, {}, is only known at run time, and is said to be "
                        "another",
                        to_string(types[i]))
                      .with_remedy("write `?` where the result's type is annotated"));
    }
    put(from[i], types[i], into[i]);
  }
  return {};
}

void HostLowering::put(HostValue from, const Type& type, HostValue into) {
  if (host_.is_late(into) || !host_.redirect(from, into)) copy(from, type, into);
}

void HostLowering::copy(HostValue from, const Type& type, HostValue into) {
  if (host_.is_late(into)) host_.reserve(into, type);
  const Definitions copy = copy_definition(type);
  host_.call_into({kernels_.symbol_of(lower_definitions(copy)), {from}, dims_of(copy)}, into);
}

Result<void> HostLowering::lower_loop(const TailRecursion& recursion) {
  loop_ = &recursion;
  carried_.resize(f_.params().size());
  for (std::size_t i = 0; i < f_.params().size(); ++i) {
    const NodeId param = f_.params()[i];
    if (!recursion.changes[i]) continue;
    carried_[i] = declare_values(f_.type(param), f_.as<relay::Param>(param)->name,
                                 HostProgram::Memory::kCarried);
    const std::vector<Type> types = flatten(type(param));
    for (std::size_t k = 0; k < types.size(); ++k) copy(value(param)[k], types[k], carried_[i][k]);
  }
  results_ = declare_values(f_.type(f_.result()), "loop_result", HostProgram::Memory::kResult);
  flag_ = host_.declare("goes_on", tensor_type({}, kBool), HostProgram::Memory::kCarried);
  host_.set(flag_, true);
  const int body = host_.begin_block();
  for (std::size_t i = 0; i < f_.params().size(); ++i) {
    if (recursion.changes[i]) open_values(f_.params()[i], carried_[i]);
  }
  const auto done = lower_tail(Function::kBody);
  host_.end_block();
  if (!done) return fail(done.error());
  host_.loop_while(flag_, body);
  open_values(f_.result(), results_);
  return {};
}

// May a value of this type be where the annotation says? A size that it leaves open may be any.
bool HostLowering::fits(const Type& annotation, const Type& type) {
  const std::vector<Type> wanted = flatten(annotation), found = flatten(type);
  return std::equal(
      wanted.begin(), wanted.end(), found.begin(), found.end(), [](const Type& w, const Type& t) {
        return w.dtype() == t.dtype() &&
               std::equal(w.shape().begin(), w.shape().end(), t.shape().begin(), t.shape().end(),
                          [](const Dim& a, const Dim& b) { return a == b || a.is_unknown(); });
      });
}

Result<int> HostLowering::lower_tail_block(RegionId region) {
  const int block = host_.begin_block();
  const auto done = lower_tail(region);
  host_.end_block();
  if (!done) return fail(done.error());
  return block;
}

Result<void> HostLowering::lower_tail(RegionId region) {
  const NodeId last = relay::behind_lets(f_, f_.region(region).result);
  const bool again = loop_->calls.contains(last) && f_[last].region == region;
  if (!again && !(loop_->branches.contains(last) && f_[last].region == region)) {
    TESSERA_TRY_VOID(lower_region(region));
    TESSERA_TRY_VOID(deliver(region, results_));
    host_.set(flag_, false);
    return {};
  }
  TESSERA_TRY_VOID(lower_region(region, last));
  if (again) return go_round(last);
  const auto& branch = *f_.as<relay::If>(last);
  TESSERA_TRY(const int yes, lower_tail_block(branch.then_region));
  TESSERA_TRY(const int no, lower_tail_block(branch.else_region));
  host_.branch(values_of(f_.operands(last)).front(), yes, no);
  return {};
}

Result<void> HostLowering::go_round(NodeId call) {
  struct Move {
    HostValue from, into;
    Type type;
  };
  std::vector<Move> moves;
  std::set<int> carried;
  for (std::size_t i = 0; i < f_.params().size(); ++i) {
    if (!loop_->changes[i]) continue;
    const NodeId argument = f_.operands(call)[1 + i];
    const std::vector<Type> types = flatten(type(argument));
    const std::vector<Type> old = flatten(type(f_.params()[i]));
    if (!fits(f_.type(f_.params()[i]), type(argument))) return changed_size(call, i);
    const Values from = values_of({&argument, 1}), &into = carried_[i];
    for (std::size_t k = 0; k < into.size(); ++k) {
      carried.insert(into[k].root);
      if (from[k].root == into[k].root && types[k] == old[k]) continue;
      moves.push_back({from[k], into[k], types[k]});
    }
  }
  for (Move& m : moves) {
    if (!carried.contains(m.from.root)) continue;
    const Definitions copy = copy_definition(m.type);
    const std::string symbol = kernels_.symbol_of(lower_definitions(copy));
    m.from = host_.call({symbol, {m.from}, dims_of(copy)}, {m.type}, "old").front();
  }
  for (const Move& m : moves) put(m.from, m.type, m.into);
  return {};
}

Result<void> HostLowering::changed_size(NodeId call, std::size_t param) const {
  return fail(error(Code::kNotSupported, f_[call].location,
                    "`%{}` of the loop `@{}` changes its size from {} to {}: such code cannot be "
                    "made yet",
                    f_.as<relay::Param>(f_.params()[param])->name, name_,
                    to_string(f_.type(f_.params()[param])),
                    to_string(type(f_.operands(call)[1 + param])))
                  .with_remedy("carry values of one size"));
}

Result<void> HostLowering::update_in_place(NodeId id, std::size_t param) {
  const RowUpdate update = *row_update(f_, id);
  const NodeId inputs[] = {update.row, update.index};
  value(id) = value(f_.params()[param]);
  types_[id.index()] = type(f_.params()[param]);
  if (type(id).shape()[0] == Dim(0)) return {};
  TESSERA_TRY_VOID(check_row(id, update));
  tir::DimVars dims;
  tir::PrimFunc kernel = row_kernel(type(id), f_.type(update.index), dims);
  host_.call_into(
      {kernels_.symbol_of(std::move(kernel)), values_of(inputs), values_of_formals(dims)},
      value(id).front());
  return {};
}

// A row is as large as the others.
Result<void> HostLowering::check_row(NodeId id, const RowUpdate& update) {
  const NodeId values[] = {update.data, update.row, update.index};
  relay::FunctionBuilder b;
  b.at(f_[id].location);
  std::vector<NodeId> params;
  for (const NodeId v : values) {
    params.push_back(b.param(fmt::format("p{}", params.size()), type(v)));
    b.set_type(params.back(), type(v));
  }
  const NodeId result = b.call(*update.op, params, {});
  b.set_type(result, type(id));
  TESSERA_TRY_VOID(with_named_sizes(b.finish(result), values));
  return {};
}

}  // namespace tessera::lower
