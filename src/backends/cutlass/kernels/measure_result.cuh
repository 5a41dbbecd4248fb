// SPDX-License-Identifier: Apache-2.0
// Where measured candidates leave their results, and what these have to agree with.
#pragma once

#include <cmath>
#include <string>

#include "backends/cutlass/kernels/measure_operands.cuh"

namespace tessera::cutlass::measure {

// What a result may be off, as a share of the root mean square: rounding of the result and of the
// operands, and the hardware's tanh; single elements by kSingle times that.
constexpr double kSingle = 20;
template <class T>
constexpr double kRounding = 2e-5;
template <>
inline constexpr double kRounding<__half> = 1e-3;
template <>
inline constexpr double kRounding<__nv_bfloat16> = 4e-3;
inline constexpr double kRoundingTf32 = 1.5e-3;
// Where a rounding is on the edge, an integer of eight bits is the next one.
template <>
inline constexpr double kRounding<int8_t> = 2e-3;
template <>
inline constexpr double kRounding<uint8_t> = 2e-3;

// How far a result is from what is wanted, over the elements where that is finite.
struct Difference {
  double squares = 0;         // of the differences
  double wanted_squares = 0;  // of what is wanted
  unsigned long long compared = 0;
  // The largest difference as a share of the element and the root mean square; float bits, because
  // those of floats that are not negative have the order of integers.
  unsigned largest = 0;
};

static __global__ void sum_squares(const float* wanted, int64_t count, Difference* out) {
  double squares = 0;
  unsigned long long finite = 0;
  for (int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x; i < count;
       i += int64_t(gridDim.x) * blockDim.x) {
    if (!isfinite(wanted[i])) continue;
    squares += double(wanted[i]) * wanted[i];
    ++finite;
  }
  atomicAdd(&out->wanted_squares, squares);
  atomicAdd(&out->compared, finite);
}

template <class D>
__global__ void compare(const D* d, const float* wanted, int64_t count, Difference* out) {
  const float typical = float(sqrt(out->wanted_squares / double(out->compared)));
  double squares = 0;
  float largest = 0;
  for (int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x; i < count;
       i += int64_t(gridDim.x) * blockDim.x) {
    if (!isfinite(wanted[i])) continue;
    const float difference = fabsf(to_float(d[i]) - wanted[i]);
    squares += double(difference) * difference;
    const float share = difference / (fabsf(wanted[i]) + typical);
    largest = fmaxf(largest, share);  // NaN is in `squares`
  }
  atomicAdd(&out->squares, squares);
  atomicMax(&out->largest, __float_as_uint(largest));
}

// A result of `count` elements beside each other. The one who makes it computes what is wanted.
class CheckedResult {
 public:
  CheckedResult() = default;
  template <class D>
  static CheckedResult of(int64_t count, double limit) {
    CheckedResult result;
    result.data_ = device_array<D>(count);
    result.bytes_ = size_t(count) * sizeof(D);
    result.wanted_ = device_array<float>(count);
    result.count_ = count;
    result.limit_ = limit;
    result.difference_ = device_array<Difference>(1);
    result.launch_compare_ = [](const CheckedResult& r, cudaStream_t stream) {
      measure::compare<<<512, 256, 0, stream>>>(static_cast<const D*>(r.data_), r.wanted_, r.count_,
                                                r.difference_);
    };
    return result;
  }

  void* data() const { return data_; }
  float* wanted() const { return wanted_; }

  // Once what is wanted is there.
  void know_wanted() {
    must(cudaMemset(difference_, 0, sizeof(Difference)), "the reference");
    sum_squares<<<512, 256>>>(wanted_, count_, difference_);
    must(cudaMemcpy(&nothing_, difference_, sizeof nothing_, cudaMemcpyDeviceToHost),
         "the reference");
    if (2 * int64_t(nothing_.compared) >= count_) return;
    std::fprintf(stderr, "of random numbers too few of the results are finite\n");
    std::exit(1);
  }

  void fill_with_nan(cudaStream_t stream) const {
    must(cudaMemsetAsync(data_, 0xff, bytes_, stream), "a result");
  }

  // Of what lies there after the launches before; an error may be one of theirs.
  cudaError_t compare(cudaStream_t stream, Difference& found) const {
    cudaError_t status =
        cudaMemcpyAsync(difference_, &nothing_, sizeof nothing_, cudaMemcpyHostToDevice, stream);
    if (status != cudaSuccess) return status;
    launch_compare_(*this, stream);
    status = cudaStreamSynchronize(stream);
    if (status != cudaSuccess) return status;
    return cudaMemcpy(&found, difference_, sizeof found, cudaMemcpyDeviceToHost);
  }
  // What a comparison found; "" if all is right.
  std::string mistake(const Difference& found) const {
    const double error = std::sqrt(found.squares / found.wanted_squares);
    float largest;
    static_assert(sizeof largest == sizeof found.largest);
    __builtin_memcpy(&largest, &found.largest, sizeof largest);
    if (error < limit_ && largest < kSingle * limit_) return "";
    char text[160];
    std::snprintf(text, sizeof text,
                  "it computes wrong numbers: off by %.2g (limit %.2g), single elements by %.2g",
                  error, limit_, double(largest));
    return text;
  }

 private:
  void* data_ = nullptr;
  size_t bytes_ = 0;
  float* wanted_ = nullptr;
  int64_t count_ = 0;
  double limit_ = 0;
  Difference* difference_ = nullptr;
  Difference nothing_;  // compared yet, with what is known of the reference
  void (*launch_compare_)(const CheckedResult&, cudaStream_t) = nullptr;
};

}  // namespace tessera::cutlass::measure
