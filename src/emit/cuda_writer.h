// SPDX-License-Identifier: Apache-2.0
// One kernel as CUDA text: a __global__ function for each launch, and the launcher of them all;
// emit/cuda_kernel.h is the face.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "emit/header_call.h"
#include "emit/kernel_expr.h"
#include "emit/source_text.h"
#include "tir/block_product.h"
#include "tir/few_rows.h"
#include "tir/prim_func.h"
#include "tir/window_product.h"

namespace tessera::emit {

class CudaWriter : SourceText {
 public:
  CudaWriter(const tir::PrimFunc& f, std::string_view symbol);
  Source write();

 private:
  void find_scalars();
  // A launch, and the line of the launcher that calls it.
  void launch(const tir::For& n);
  Source parameters(const tir::For& n, Source& arguments, Source& inputs);
  // A condition that the launcher tests, because sizes alone decide it.
  void launcher_condition(const tir::Require& n);
  Source index_type(const tir::For& n) const;
  static bool holds_half_floats(const tir::For& n);
  void first_line(const tir::For& n, int threads);

  void stmt(const tir::Stmt& s);
  void nested(const tir::Stmt& s);
  void require(const tir::Require& n);
  void store(const tir::Store& n);
  void loop(const tir::For& n);
  void plain_loop(const tir::For& n, const tir::Stmt& body);
  Source address(const tir::Expr& element);
  void vectorized_loop(const tir::For& n);
  void thread_loop(const tir::For& n);
  void thread_body(const tir::For& n, const tir::Stmt& body);
  // Products of few rows are calls of tessera/few_rows.cuh (emit/cuda_few_rows.cc).
  Source few_rows_matrix();
  void few_rows_sums();
  // Products of matrices are calls of tessera/block_product.cuh (emit/cuda_block_product.cc).
  void block_product();
  // Convolutions in groups are calls of tessera/window_product.cuh (emit/cuda_window_product.cc).
  void window_product();
  void let(const tir::LetStmt& n);
  void allocate(const tir::Allocate& n);
  void view(const tir::View& n);
  void branch(const tir::IfThenElse& n);

  // What the writer makes lives as long as it does: names and ranges are remembered by identity.
  const tir::Buffer& kept(tir::Buffer b) { return made_buffers_.emplace_back(std::move(b)); }
  Source team() const { return warps_ ? Source("tk::warp") : block_; }

  const tir::PrimFunc& f_;
  Source symbol_;
  KernelScope scope_;
  Source launches_;
  std::set<const void*> used_by_launcher_;
  std::deque<tir::Buffer> made_buffers_;
  std::deque<tir::Expr> made_vars_;
  int num_launches_ = 0;
  // What belongs to the launch that is being written.
  Source index_;                       // type of loop variables
  bool team_ = false, warps_ = false;  // at the level of a team; of a warp
  int team_size_ = 1;                  // threads
  Source block_;                       // `tk::block<256>`
  HeaderCall<tir::FewRowsSums> few_rows_;
  HeaderCall<tir::BlockProduct> block_product_;
  HeaderCall<tir::WindowProduct> window_product_;
  std::map<const tir::BufferNode*, tir::Buffer> shares_;  // what each thread holds a part of
  std::map<const tir::Require*, Source> reports_;         // the parameters that conditions use
};

}  // namespace tessera::emit
