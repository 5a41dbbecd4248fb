// SPDX-License-Identifier: Apache-2.0
#include "schedule/element_sum.h"

#include <algorithm>

#include "schedule/accumulator.h"

namespace tessera::schedule {
namespace {

using tir::Stmt;

bool is_plain(const Stmt& s) {
  bool plain = true;
  tir::for_each_node(s, [&](const Stmt& part) {
    plain &= part.as<tir::Store>() != nullptr || part.as<tir::LetStmt>() != nullptr ||
             part.as<tir::Seq>() != nullptr;
  });
  return plain;
}

}  // namespace

std::optional<ElementSum> as_element_sum(const Nest& nest) {
  Stmt body = nest.body;
  const auto* own = body.as<tir::Allocate>();
  if (own != nullptr) body = Stmt(own->body);
  const std::vector<Stmt> all = parts(body);
  if (all.size() < 2) return std::nullopt;
  auto r = as_reduction(tir::seq({all[0], all[1]}));
  if (!r || r->loops.empty() || r->update.as<tir::Store>() == nullptr) return std::nullopt;
  if (own != nullptr && own->buffer != r->target) return std::nullopt;
  ElementSum sum{nest.loops, std::move(*r), {all.begin() + 2, all.end()}, own == nullptr};
  const auto is_known = [](const Loop& l) { return l.size() > 0; };
  const bool fits = std::all_of(sum.reduction.loops.begin(), sum.reduction.loops.end(), is_known) &&
                    std::all_of(sum.epilogue.begin(), sum.epilogue.end(), is_plain);
  return fits ? std::optional(std::move(sum)) : std::nullopt;
}

Stmt ElementSum::results(const tir::Buffer& sums, const std::vector<tir::Expr>& at) const {
  std::vector<Stmt> stores;
  if (keeps_target) {
    stores.push_back(tir::Store::make(reduction.target, reduction.indices, tir::load(sums, at)));
  }
  ToAccumulator to(reduction.target, sums, at);
  for (const Stmt& s : epilogue) stores.push_back(to.mutate(s));
  return tir::seq(std::move(stores));
}

}  // namespace tessera::schedule
