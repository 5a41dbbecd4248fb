// SPDX-License-Identifier: Apache-2.0
// A host program under construction: values, calls in order, and where each value's bytes are.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "module/module.h"

namespace tessera::lower {

// A tensor that the host program has: `root` owns bytes, `view` (or -1) is another shape of them.
struct HostValue {
  int root = -1, view = -1;
};

// A kernel or back-end function to call, and what the graph knows of the call.
struct HostCall {
  std::string symbol;
  std::vector<HostValue> inputs;
  std::vector<Dim> dims;  // of the kernel's formal dimensions
};

class HostProgram {
 public:
  // The symbols of inputs' sizes become the program's formal dimensions.
  HostValue input(const std::string& name, const Type& type);
  HostValue constant(ConstantIndex index, const Tensor& tensor);
  // The results of a call; `types` one a result.
  std::vector<HostValue> call(HostCall call, const std::vector<Type>& types,
                              const std::string& name);
  HostValue view(HostValue value, const Type& type);

  // Which results can only be copies of these values: not made by a call, or already given away.
  std::vector<bool> copies_needed(const std::vector<HostValue>& results) const;
  // Needs that no result needs a copy.
  tir::PrimFunc finish(const std::vector<HostValue>& results,
                       const std::vector<std::string>& names);

 private:
  struct Root {
    tir::Buffer buffer;
    int step = -1;  // the call that makes it
    std::optional<ConstantIndex> constant;
    bool allocated =
        false;  // an Allocate of the program, rather than input, output, constant or view
  };
  struct View {
    int root;
    tir::Buffer buffer;
  };
  struct Step {
    HostCall call;
    std::vector<HostValue> outputs;
  };

  tir::Expr size(const Dim& dim) const;
  tir::Buffer buffer_of_type(const std::string& name, const Type& type) const;
  bool has_type(const tir::Buffer& b, const Type& type) const;
  const tir::Buffer& buffer(HostValue v) const;
  HostValue add_root(const std::string& name, const Type& type);
  tir::Stmt with_views(int step, const std::vector<tir::Buffer>& outputs, tir::Stmt body) const;
  tir::Stmt with_step(std::size_t number, const std::vector<tir::Buffer>& outputs,
                      tir::Stmt body) const;
  void give_away(HostValue result, const std::string& name, tir::PrimFunc& f);

  std::vector<Root> roots_;
  std::vector<View> views_;
  std::vector<Step> steps_;
  std::vector<int> inputs_;
  std::map<ConstantIndex, int> constants_;
  std::vector<tir::Expr> dims_;               // symbols of the inputs, in order
  std::map<std::string, tir::Expr> symbols_;  // by name
  std::map<int, tir::Buffer> source_;         // roots that are views of an output
};

}  // namespace tessera::lower
