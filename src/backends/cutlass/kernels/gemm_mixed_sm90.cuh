// SPDX-License-Identifier: Apache-2.0
// The kernels of gemm_sm90.cuh for weights of 4 and 8 bits in blocks along K, which are decoded
// between shared memory and the tensor cores.
#pragma once

#include "backends/cutlass/kernels/gemm_sm90.cuh"
// That whose first operand becomes another type in registers.
#include <cutlass/gemm/collective/sm90_mma_tma_gmma_rs_warpspecialized_mixed_input.hpp>

namespace tessera::cutlass {

// What is decoded comes from registers, and of wgmma's operands only the first does. So the kernel
// multiplies D' = B A', (N, M) of (N, K) and (K, M): columns of D' lie in memory as rows of D do.
template <class Input>
struct Turned {
  using Type = Input;
};
template <class T>
struct Turned<Row<T>> {
  using Type = Column<T>;
};
template <class T>
struct Turned<Column<T>> {
  using Type = Row<T>;
};
// As large as D', with rows that lie beside each other.
template <class T>
struct FullOfColumns {};
template <class T>
struct Turned<Full<T>> {
  using Type = FullOfColumns<T>;
};
template <class List>
struct TurnedInputs;
template <class... Inputs>
struct TurnedInputs<InputList<Inputs...>> {
  using Type = InputList<typename Turned<Inputs>::Type...>;
};

template <class T, class Tile>
struct InputNode<FullOfColumns<T>, true, Tile> : InputNode<Full<T>, true, Tile> {};
template <class T, class Tile>
struct InputNode<FullOfColumns<T>, false, Tile> {
  using Type = fusion::Sm90AuxLoad<0, void, T, Stride<_1, int64_t, int64_t>, void, void,
                                   128 / (8 * sizeof(T))>;
  static typename Type::Arguments arguments(const EpilogueInput& x) {
    return {static_cast<const T*>(x.data), T(0), {_1{}, x.row_stride, x.batch_stride}};
  }
};
template <class T, class... Rest>
struct FindSource<FullOfColumns<T>, Rest...> : FindSource<Full<T>, Rest...> {};

// Problem: as GemmSm90 has it, with Scale and kHasOffsets; B is signed integers, both operands lie
// along K, sums are of float, and there is no batch. Config and Function: likewise.
template <class Problem, class Config, class Function>
struct GemmMixedSm90 {
  using A = typename Problem::A;
  using B = typename Problem::B;
  using D = typename Problem::D;
  using Scale = typename Problem::Scale;
  template <class Sizes>
  using TurnedSizes = Shape<cute::tuple_element_t<1, Sizes>, cute::tuple_element_t<0, Sizes>,
                            cute::tuple_element_t<2, Sizes>>;
  using Tile = TurnedSizes<typename Config::Tile>;  // (N, M, K)
  using Cluster = TurnedSizes<typename Config::Cluster>;
  using Schedule = typename Config::Schedule;
  using Tree =
      EpilogueTree<Function, float, D, Tile, typename TurnedInputs<typename Function::Inputs>::Type,
                   typename Function::Positions>;
  using RowMajor = ::cutlass::layout::RowMajor;
  using ColumnMajor = ::cutlass::layout::ColumnMajor;
  using Tensor = ::cutlass::arch::OpClassTensorOp;
  using Sm90 = ::cutlass::arch::Sm90;
  using Weight =
      std::conditional_t<Problem::kHasOffsets, cute::tuple<B, Scale, Scale>, cute::tuple<B, Scale>>;

  using Epilogue = typename ::cutlass::epilogue::collective::CollectiveBuilder<
      Sm90, Tensor, Tile, Cluster, ::cutlass::epilogue::collective::EpilogueTileAuto, float, float,
      typename Tree::Source, ColumnMajor, Problem::kAlignD, D, ColumnMajor, Problem::kAlignD,
      typename Schedule::Epilogue, typename Tree::Type>::CollectiveOp;
  using Stages = ::cutlass::gemm::collective::StageCountAutoCarveout<static_cast<int>(
      sizeof(typename Epilogue::SharedStorage))>;
  using Mainloop = typename ::cutlass::gemm::collective::CollectiveBuilder<
      Sm90, Tensor, Weight, RowMajor, Problem::kAlignB, A, ColumnMajor, Problem::kAlignA, float,
      Tile, Cluster, Stages, typename Schedule::Mainloop>::CollectiveOp;
  using Kernel = ::cutlass::gemm::kernel::GemmUniversal<Shape<int, int, int, int>, Mainloop,
                                                        Epilogue, typename Schedule::Scheduler>;

  static typename Kernel::Arguments arguments(const GemmArguments& g, int multiprocessors) {
    Matrix source = {};
    if constexpr (Tree::kSource >= 0) source = g.inputs[Tree::kSource];
    const auto* scales = static_cast<const Scale*>(g.blocks.scales);
    typename Kernel::Arguments out{
        ::cutlass::gemm::GemmUniversalMode::kGemm,
        {int(g.n), int(g.m), int(g.k), 1},
        {static_cast<const B*>(g.b.data),
         stride_of<typename Kernel::StrideA>(g.b),
         static_cast<const A*>(g.a.data),
         stride_of<typename Kernel::StrideB>(g.a),
         scales,
         {_1{}, g.n, 0},
         g.blocks.size},
        {Tree::arguments(g), static_cast<const typename Tree::Source*>(source.data),
         stride_of<typename Kernel::StrideC>(source), static_cast<D*>(g.d.data),
         stride_of<typename Kernel::StrideD>(g.d)}};
    if constexpr (Problem::kHasOffsets) {
      out.mainloop.ptr_Z = scales + (g.k + g.blocks.size - 1) / g.blocks.size * g.n;
    }
    const int along_own_m = g.raster_along_m < 0 ? -1 : 1 - g.raster_along_m;
    schedule(out, g, multiprocessors, along_own_m);
    return out;
  }

  using Entry = EntrySm90<Kernel>;

  static int32_t run(KernelCode& code, const tessera_call* call, const GemmArguments& g) {
    return run_sm90<Kernel, Cluster>(code, call, arguments(g, multiprocessors_of(call)),
                                     g.dependent != 0);
  }
};

}  // namespace tessera::cutlass
