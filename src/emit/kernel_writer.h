// SPDX-License-Identifier: Apache-2.0
// Statements of one kernel as C++ text; emit/kernel.h is the face.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "emit/captured.h"
#include "emit/kernel_expr.h"
#include "emit/source_text.h"
#include "emit/tile_product.h"
#include "tir/prim_func.h"

namespace tessera::emit {

class KernelWriter : SourceText {
 public:
  KernelWriter(const tir::PrimFunc& f, std::string_view symbol);
  Source write();
  // Does the text call what tessera/kernel_products.h has?
  bool adds_products() const { return adds_products_; }
  // Does it call what tessera/kernel_tiles.h has?
  bool multiplies_tiles() const { return multiplies_tiles_; }
  // Does it call what tessera/kernel_bytes.h has?
  bool maps_bytes() const { return maps_bytes_; }

 private:
  // Where an enclosing statement ends: at the end of the kernel a parallel loop's status is
  // returned.
  enum class Position { kLast, kInside };

  void analyse();
  void unpack();
  void stmt(const tir::Stmt& s, Position position);
  void with_guard_zero(const std::function<void()>& write);
  void nested(const tir::Stmt& s, Position position = Position::kInside);
  void store(const tir::Store& n);
  void loop(const tir::For& n);
  void plain_loop(const tir::For& n, const tir::Stmt& body);
  void vectorized_loop(const tir::For& n);
  bool product_loop(const tir::For& n);
  bool byte_map(const tir::For& n);
  bool zeroed_tile_product(const tir::Stmt& zero, const tir::Stmt& next);
  void tile_product(const TileProduct& p, Literal begin);
  void parallel_loop(const tir::For& n, Position position);
  void parallel_body(const tir::For& n, const Source& type);
  void let(const tir::LetStmt& n, Position position);
  void allocate(const tir::Allocate& n, Position position);
  void scalar(const tir::Allocate& n, Position position);
  void view(const tir::View& n, Position position);
  void require(const tir::Require& n);
  void branch(const tir::IfThenElse& n);

  Source pointer_type(const tir::Buffer& b) const;
  Literal restrict_word(const tir::Buffer& b) const {
    return aliased_.contains(b.get()) ? Literal("") : " __restrict";
  }

  const tir::PrimFunc& f_;
  Source symbol_;
  KernelScope scope_;
  std::set<const tir::BufferNode*> used_, written_, aliased_, shared_;
  std::set<const tir::ExprNode*> used_dims_;
  Source helpers_;                        // structs of parallel loops, before the kernel
  bool parallel_ = false, simd_ = false;  // inside of such a loop
  bool calls_runtime_ = false;
  bool adds_products_ = false, multiplies_tiles_ = false, maps_bytes_ = false;
  bool returned_ = false;  // the last statement returns a status
  struct {
    bool buffers = false, dims = false;
  } unpacked_;
};

}  // namespace tessera::emit
