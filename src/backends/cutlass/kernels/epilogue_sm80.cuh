// SPDX-License-Identifier: Apache-2.0
// The epilogue of mma.sync kernels: the tree of epilogue_sm90.cuh, of CUTLASS 2's visitors.
#pragma once

#include <cutlass/cutlass.h>
// The headers of the visitors do not include what they use.
#include <cutlass/epilogue/threadblock/default_epilogue_tensor_op.h>
#include <cutlass/epilogue/threadblock/fusion/visitors.hpp>
#include <cutlass/gemm/gemm.h>

#include "backends/cutlass/kernels/elementwise.cuh"
#include "backends/cutlass/kernels/launch.cuh"

namespace tessera::cutlass {

using cute::_0;
using cute::_1;
using cute::Stride;
namespace visitors = ::cutlass::epilogue::threadblock;

// Where the rows of a tile are in the result and in what lies beside it: a visitor of CUTLASS
// becomes one that knows. `Row`: of what all rows share; the others as in elementwise.cuh.
struct PlainRows {
  template <class Visitor>
  using Row = Visitor;
  template <class Visitor>
  using Column = Visitor;
  template <class Visitor>
  using Full = Visitor;
  template <class Visitor>
  using Store = Visitor;
};

template <class Input, class ThreadMap, class Rows>
struct VisitorNode;
template <class T, class ThreadMap, class Rows>
struct VisitorNode<Row<T>, ThreadMap, Rows> {
  using Type = typename Rows::template Row<
      visitors::VisitorRowBroadcast<ThreadMap, T, Stride<_0, _1, int64_t>>>;
  static typename Type::Arguments arguments(const EpilogueInput& x) {
    return {static_cast<const T*>(x.data), T(0), {_0{}, _1{}, x.batch_stride}};
  }
};
template <class T, class ThreadMap, class Rows>
struct VisitorNode<Column<T>, ThreadMap, Rows> {
  using Type = typename Rows::template Column<
      visitors::VisitorColBroadcast<ThreadMap, T, Stride<_1, _0, int64_t>>>;
  static typename Type::Arguments arguments(const EpilogueInput& x) {
    return {static_cast<const T*>(x.data), T(0), {_1{}, _0{}, x.batch_stride}};
  }
};
template <class T, class ThreadMap, class Rows>
struct VisitorNode<Scalar<T>, ThreadMap, Rows> {
  using Type = visitors::VisitorScalarBroadcast<T, Stride<_0, _0, int>>;
  static typename Type::Arguments arguments(const EpilogueInput& x) {
    return {{T(0)}, {static_cast<const T*>(x.data)}, {_0{}, _0{}, int(x.batch_stride)}};
  }
};
template <class T, class ThreadMap, class Rows>
struct VisitorNode<Full<T>, ThreadMap, Rows> {
  using Type = typename Rows::template Full<
      visitors::VisitorAuxLoad<ThreadMap, T, Stride<int64_t, _1, int64_t>>>;
  static typename Type::Arguments arguments(const EpilogueInput& x) {
    return {static_cast<T*>(x.data), T(0), {x.row_stride, _1{}, x.batch_stride}};
  }
};
template <class T, class ThreadMap, class Rows>
struct VisitorNode<Repeated<T>, ThreadMap, Rows> : VisitorNode<Full<T>, ThreadMap, Rows> {};

// As that of epilogue_sm90.cuh.
template <class Function, class D>
struct IntegerCompute : visitors::VisitorImpl2x<> {
  using visitors::VisitorImpl2x<>::VisitorImpl2x;
  struct Callbacks : visitors::EmptyCallbacks {
    template <class Sum, class... Inputs, int N>
    CUTLASS_DEVICE auto visit(int, int, int, int, const ::cutlass::Array<Sum, N>&,
                              const ::cutlass::Array<Inputs, N>&... inputs) {
      return of_elements<Function, D, N>(inputs...);
    }
  };
  template <class ProblemShape>
  CUTLASS_DEVICE auto get_callbacks(::cutlass::gemm::GemmCoord, int, ProblemShape) {
    return Callbacks{};
  }
};

template <class Function, class Sum, class D, class ThreadMap, class List, class Rows = PlainRows>
struct VisitorTree;
template <class Function, class Sum, class D, class ThreadMap, class... Inputs, class Rows>
struct VisitorTree<Function, Sum, D, ThreadMap, InputList<Inputs...>, Rows> {
  using FloatCompute = visitors::VisitorCompute<Elementwise<Function>::template Node, D, float,
                                                ::cutlass::FloatRoundStyle::round_to_nearest>;
  using Compute =
      std::conditional_t<std::is_integral_v<Sum>, IntegerCompute<Function, D>, FloatCompute>;
  using Value = visitors::Sm80EVT<Compute, visitors::VisitorAccFetch,
                                  typename VisitorNode<Inputs, ThreadMap, Rows>::Type...>;
  using Store = typename Rows::template Store<visitors::VisitorAuxStore<
      ThreadMap, D, ::cutlass::FloatRoundStyle::round_to_nearest, Stride<int64_t, _1, int64_t>>>;
  using Type = visitors::Sm80EVT<Store, Value>;

  template <size_t... kPositions>
  static typename Type::Arguments arguments(const GemmArguments& g,
                                            std::index_sequence<kPositions...>) {
    typename Value::Arguments value{
        typename visitors::VisitorAccFetch::Arguments{},
        VisitorNode<Inputs, ThreadMap, Rows>::arguments(g.inputs[kPositions])...,
        typename Compute::Arguments{}};
    return {value, {static_cast<D*>(g.d.data), {g.d.row_stride, _1{}, g.d.batch_stride}}};
  }
};

// What the epilogue's threads are laid out for: elements, and how many of them a thread takes at
// once. For narrow results of sums of integers there are layouts of eight elements and more only:
// those go as int32 does.
template <class Problem>
struct LaidOut {
  static constexpr bool kIsInteger = std::is_integral_v<typename Problem::Sum>;
  using Element = std::conditional_t<kIsInteger, int32_t, typename Problem::D>;
  static constexpr int kAccess = kIsInteger && Problem::kAlignD > 4 ? 4 : Problem::kAlignD;
};

// The instruction for the operands' type.
template <class T>
struct Instruction {
  using Shape = ::cutlass::gemm::GemmShape<16, 8, 16>;
};
template <>
struct Instruction<float> {
  using Shape = ::cutlass::gemm::GemmShape<16, 8, 8>;
};
template <class T>
requires(sizeof(T) == 1) struct Instruction<T> {
  using Shape = ::cutlass::gemm::GemmShape<16, 8, 32>;
};

}  // namespace tessera::cutlass
