// SPDX-License-Identifier: Apache-2.0
// The epilogue of Hopper's kernels: a visitor tree with the composite's body as its one computing
// node.
#pragma once

#include <cute/tensor.hpp>
#include <cutlass/cutlass.h>
#include <cutlass/epilogue/collective/collective_builder.hpp>
#include <cutlass/epilogue/fusion/sm90_callbacks_tma_warpspecialized.hpp>

#include "backends/cutlass/kernels/elementwise.cuh"
#include "backends/cutlass/kernels/launch.cuh"

namespace tessera::cutlass {

using cute::_0;
using cute::_1;
using cute::Int;
using cute::Shape;
using cute::Stride;
namespace fusion = ::cutlass::epilogue::fusion;

// The first `Full` input is what CUTLASS calls C and comes by TMA; the others are read directly.
template <class Input, bool kIsSource, class Tile>
struct InputNode;
// declval: nvcc hands `T()` on to the host's compiler as `signed int()`, which is no expression.
template <class T>
using OperandType = decltype(operand(cute::declval<T>()));
template <class T, class Tile>
struct InputNode<Row<T>, false, Tile> {
  using Type = fusion::Sm90RowBroadcast<0, Tile, T, OperandType<T>, Stride<_0, _1, int64_t>>;
  static typename Type::Arguments arguments(const EpilogueInput& x) {
    return {static_cast<const T*>(x.data), T(0), {_0{}, _1{}, x.batch_stride}};
  }
};
template <class T, class Tile>
struct InputNode<Column<T>, false, Tile> {
  using Type = fusion::Sm90ColBroadcast<0, Tile, T, OperandType<T>, Stride<_1, _0, int64_t>>;
  static typename Type::Arguments arguments(const EpilogueInput& x) {
    return {static_cast<const T*>(x.data), T(0), {_1{}, _0{}, x.batch_stride}};
  }
};
// CUTLASS's own node reads a number when the kernel starts: maybe before the kernel that makes it
// has ended, where this one may start early. A tile's sums are there after that.
template <class T>
struct LateScalar : fusion::Sm90ScalarBroadcast<T, Stride<_0, _0, int64_t>> {
  using Base = fusion::Sm90ScalarBroadcast<T, Stride<_0, _0, int64_t>>;
  CUTLASS_HOST_DEVICE LateScalar() {}
  CUTLASS_HOST_DEVICE LateScalar(const typename Base::Params& params,
                                 const typename Base::SharedStorage&) {
    this->params_ptr = &params;
  }
  template <class... Args>
  CUTLASS_DEVICE auto get_producer_load_callbacks(const fusion::ProducerLoadArgs<Args...>&) {
    return fusion::EmptyProducerLoadCallbacks{};
  }
  template <bool, class... Args>
  CUTLASS_DEVICE auto get_consumer_store_callbacks(const fusion::ConsumerStoreArgs<Args...>& args) {
    const auto& p = *this->params_ptr;
    const int64_t batch = cute::get<3>(args.tile_coord_mnkl);
    return
        typename Base::ConsumerStoreCallbacks(p.scalar_ptrs[0][batch * cute::get<2>(p.dScalar[0])]);
  }
};
template <class T, class Tile>
struct InputNode<Scalar<T>, false, Tile> {
  using Type = LateScalar<T>;
  static typename Type::Arguments arguments(const EpilogueInput& x) {
    return {{T(0)}, {static_cast<const T*>(x.data)}, {{_0{}, _0{}, x.batch_stride}}};
  }
};
template <class T, class Tile>
struct InputNode<Full<T>, true, Tile> {
  using Type = fusion::Sm90SrcFetch<T>;
  static typename Type::Arguments arguments(const EpilogueInput&) { return {}; }
};
template <class T, class Tile>
struct InputNode<Full<T>, false, Tile> {
  using Type = fusion::Sm90AuxLoad<0, void, T, Stride<int64_t, _1, int64_t>, void, void,
                                   128 / (8 * sizeof(T))>;
  static typename Type::Arguments arguments(const EpilogueInput& x) {
    return {static_cast<const T*>(x.data), T(0), {x.row_stride, _1{}, x.batch_stride}};
  }
};
// Not by TMA, whose descriptors would have a dimension of stride 0.
template <class T, class Tile>
struct InputNode<Repeated<T>, false, Tile> : InputNode<Full<T>, false, Tile> {};

// The position of the first `Full` input, and its element type; -1 and void without one.
template <class... Inputs>
struct FindSource {
  static constexpr int kPosition = -1;
  using Element = void;
};
template <class First, class... Rest>
struct FindSource<First, Rest...> {
  using InRest = FindSource<Rest...>;
  static constexpr int kPosition = InRest::kPosition < 0 ? -1 : InRest::kPosition + 1;
  using Element = typename InRest::Element;
};
template <class T, class... Rest>
struct FindSource<Full<T>, Rest...> {
  static constexpr int kPosition = 0;
  using Element = T;
};

// The node that computes behind sums of integers, for which CUTLASS's own would be in float.
template <class Function, class D>
struct IntegerCompute : fusion::Sm90VisitorImpl<> {
  using fusion::Sm90VisitorImpl<>::Sm90VisitorImpl;
  struct Callbacks : fusion::EmptyConsumerStoreCallbacks {
    template <class Sum, class... Inputs, int N>
    CUTLASS_DEVICE auto visit(const ::cutlass::Array<Sum, N>&, int, int, int,
                              const ::cutlass::Array<Inputs, N>&... inputs) {
      return of_elements<Function, D, N>(inputs...);
    }
  };
  template <bool, class... Args>
  CUTLASS_DEVICE auto get_consumer_store_callbacks(const fusion::ConsumerStoreArgs<Args...>&) {
    return Callbacks{};
  }
};

template <class Function, class Sum, class D, class Tile, class List, class Positions>
struct EpilogueTree;
template <class Function, class Sum, class D, class Tile, class... Inputs, size_t... kPositions>
struct EpilogueTree<Function, Sum, D, Tile, InputList<Inputs...>,
                    std::index_sequence<kPositions...>> {
  static constexpr int kSource = FindSource<Inputs...>::kPosition;
  using Source = typename FindSource<Inputs...>::Element;
  template <class Input, int kPosition>
  using Node = InputNode<Input, kPosition == kSource, Tile>;
  using FloatCompute = fusion::Sm90Compute<Elementwise<Function>::template Node, D, float,
                                           ::cutlass::FloatRoundStyle::round_to_nearest>;
  using Compute =
      std::conditional_t<std::is_integral_v<Sum>, IntegerCompute<Function, D>, FloatCompute>;
  using Type = fusion::Sm90EVT<Compute, fusion::Sm90AccFetch,
                               typename Node<Inputs, int(kPositions)>::Type...>;
  static typename Type::Arguments arguments(const GemmArguments& g) {
    return {typename fusion::Sm90AccFetch::Arguments{},
            Node<Inputs, int(kPositions)>::arguments(g.inputs[kPositions])...,
            typename Compute::Arguments{}};
  }
};

}  // namespace tessera::cutlass
