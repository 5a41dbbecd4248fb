// SPDX-License-Identifier: Apache-2.0
// A loop of a launch over a block's threads that is written as a call of one of the headers for
// kernels, and what that is called with.
#pragma once

#include <optional>

#include "tir/index_form.h"
#include "tir/stmt.h"
#include "tir/walk.h"

namespace tessera::emit {

template <class Product>
class HeaderCall {
 public:
  // The first such loop of the launch, as `recognise(loop, bounds)` knows it; none before that.
  template <class Recognise>
  void find(const tir::For& launch, const tir::Bounds& bounds, const Recognise& recognise) {
    *this = {};
    if (launch.loop != tir::ForKind::kBlocks) return;
    tir::for_each_node(launch.body, [&](const tir::Stmt& s) {
      const auto* loop = s.as<tir::For>();
      if (loop == nullptr || loop->loop != tir::ForKind::kThreads || product_) return;
      product_ = recognise(*loop, bounds);
      if (product_) loop_ = loop;
    });
  }

  bool is_at(const tir::For& loop) const { return &loop == loop_; }
  explicit operator bool() const { return product_.has_value(); }
  const Product& operator*() const { return *product_; }
  const Product* operator->() const { return &*product_; }

 private:
  const tir::For* loop_ = nullptr;
  std::optional<Product> product_;
};

}  // namespace tessera::emit
