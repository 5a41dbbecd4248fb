// SPDX-License-Identifier: Apache-2.0
// The part of a kernel that comes from the composite's body behind the product: a function of one
// element, in float (and int32 where the product is of integers), with the words that bodies are
// made of.
#pragma once

#include <cutlass/array.h>
#include <cutlass/cutlass.h>
#include <cutlass/fast_math.h>
#include <cutlass/numeric_conversion.h>

namespace tessera::cutlass {

// Kinds of values that the function reads beside the sum, with their element types. `Row`: one
// element a column of D, as a bias is; `Column`: one a row; `Full`: one an element; `Scalar`: one;
// `Repeated`: one an element, which all matrices of the batch share.
template <class T>
struct Row {
  using Element = T;
};
template <class T>
struct Column {
  using Element = T;
};
template <class T>
struct Full {
  using Element = T;
};
template <class T>
struct Scalar {
  using Element = T;
};
template <class T>
struct Repeated {
  using Element = T;
};
template <class... Inputs>
struct InputList {};

// Words for results of sixteen bits. Everything goes through the hardware's tanh: an exponential
// and a reciprocal for each element would make the special-function unit the limit.
struct HalfPrecisionWords {
  static CUTLASS_DEVICE float tanh(float x) { return ::cutlass::fast_tanh(x); }
  static CUTLASS_DEVICE float sigmoid(float x) { return fmaf(0.5f, tanh(0.5f * x), 0.5f); }
  static CUTLASS_DEVICE float exp(float x) { return __expf(x); }
  static CUTLASS_DEVICE float log(float x) { return __logf(x); }
  static CUTLASS_DEVICE float divide(float x, float y) { return __fdividef(x, y); }
  // erf(x) = tanh(x (c0 + c1 x^2 + c2 x^4)), fitted for |x| < 2.97, where both are 1 in float16;
  // beyond, the argument grows linearly. Off by 1e-4, and by what the hardware's tanh is (5e-4).
  static CUTLASS_DEVICE float erf(float x) {
    const float u = fminf(x * x, 8.82f);
    return tanh(x * fmaf(u, fmaf(u, -1.98854e-3f, 0.104667f), 1.12784637f));
  }
};

// Words for float results.
struct FloatWords {
  static CUTLASS_DEVICE float tanh(float x) { return tanhf(x); }
  static CUTLASS_DEVICE float sigmoid(float x) { return 1.f / (1.f + expf(-x)); }
  static CUTLASS_DEVICE float exp(float x) { return expf(x); }
  static CUTLASS_DEVICE float log(float x) { return logf(x); }
  static CUTLASS_DEVICE float divide(float x, float y) { return x / y; }
  static CUTLASS_DEVICE float erf(float x) { return erff(x); }
};

// The same, but for sigmoid: an exponential and a reciprocal less.
struct FastWords : FloatWords {
  static CUTLASS_DEVICE float sigmoid(float x) {
    return fmaf(0.5f, ::cutlass::fast_tanh(0.5f * x), 0.5f);
  }
};

template <class Words>
struct EpilogueWords : Words {
  static CUTLASS_DEVICE float relu(float x) { return x < 0.f ? 0.f : x; }  // NaN stays
  static CUTLASS_DEVICE float clip(float x, float low, float high) {
    return x < low ? low : x > high ? high : x;
  }
  static CUTLASS_DEVICE float minimum(float x, float y) { return y < x ? y : x; }
  static CUTLASS_DEVICE float maximum(float x, float y) { return y > x ? y : x; }
  static CUTLASS_DEVICE float abs(float x) { return fabsf(x); }
  static CUTLASS_DEVICE float sqrt(float x) { return sqrtf(x); }
  static CUTLASS_DEVICE float rsqrt(float x) { return rsqrtf(x); }
  static CUTLASS_DEVICE float round(float x) { return rintf(x); }  // the even one of two
};

// ---- Behind sums of integers

// What the function takes: integers as they are, because float has not all of them; else floats.
template <class T>
CUTLASS_DEVICE float operand(T x) {
  return ::cutlass::NumericConverter<float, T>::convert(x);
}
CUTLASS_DEVICE int32_t operand(int32_t x) { return x; }

// What it returns, as D. Integers are in D's range, and truncated.
template <class D>
CUTLASS_DEVICE D result_as(int32_t x) {
  return D(x);
}
template <class D>
CUTLASS_DEVICE D result_as(float x) {
  if constexpr (std::is_integral_v<D>) return D(int32_t(x));
  return ::cutlass::NumericConverter<D, float>::convert(x);
}

// The function on arrays of the types that they come in.
template <class Function, class D, int N, class... Inputs>
CUTLASS_DEVICE ::cutlass::Array<D, N> of_elements(const ::cutlass::Array<Inputs, N>&... inputs) {
  ::cutlass::Array<D, N> result;
  CUTLASS_PRAGMA_UNROLL
  for (int i = 0; i < N; ++i) {
    result[i] = result_as<D>(Function::element(operand(inputs[i])...));
  }
  return result;
}

// ---- Behind sums of floats

// The function of one element as the node of a visitor tree, which sees arrays of them.
template <class Function>
struct Elementwise {
  template <class T>
  struct Node;
  template <int N>
  struct Node<::cutlass::Array<float, N>> {
    using Fragment = ::cutlass::Array<float, N>;
    template <class... Inputs>
    CUTLASS_DEVICE Fragment operator()(const Fragment& sum, const Inputs&... inputs) const {
      Fragment result;
      CUTLASS_PRAGMA_UNROLL
      for (int i = 0; i < N; ++i) result[i] = Function::element(sum[i], inputs[i]...);
      return result;
    }
  };
  // Visitors ask for arguments of the scalar form.
  template <class T>
  requires(!requires { typename T::Element; }) struct Node<T> {
  };
};

}  // namespace tessera::cutlass
