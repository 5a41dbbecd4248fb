// SPDX-License-Identifier: Apache-2.0
// Matrix products on Hopper: TMA loads, wgmma, warp-specialised persistent kernels.
#pragma once

// Programmatic dependent launch: the kernel waits for the one before it on the device.
#ifndef TESSERA_NO_DEPENDENT_LAUNCH
#define CUTLASS_ENABLE_GDC_FOR_SM90 1
#endif

// Those of this architecture alone: collective_builder.hpp and gemm_universal.hpp have them all,
// and take nvcc's host pass twice as long. In this order: some do not include what they use.
// clang-format off
#include <cutlass/gemm/collective/collective_mma_decl.hpp>
#include <cutlass/gemm/collective/sm90_mma_tma_gmma_ss_warpspecialized.hpp>
#include <cutlass/gemm/collective/sm90_mma_tma_gmma_rs_warpspecialized.hpp>
#include <cutlass/gemm/collective/collective_builder_decl.hpp>
#include <cutlass/gemm/collective/builders/sm90_gmma_builder.inl>
#include <cutlass/gemm/kernel/gemm_universal_decl.h>
#include <cutlass/gemm/kernel/tile_scheduler.hpp>
#include <cutlass/gemm/kernel/sm90_gemm_tma_warpspecialized_pingpong.hpp>
#include <cutlass/gemm/kernel/sm90_gemm_tma_warpspecialized_cooperative.hpp>
// clang-format on

#include "backends/cutlass/kernels/epilogue_sm90.cuh"
#include "backends/cutlass/kernels/launch_sm90.cuh"

namespace tessera::cutlass {

// Whose registers hold a tile of D: one warpgroup's, while another's is being stored, or those of
// two together.
struct Pingpong {
  using Scheduler = ::cutlass::gemm::PersistentScheduler;
  using Mainloop = ::cutlass::gemm::KernelTmaWarpSpecializedPingpong;
  using Epilogue = ::cutlass::epilogue::TmaWarpSpecialized;
};
struct Cooperative {
  using Scheduler = ::cutlass::gemm::PersistentScheduler;
  using Mainloop = ::cutlass::gemm::KernelTmaWarpSpecializedCooperative;
  using Epilogue = ::cutlass::epilogue::TmaWarpSpecializedCooperative;
};

// Layouts of operands that all matrices of a batch share. A stride of 0 that is a type leaves the
// batch out of TMA's descriptor, which a value would not.
template <class Layout>
using RepeatedA = decltype(cute::replace<2>(::cutlass::detail::TagToStrideA_t<Layout>(), _0()));
template <class Layout>
using RepeatedB = decltype(cute::replace<2>(::cutlass::detail::TagToStrideB_t<Layout>(), _0()));

template <class S>
S stride_of(const Matrix& m) {
  S stride{};
  if constexpr (cute::is_static_v<cute::remove_cvref_t<decltype(cute::get<0>(stride))>>) {
    cute::get<1>(stride) = m.row_stride;
  } else {
    cute::get<0>(stride) = m.row_stride;
  }
  if constexpr (!cute::is_static_v<cute::remove_cvref_t<decltype(cute::get<2>(stride))>>) {
    cute::get<2>(stride) = m.batch_stride;
  }
  return stride;
}

inline int multiprocessors_of(const tessera_call* call) {
  int count = 0;
  cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, call->device.device_id);
  return count;
}

// `raster_along_m`: as GemmArguments has it, of the kernel's own M.
template <class Arguments>
void schedule(Arguments& out, const GemmArguments& g, int multiprocessors, int raster_along_m) {
  out.hw_info.sm_count = multiprocessors;
  if constexpr (requires { out.scheduler.splits; }) {
    out.scheduler.splits = g.splits > 1 ? g.splits : 1;
  }
  out.scheduler.max_swizzle_size = g.swizzle;
  using Order = decltype(out.scheduler.raster_order);
  out.scheduler.raster_order = raster_along_m < 0    ? Order::Heuristic
                               : raster_along_m == 0 ? Order::AlongN
                                                     : Order::AlongM;
}

template <class Kernel, class Cluster>
int32_t run_sm90(KernelCode& code, const tessera_call* call, const typename Kernel::Arguments& args,
                 bool is_dependent) {
  if (!Kernel::can_implement(args)) {
    return failed(call, code, "the sizes or strides are not what the kernel was compiled for");
  }
  if (Kernel::get_workspace_size(args) > call->workspace_bytes) {
    return failed(call, code, "its workspace is too small");
  }
  if (Kernel::initialize_workspace(args, call->workspace,
                                   static_cast<cudaStream_t>(call->stream)) !=
      ::cutlass::Status::kSuccess) {
    return failed(call, code, cudaGetErrorString(cudaGetLastError()));
  }
  return launch_sm90<Kernel, Cluster>(
      code, call, Kernel::to_underlying_arguments(args, call->workspace), is_dependent);
}

// Problem: element types A, B, Sum, D, layouts LayoutA, LayoutB, and kAlignA, kAlignB, kAlignD in
// elements. Config: Tile (TM, TN, TK), Cluster, Schedule. Function: Inputs and element().
template <class Problem, class Config, class Function>
struct GemmSm90 {
  using A = typename Problem::A;
  using B = typename Problem::B;
  using D = typename Problem::D;
  using Tile = typename Config::Tile;
  using Schedule = typename Config::Schedule;
  using Tree = EpilogueTree<Function, typename Problem::Sum, D, Tile, typename Function::Inputs,
                            typename Function::Positions>;
  using RowMajor = ::cutlass::layout::RowMajor;
  using Tensor = ::cutlass::arch::OpClassTensorOp;
  using Sm90 = ::cutlass::arch::Sm90;

  using Epilogue = typename ::cutlass::epilogue::collective::CollectiveBuilder<
      Sm90, Tensor, Tile, typename Config::Cluster,
      ::cutlass::epilogue::collective::EpilogueTileAuto, typename Problem::Sum, float,
      typename Tree::Source, RowMajor, Problem::kAlignD, D, RowMajor, Problem::kAlignD,
      typename Schedule::Epilogue, typename Tree::Type>::CollectiveOp;
  using Stages = ::cutlass::gemm::collective::StageCountAutoCarveout<static_cast<int>(
      sizeof(typename Epilogue::SharedStorage))>;
  using Mainloop = typename ::cutlass::gemm::collective::CollectiveBuilder<
      Sm90, Tensor, A, typename Problem::LayoutA, Problem::kAlignA, B, typename Problem::LayoutB,
      Problem::kAlignB, typename Problem::Sum, Tile, typename Config::Cluster, Stages,
      typename Schedule::Mainloop>::CollectiveOp;
  using Kernel = ::cutlass::gemm::kernel::GemmUniversal<Shape<int, int, int, int>, Mainloop,
                                                        Epilogue, typename Schedule::Scheduler>;

  static typename Kernel::Arguments arguments(const GemmArguments& g, int multiprocessors) {
    Matrix source = {};
    if constexpr (Tree::kSource >= 0) source = g.inputs[Tree::kSource];
    typename Kernel::Arguments out{
        ::cutlass::gemm::GemmUniversalMode::kGemm,
        {int(g.m), int(g.n), int(g.k), int(g.batch)},
        {static_cast<const A*>(g.a.data), stride_of<typename Kernel::StrideA>(g.a),
         static_cast<const B*>(g.b.data), stride_of<typename Kernel::StrideB>(g.b)},
        {Tree::arguments(g), static_cast<const typename Tree::Source*>(source.data),
         stride_of<typename Kernel::StrideC>(source), static_cast<D*>(g.d.data),
         stride_of<typename Kernel::StrideD>(g.d)}};
    schedule(out, g, multiprocessors, g.raster_along_m);
    return out;
  }

  using Entry = EntrySm90<Kernel>;

  static int32_t run(KernelCode& code, const tessera_call* call, const GemmArguments& g) {
    return run_sm90<Kernel, typename Config::Cluster>(
        code, call, arguments(g, multiprocessors_of(call)), g.dependent != 0);
  }
};

}  // namespace tessera::cutlass
