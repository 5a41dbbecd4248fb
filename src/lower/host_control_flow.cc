// SPDX-License-Identifier: Apache-2.0
// Branches, and functions that are loops.
#include <set>

#include "lower/host_lowering.h"
#include "lower/primitive.h"
#include "relay/evaluation_order.h"
#include "relay/rewrite.h"

namespace tessera::lower {

using relay::Function;
using relay::NodeId;
using relay::RegionId;

Result<void> HostLowering::lower_if(NodeId id) {
  const auto& branch = *f_.as<relay::If>(id);
  TESSERA_TRY(value(id), declare_results(id, "if_result"));
  TESSERA_TRY(const int yes, lower_branch(branch.then_region, value(id)));
  TESSERA_TRY(const int no, lower_branch(branch.else_region, value(id)));
  host_.branch(values_of(f_.operands(id)).front(), yes, no);
  return {};
}

Result<HostLowering::Values> HostLowering::declare_results(NodeId id, const std::string& name) {
  Values results;
  for (const Type& type : flatten(f_.type(id))) {
    if (has_unknown_size(type)) {
      return fail(error(Code::kNotSupported, f_[id].location,
                        "the size of the result, {}, depends on the branch that is taken: such "
                        "code cannot be made yet",
                        to_string(type))
                      .with_remedy("make both branches give results of one size"));
    }
    results.push_back(host_.declare(name, type, HostProgram::Memory::kResult));
  }
  return results;
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
  TESSERA_TRY_VOID(require_named_sizes(result, f_));
  const Values from = values_of({&result, 1});
  const std::vector<Type> types = flatten(type(result));
  for (std::size_t i = 0; i < into.size(); ++i) put(from[i], types[i], into[i]);
  return {};
}

void HostLowering::put(HostValue from, const Type& type, HostValue into) {
  if (!host_.redirect(from, into)) copy(from, type, into);
}

void HostLowering::copy(HostValue from, const Type& type, HostValue into) {
  const Definitions copy = copy_definition(type);
  host_.call_into({kernels_.symbol_of(lower_definitions(copy)), {from}, dims_of(copy)}, into);
}

Result<HostLowering::Values> HostLowering::lower_loop(const TailRecursion& recursion) {
  loop_ = &recursion;
  for (std::size_t i = 0; i < f_.params().size(); ++i) {
    const NodeId param = f_.params()[i];
    if (!recursion.changes[i]) continue;
    const std::vector<Type> types = flatten(f_.type(param));
    for (std::size_t k = 0; k < types.size(); ++k) {
      const HostValue memory =
          host_.declare(f_.as<relay::Param>(param)->name, types[k], HostProgram::Memory::kCarried);
      copy(value(param)[k], types[k], memory);
      value(param)[k] = memory;
    }
  }
  TESSERA_TRY(results_, declare_results(f_.result(), "loop_result"));
  flag_ = host_.declare("goes_on", tensor_type({}, kBool), HostProgram::Memory::kCarried);
  host_.set(flag_, true);
  TESSERA_TRY(const int body, lower_tail_block(Function::kBody));
  host_.loop_while(flag_, body);
  return results_;
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
    if (types != flatten(f_.type(f_.params()[i]))) return changed_size(call, i);
    const Values from = values_of({&argument, 1}), into = value(f_.params()[i]);
    for (std::size_t k = 0; k < into.size(); ++k) {
      carried.insert(into[k].root);
      if (from[k].root != into[k].root) moves.push_back({from[k], into[k], types[k]});
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

void HostLowering::update_in_place(NodeId id, std::size_t param) {
  const RowUpdate update = *row_update(f_, id);
  const NodeId inputs[] = {update.row, update.index};
  value(id) = value(f_.params()[param]);
  if (f_.type(id).shape()[0] == Dim(0)) return;
  tir::DimVars dims;
  tir::PrimFunc kernel = row_kernel(f_.type(id), f_.type(update.index), dims);
  host_.call_into(
      {kernels_.symbol_of(std::move(kernel)), values_of(inputs), values_of_formals(dims)},
      value(id).front());
}

}  // namespace tessera::lower
