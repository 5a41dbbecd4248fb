// SPDX-License-Identifier: Apache-2.0
// A host program under construction: values, calls in order, and where each value's bytes are.
#pragma once

#include <map>
#include <optional>
#include <set>
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
  explicit HostProgram(const SymbolTable& symbols) : blocks_(1), named_(symbols) {}

  // The symbols of inputs' sizes become the program's formal dimensions.
  HostValue input(const std::string& name, const Type& type);
  HostValue constant(ConstantIndex index, const Tensor& tensor);
  // The results of a call; `types` one a result.
  std::vector<HostValue> call(HostCall call, const std::vector<Type>& types,
                              const std::string& name);
  // A call of a kernel that finds sizes, which the symbols then name: see `bind`.
  void call_for_sizes(HostCall call, const std::vector<std::string>& symbols);
  // A call of a kernel that only checks sizes: before everything where the inputs say them,
  // so that nothing is written that has another size than it will be read with.
  void check(HostCall call);
  // A call that writes memory which is there already.
  void call_into(HostCall call, HostValue into);
  HostValue view(HostValue value, const Type& type);

  // ---- Sizes that are found as the program runs ----
  // A name that no symbol of the program has; it has a value from `bind` on, in the open block.
  std::string fresh_symbol();
  // Gives symbols the elements of a vector of int64.
  void bind(HostValue sizes, const std::vector<std::string>& symbols);
  bool has_run_time_size(const Type& type) const;
  // Memory whose `?` are sizes that `reserve` decides, for each value that it holds anew.
  HostValue declare_late(const std::string& name, const Type& type);
  HostValue late_output(const std::string& name, const Type& type);
  bool is_late(HostValue value) const { return root(value.root).sizes >= 0; }
  void reserve(HostValue late, const Type& type);
  // What late memory holds, with names for its sizes, which become part of `type`.
  HostValue opened(HostValue late, Type& type);

  // ---- Control flow ----
  // Steps up to end_block belong to the block, which one branch or loop then takes.
  int begin_block();
  void end_block();
  // Memory that blocks write to: what a branch gives (kResult), what a loop carries (kCarried).
  enum class Memory : std::uint8_t { kResult, kCarried };
  HostValue declare(const std::string& name, const Type& type, Memory memory);
  // Conditions and flags are scalars of bool.
  void branch(HostValue condition, int then_block, int else_block);
  void loop_while(HostValue flag, int body);
  void set(HostValue flag, bool value);
  // Makes what computes `value` in the current block write to `into` instead. False where only a
  // copy will do: it comes from elsewhere, is given away already, `into` is still read, or what
  // is computed may be larger than `into` and is checked only after it.
  bool redirect(HostValue value, HostValue into);

  // Which results can only be copies of these values: not made by a call, or already given away.
  std::vector<bool> copies_needed(const std::vector<HostValue>& results) const;
  // Needs that no result needs a copy.
  tir::PrimFunc finish(const std::vector<HostValue>& results,
                       const std::vector<std::string>& names);

 private:
  struct Root {
    tir::Buffer buffer;
    Dim count = Dim::unknown();  // of elements
    bool has_run_time_size = false;
    int block = 0, step = -1;  // which step makes or declares it
    std::optional<ConstantIndex> constant;
    bool movable = false;   // its bytes can be elsewhere: made by a call, or a branch's result
    int alias = -1;         // the root whose bytes these are,
    bool reshaped = false;  // in another shape
    int sizes = -1;         // the root that has its sizes, decided as the program runs
    bool is_read = false;   // by a step
    std::vector<int> views = {};
  };
  struct View {
    int root;
    tir::Buffer buffer;
    Dim count;
    int alias = -1;        // the root whose buffer this is
    bool in_step = false;  // where the step kView stands; else after the step that makes the root
  };
  enum class StepKind : std::uint8_t {
    kCall,
    kDeclare,
    kBranch,
    kLoop,
    kSet,
    kBind,
    kView,
    kReserve
  };
  struct Step {
    StepKind kind = StepKind::kCall;
    HostCall call = {};  // of kCall; a branch or loop has its condition as the only input
    std::vector<HostValue> outputs = {};
    int first = -1, second = -1;  // blocks
    bool flag = false;
    std::vector<std::string> symbols = {};  // of kBind
  };

  Root& root(int r) { return roots_[static_cast<std::size_t>(r)]; }
  const Root& root(int r) const { return roots_[static_cast<std::size_t>(r)]; }
  tir::Expr size(const Dim& dim) const;
  tir::Buffer buffer_of_type(const std::string& name, const Type& type) const;
  bool has_type(const tir::Buffer& b, const Type& type) const;
  const tir::Buffer& buffer(HostValue v) const;
  HostValue add_root(const std::string& name, const Type& type);
  HostValue add_sizes(const std::string& name, std::size_t count, tir::MemoryScope scope);
  HostValue add_late_root(const std::string& name, const Type& type, tir::MemoryScope of_sizes);
  Step& add_step(StepKind kind, HostCall call = {});
  // The step that is added next makes or declares it.
  void comes_with_next_step(HostValue value);
  bool reads(int block, std::size_t from, int root) const;
  bool fits_before_it_is_written(HostValue value) const;
  class Block;
  void put_steps(int block, Block& out) const;
  tir::Stmt block_stmt(int block) const;
  bool is_made_by(int root, int block, std::size_t number) const;
  void put_views(std::vector<int> views, Block& out) const;
  void put_step(int block, std::size_t number, Block& out) const;
  void put_definitions(const Step& step, Block& out) const;
  void put_constants(Block& out) const;
  void put_checks(Block& out) const;
  tir::Stmt step_stmt(const Step& step) const;
  tir::Stmt reserve_stmt(const Step& step) const;

  std::vector<Root> roots_;
  std::vector<View> views_;
  std::vector<std::vector<Step>> blocks_;  // 0 is the program's own
  std::vector<int> open_ = {0};
  std::vector<HostCall> checks_;                           // that stand before the steps
  std::set<std::pair<std::string, std::string>> checked_;  // their symbols and sizes
  std::vector<int> inputs_;
  std::map<ConstantIndex, int> constants_;
  std::vector<tir::Expr> dims_;               // symbols of the inputs, in order
  std::map<std::string, tir::Expr> symbols_;  // by name
  std::set<std::string> run_time_symbols_;
  std::set<int> late_outputs_;
  const SymbolTable& named_;  // of the module
};

}  // namespace tessera::lower
