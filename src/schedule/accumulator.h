// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <vector>

#include "tir/walk.h"

namespace tessera::schedule {

// Replaces the target's elements by those of an accumulator.
class ToAccumulator : public tir::Mutator {
 public:
  ToAccumulator(tir::Buffer target, tir::Buffer accumulator, std::vector<tir::Expr> indices)
      : target_(std::move(target)),
        accumulator_(std::move(accumulator)),
        indices_(std::move(indices)) {}
  using Mutator::mutate;
  tir::Expr mutate(const tir::Expr& e) override {
    const auto* l = e.as<tir::Load>();
    return l != nullptr && l->buffer == target_ ? tir::load(accumulator_, indices_)
                                                : Mutator::mutate(e);
  }
  tir::Stmt mutate(const tir::Stmt& s) override {
    const auto* t = s.as<tir::Store>();
    if (t == nullptr || t->buffer != target_) return Mutator::mutate(s);
    return tir::Store::make(accumulator_, indices_, mutate(t->value));
  }

 private:
  tir::Buffer target_, accumulator_;
  std::vector<tir::Expr> indices_;
};

}  // namespace tessera::schedule
