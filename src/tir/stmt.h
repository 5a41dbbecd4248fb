// SPDX-License-Identifier: Apache-2.0
// Statements of the loop IR (text: docs/loop-ir.md, a subset of TVMScript).
//
//   s ::= B[e, ...] = e | for x in KIND(min, extent): s | while e: s
//       | if e: s [else: s] | x = e; s | B = allocate(...); s | B = allocate_const(...); s
//       | B = view(B, shape); s
//       | call_kernel(symbol, buffers..., dims...) | require(e, sentence, e...) | reserve(B)
//       | evaluate(e) | s; s
//
// A loop runs its extent evaluated once before it; parallel iterations must be independent. A
// buffer of Allocate is undefined until stored to and lives until the end of the statement's body.
#pragma once

#include "constants/tensor.h"
#include "tir/buffer.h"

namespace tessera::tir {

struct StmtNode : RefCounted {
  StmtKind kind;
  explicit StmtNode(StmtKind k) : kind(k) {}
  static void destroy(const StmtNode* node);
};

class Stmt {
 public:
  Stmt() = default;
  explicit Stmt(Ref<const StmtNode> node) : node_(std::move(node)) {}
  explicit operator bool() const { return static_cast<bool>(node_); }
  const StmtNode* get() const { return node_.get(); }
  const StmtNode* operator->() const { return node_.get(); }
  StmtKind kind() const { return node_->kind; }
  template <class N>
  const N* as() const {
    return node_ && node_->kind == KindOf<N>::value ? static_cast<const N*>(node_.get()) : nullptr;
  }
  bool same_as(const Stmt& o) const { return node_ == o.node_; }

 private:
  Ref<const StmtNode> node_;
};

template <class N>
struct StmtOf : StmtNode {
  StmtOf() : StmtNode(KindOf<N>::value) {}
  template <class... A>
  static Stmt make(A&&... a) {
    auto* n = new N;
    Ref<const StmtNode> owner(n);
    assign(n, std::forward_as_tuple(std::forward<A>(a)...), std::index_sequence_for<A...>{});
    return Stmt(std::move(owner));
  }

 private:
  template <class T, std::size_t... I>
  static void assign(N* n, T&& values, std::index_sequence<I...>) {
    static_assert(sizeof...(I) == std::tuple_size_v<std::remove_cvref_t<decltype(N::fields)>>);
    ((n->*std::get<I>(N::fields) = std::get<I>(std::forward<T>(values))), ...);
  }
};

struct Store : StmtOf<Store> {
  Buffer buffer;
  std::vector<Expr> indices;
  Expr value;
  static constexpr auto fields = std::tuple{&Store::buffer, &Store::indices, &Store::value};
};
// kVectorized: the body is emitted under `omp simd`, or with vector types. kParallel: the outermost
// loop of a kernel, handed to tessera_parallel_for. On a device the outermost loops are launches.
// kGrid gives an iteration to a thread, kWarps to a warp, kBlocks to a block of threads. A loop
// of kThreads inside of the latter two gives its iterations to the threads of that team.
enum class ForKind : std::uint8_t {
  kSerial,
  kParallel,
  kVectorized,
  kUnrolled,
  kGrid,
  kWarps,
  kBlocks,
  kThreads,
};
// One of kGrid, kWarps and kBlocks.
constexpr bool is_launch(ForKind kind) {
  return kind == ForKind::kGrid || kind == ForKind::kWarps || kind == ForKind::kBlocks;
}
struct For : StmtOf<For> {
  Expr var;  // a Var
  Expr min, extent;
  ForKind loop = ForKind::kSerial;
  Stmt body;
  static constexpr auto fields =
      std::tuple{&For::var, &For::min, &For::extent, &For::loop, &For::body};
};
struct While : StmtOf<While> {
  Expr condition;
  Stmt body;
  static constexpr auto fields = std::tuple{&While::condition, &While::body};
};
struct IfThenElse : StmtOf<IfThenElse> {
  Expr condition;
  Stmt then_case, else_case;  // else_case may be null
  static constexpr auto fields =
      std::tuple{&IfThenElse::condition, &IfThenElse::then_case, &IfThenElse::else_case};
};
struct LetStmt : StmtOf<LetStmt> {
  Expr var;  // a Var
  Expr value;
  Stmt body;
  static constexpr auto fields = std::tuple{&LetStmt::var, &LetStmt::value, &LetStmt::body};
};
struct Allocate : StmtOf<Allocate> {
  Buffer buffer;
  Stmt body;
  static constexpr auto fields = std::tuple{&Allocate::buffer, &Allocate::body};
};
// Read-only data: an immediate tensor or an index into the module's pool, never both.
struct AllocateConst : StmtOf<AllocateConst> {
  Buffer buffer;
  ConstantValue data;
  Stmt body;
  static constexpr auto fields =
      std::tuple{&AllocateConst::buffer, &AllocateConst::data, &AllocateConst::body};
};
// Another shape of the same bytes: `buffer` has as many elements as `source` and no memory of its
// own.
struct View : StmtOf<View> {
  Buffer buffer, source;
  Stmt body;
  static constexpr auto fields = std::tuple{&View::buffer, &View::source, &View::body};
};
// In a host program only: runs the kernel or back-end function `symbol` (the module knows its
// calling convention) on whole buffers; `dims` are the values of the callee's formal dimensions.
struct CallKernel : StmtOf<CallKernel> {
  std::string symbol;
  std::vector<Buffer> inputs, outputs;
  std::vector<Expr> dims;
  static constexpr auto fields =
      std::tuple{&CallKernel::symbol, &CallKernel::inputs, &CallKernel::outputs, &CallKernel::dims};
};
// In a kernel only: where the condition is false, the kernel fails with the sentence, in which each
// `{}` stands for one of the values, integers, and `{{` and `}}` for a brace (conditions.h).
struct Require : StmtOf<Require> {
  Expr condition;
  std::string sentence;
  std::vector<Expr> values;
  static constexpr auto fields =
      std::tuple{&Require::condition, &Require::sentence, &Require::values};
};
// In a host program only: memory for a buffer whose extents read memory (buffer.h), as large as
// they are now. Its contents are undefined, also where there was some before.
struct Reserve : StmtOf<Reserve> {
  Buffer buffer;
  static constexpr auto fields = std::tuple{&Reserve::buffer};
};
struct Evaluate : StmtOf<Evaluate> {
  Expr value;
  static constexpr auto fields = std::tuple{&Evaluate::value};
};
struct Seq : StmtOf<Seq> {
  std::vector<Stmt> body;
  static constexpr auto fields = std::tuple{&Seq::body};
};

// One statement of many: nested sequences are flattened, nulls dropped.
Stmt seq(std::vector<Stmt> body);
// Null, or a sequence of nothing.
bool is_empty(const Stmt& s);

}  // namespace tessera::tir
