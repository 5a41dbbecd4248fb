// SPDX-License-Identifier: Apache-2.0
// The functions of a host program as text: lines, what its buffers are called there, and sizes.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "emit/kernel_expr.h"
#include "emit/source_text.h"
#include "tir/names.h"
#include "tir/prim_func.h"

namespace tessera::emit {

class HostWriter : private SourceText {
 public:
  // `functions`: what the program calls.
  HostWriter(const tir::PrimFunc& main, const std::set<std::string>& functions);

  using SourceText::line;
  void open_function(const Source& name);
  void close_function();
  void open_block() { indent_ += 2; }
  void close_block() { indent_ -= 2; }
  Source take_text() { return std::move(out_); }

  // A name for the buffer, which has no other; `define` says where it is, too.
  Source take_name(const tir::Buffer& buffer);
  void define(const tir::Buffer& buffer, const Source& pointer);
  void define_without_memory(const tir::Buffer& buffer);
  // At the place of another one.
  void define_view(const tir::Buffer& buffer, const tir::Buffer& source);
  // What another function has defined, and a step of this one uses.
  void define_again(const tir::Buffer& buffer);
  void define_size(const tir::LetStmt& let);
  const Source& name(const tir::Buffer& buffer) const;

  // An element of a vector of sizes.
  Source element(const tir::Buffer& buffer, const std::vector<tir::Expr>& indices);
  Source size_text(const tir::Expr& e);
  Source list_of(const std::vector<tir::Expr>& sizes);
  Source byte_count(const tir::Buffer& buffer);

 private:
  KernelScope scope_;  // of sizes
  Source dims_;        // the definitions of formal dimensions
  tir::Names taken_;   // by pointers and what else the text names
  std::map<const tir::BufferNode*, Source> names_;
  std::map<const tir::BufferNode*, Source> pointers_;  // what they are defined as
  std::set<const tir::BufferNode*> defined_here_;      // in the function that is being written
};

// `float32[2,?]`
Source shape_text(const tir::BufferNode& b);
bool all_numbers(const std::vector<tir::Expr>& sizes);

}  // namespace tessera::emit
