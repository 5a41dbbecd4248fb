// SPDX-License-Identifier: Apache-2.0
// Rows of epilogue_sm80.cuh for transposed convolutions that are strided: each class of places is a
// product of its own, whose rows are counted as CUTLASS's iterators have them.
#pragma once

#include "backends/cutlass/kernels/class_of_places.h"
#include "backends/cutlass/kernels/epilogue_sm80.cuh"

namespace tessera::cutlass {

// As (M, N, L) of the class's product.
CUTLASS_DEVICE auto shape_of(const ClassOfPlaces& places) {
  return cute::make_shape(places.rows(), places.channels, int32_t(1));
}

// Callbacks of a visitor, with the class beside them.
template <class Callbacks>
struct OfClass : Callbacks {
  CUTLASS_DEVICE OfClass(const Callbacks& callbacks, const ClassOfPlaces& places)
      : Callbacks(callbacks), places(places) {}
  ClassOfPlaces places;
};

// As VisitorRowBroadcast, which knows no rows.
template <class Visitor>
struct RowOfClass : Visitor {
  using Visitor::Visitor;
  CUTLASS_DEVICE auto get_callbacks(::cutlass::gemm::GemmCoord tile, int thread,
                                    const ClassOfPlaces& places) {
    return Visitor::get_callbacks(tile, thread, shape_of(places));
  }
};

// What the other visitors have in common: `Of` makes callbacks of the visitor's own.
template <class Visitor, template <class> class Of>
struct VisitorOfClass : Visitor {
  using Visitor::Visitor;
  CUTLASS_DEVICE auto get_callbacks(::cutlass::gemm::GemmCoord tile, int thread,
                                    const ClassOfPlaces& places) {
    auto plain = Visitor::get_callbacks(tile, thread, shape_of(places));
    return Of<decltype(plain)>(plain, places);
  }
};

// As VisitorColBroadcast.
template <class Callbacks>
struct LoadColumnOfClass : OfClass<Callbacks> {
  using OfClass<Callbacks>::OfClass;
  CUTLASS_DEVICE void begin_epilogue() {
    CUTLASS_PRAGMA_UNROLL
    for (int i = 0; i < cute::size(this->tC_rCol); ++i) {
      const int32_t row = cute::get<0>(this->tC_cCol(i));
      const bool is_there = row < this->places.rows();
      this->tC_rCol(i) = this->params_ptr->ptr_col[is_there ? this->places.row(row) : 0];
    }
  }
};

// As VisitorAuxLoad.
template <class Callbacks>
struct LoadOfClass : OfClass<Callbacks> {
  using OfClass<Callbacks>::OfClass;
  CUTLASS_DEVICE void begin_step(int step) {
    using cute::_;
    cute::clear(this->tC_rAux);
    auto to = cute::filter(this->tC_rAux(_, _, _, cute::_0{}));
    auto at = cute::filter(this->tC_cAux(_, _, _, step));
    using Vector = cute::remove_cvref_t<decltype(to(0))>;
    const auto& from = *this->params_ptr;
    CUTLASS_PRAGMA_UNROLL
    for (int i = 0; i < cute::size(to); ++i) {
      const bool is_there = cute::elem_less(at(i), this->problem_shape);
      const int64_t place = this->places.row(cute::get<0>(at(i))) * cute::get<0>(from.dAux);
      ::cutlass::arch::global_load<Vector, sizeof(Vector)>(
          to(i), from.ptr_aux + place + cute::get<1>(at(i)), is_there);
    }
  }
};

// As VisitorAuxStore.
template <class Callbacks>
struct StoreOfClass : OfClass<Callbacks> {
  using OfClass<Callbacks>::OfClass;
  CUTLASS_DEVICE void end_step(int step) {
    using cute::_;
    auto from = cute::filter(this->tC_rAux);
    auto at = cute::filter(this->tC_cAux(_, _, _, step));
    using Vector = cute::remove_cvref_t<decltype(from(0))>;
    const auto& to = *this->params_ptr;
    CUTLASS_PRAGMA_UNROLL
    for (int i = 0; i < cute::size(from); ++i) {
      const bool is_there = cute::elem_less(at(i), this->problem_shape);
      const int64_t place = this->places.row(cute::get<0>(at(i))) * cute::get<0>(to.dAux);
      ::cutlass::arch::global_store<Vector, sizeof(Vector)>(
          from(i), to.ptr_aux + place + cute::get<1>(at(i)), is_there);
    }
  }
};

struct StridedRows {
  template <class Visitor>
  using Row = RowOfClass<Visitor>;
  template <class Visitor>
  using Column = VisitorOfClass<Visitor, LoadColumnOfClass>;
  template <class Visitor>
  using Full = VisitorOfClass<Visitor, LoadOfClass>;
  template <class Visitor>
  using Store = VisitorOfClass<Visitor, StoreOfClass>;
};

}  // namespace tessera::cutlass
