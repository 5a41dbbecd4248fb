// SPDX-License-Identifier: Apache-2.0
// Matrix products whose rows are no multiples of 16 bytes, which TMA cannot read: loads of 8, 4 or
// 2 bytes and mma.sync, with the same epilogue as the kernels of gemm_sm90.cuh.
#pragma once

#include <cutlass/cutlass.h>
// The headers of the visitors do not include what they use.
#include <cutlass/epilogue/threadblock/default_epilogue_tensor_op.h>
#include <cutlass/epilogue/threadblock/fusion/visitors.hpp>
#include <cutlass/gemm/device/gemm_universal_adapter.h>
#include <cutlass/gemm/gemm.h>
#include <cutlass/gemm/kernel/default_gemm_universal_with_visitor.h>

#include "backends/cutlass/kernels/elementwise.cuh"
#include "backends/cutlass/kernels/launch.cuh"

namespace tessera::cutlass {

using cute::_0;
using cute::_1;
using cute::Stride;
namespace visitors = ::cutlass::epilogue::threadblock;

template <class Input, class ThreadMap>
struct VisitorNode;
template <class T, class ThreadMap>
struct VisitorNode<Row<T>, ThreadMap> {
  using Type = visitors::VisitorRowBroadcast<ThreadMap, T, Stride<_0, _1, int64_t>>;
  static typename Type::Arguments arguments(const EpilogueInput& x) {
    return {static_cast<const T*>(x.data), T(0), {_0{}, _1{}, x.batch_stride}};
  }
};
template <class T, class ThreadMap>
struct VisitorNode<Column<T>, ThreadMap> {
  using Type = visitors::VisitorColBroadcast<ThreadMap, T, Stride<_1, _0, int64_t>>;
  static typename Type::Arguments arguments(const EpilogueInput& x) {
    return {static_cast<const T*>(x.data), T(0), {_1{}, _0{}, x.batch_stride}};
  }
};
template <class T, class ThreadMap>
struct VisitorNode<Scalar<T>, ThreadMap> {
  using Type = visitors::VisitorScalarBroadcast<T, Stride<_0, _0, int>>;
  static typename Type::Arguments arguments(const EpilogueInput& x) {
    return {{T(0)}, {static_cast<const T*>(x.data)}, {_0{}, _0{}, int(x.batch_stride)}};
  }
};
template <class T, class ThreadMap>
struct VisitorNode<Full<T>, ThreadMap> {
  using Type = visitors::VisitorAuxLoad<ThreadMap, T, Stride<int64_t, _1, int64_t>>;
  static typename Type::Arguments arguments(const EpilogueInput& x) {
    return {static_cast<T*>(x.data), T(0), {x.row_stride, _1{}, x.batch_stride}};
  }
};

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

template <class Function, class Sum, class D, class ThreadMap, class List>
struct VisitorTree;
template <class Function, class Sum, class D, class ThreadMap, class... Inputs>
struct VisitorTree<Function, Sum, D, ThreadMap, InputList<Inputs...>> {
  using FloatCompute = visitors::VisitorCompute<Elementwise<Function>::template Node, D, float,
                                                ::cutlass::FloatRoundStyle::round_to_nearest>;
  using Compute =
      std::conditional_t<std::is_integral_v<Sum>, IntegerCompute<Function, D>, FloatCompute>;
  using Value = visitors::Sm80EVT<Compute, visitors::VisitorAccFetch,
                                  typename VisitorNode<Inputs, ThreadMap>::Type...>;
  using Store =
      visitors::VisitorAuxStore<ThreadMap, D, ::cutlass::FloatRoundStyle::round_to_nearest,
                                Stride<int64_t, _1, int64_t>>;
  using Type = visitors::Sm80EVT<Store, Value>;

  template <size_t... kPositions>
  static typename Type::Arguments arguments(const GemmArguments& g,
                                            std::index_sequence<kPositions...>) {
    typename Value::Arguments value{
        typename visitors::VisitorAccFetch::Arguments{},
        VisitorNode<Inputs, ThreadMap>::arguments(g.inputs[kPositions])...,
        typename Compute::Arguments{}};
    return {value, {static_cast<D*>(g.d.data), {g.d.row_stride, _1{}, g.d.batch_stride}}};
  }
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

// As GemmSm90; Config: Tile, Warp, Math, kStages (2 where rows are of single 16-bit elements, which
// cp.async cannot copy).
template <class Problem, class Config, class Function>
struct GemmSm80 {
  using A = typename Problem::A;
  using B = typename Problem::B;
  using D = typename Problem::D;
  // What the epilogue's threads are laid out for. For narrow results of sums of integers there are
  // layouts of eight elements and more only: those go as int32 does.
  static constexpr bool kIsInteger = std::is_integral_v<typename Problem::Sum>;
  using Laid = std::conditional_t<kIsInteger, int32_t, D>;
  static constexpr int kAccess = kIsInteger && Problem::kAlignD > 4 ? 4 : Problem::kAlignD;
  using ThreadMap = visitors::OutputTileThreadLayout<typename Config::Tile, typename Config::Warp,
                                                     Laid, kAccess, 1>;
  using Tree =
      VisitorTree<Function, typename Problem::Sum, D, ThreadMap, typename Function::Inputs>;
  static constexpr auto kNoTransform = ::cutlass::ComplexTransform::kNone;
  using Kernel = typename ::cutlass::gemm::kernel::DefaultGemmWithVisitor<
      A, typename Problem::LayoutA, kNoTransform, Problem::kAlignA, B, typename Problem::LayoutB,
      kNoTransform, Problem::kAlignB, Laid, ::cutlass::layout::RowMajor, kAccess,
      typename Problem::Sum, float, ::cutlass::arch::OpClassTensorOp, ::cutlass::arch::Sm80,
      typename Config::Tile, typename Config::Warp, typename Instruction<A>::Shape,
      typename Tree::Type, ::cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<8>,
      Config::kStages, typename Config::Math, 1>::GemmKernel;
  using Gemm = ::cutlass::gemm::device::GemmUniversalAdapter<Kernel>;

  static int32_t run(const char* name, const tessera_call* call, const GemmArguments& g) {
    using Mode = ::cutlass::gemm::GemmUniversalMode;
    const typename Gemm::Arguments args(
        g.batch > 1 ? Mode::kBatched : Mode::kGemm, {int(g.m), int(g.n), int(g.k)}, int(g.batch),
        Tree::arguments(g, typename Function::Positions{}), g.a.data, g.b.data, nullptr, nullptr,
        g.a.batch_stride, g.b.batch_stride, 0, 0, g.a.row_stride, g.b.row_stride, 0, 0);
    Gemm gemm;
    if (Gemm::can_implement(args) != ::cutlass::Status::kSuccess) {
      return failed(call, name, "the sizes or strides are not what the kernel was compiled for");
    }
    const auto stream = static_cast<cudaStream_t>(call->stream);
    if (gemm.initialize(args, call->workspace, stream) != ::cutlass::Status::kSuccess ||
        gemm.run(stream) != ::cutlass::Status::kSuccess) {
      return failed(call, name, cudaGetErrorString(cudaGetLastError()));
    }
    return 0;
  }
};

}  // namespace tessera::cutlass
