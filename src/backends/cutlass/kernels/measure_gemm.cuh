// SPDX-License-Identifier: Apache-2.0
// What measured products and convolutions compute: see measure_contest.cuh.
#pragma once

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "backends/cutlass/kernels/measure_contest.cuh"
#include "backends/cutlass/kernels/measure_gemm.h"
#include "backends/cutlass/kernels/measure_reference.cuh"

namespace tessera::cutlass::measure {

constexpr int kMostWeights = 256;  // copies of B
inline constexpr double kRoundingHalfSums = 5e-2, kRoundingFast = 1e-3;

template <class... Inputs>
void fill_inputs(InputList<Inputs...>, GemmArguments& g) {
  int i = 0;
  ((g.inputs[i].data = random_array<typename Inputs::Element>(
        Inputs::elements(g) * (g.inputs[i].batch_stride == 0 ? 1 : g.batch), 0.5, 10 + i),
    ++i),
   ...);
}

// Problem: element types A, B, Sum, D; kGathered, kAIsColumnMajor, kBIsRowMajor, kHasHalfSums,
// kIsTf32, kIsFast. Function: Inputs and element().
template <class Problem, class Function>
class MeasuredGemm final : public MeasuredWork {
  using A = typename Problem::A;
  using B = typename Problem::B;

 public:
  MeasuredGemm() : g_(tessera_measured_product) {
    const int64_t weights = b_elements();
    // Factors that differ from batch to batch are activations, as images are: where they are is not
    // for us to say.
    if (matrices(g_.b) == 1 && Problem::kGathered != Gathered::kImageAsB) {
      const int64_t fit = 2 * int64_t(device_.l2CacheSize) / (weights * int64_t(sizeof(B)));
      copies_ = std::clamp<int64_t>(fit + 2, 2, kMostWeights);
    }
    // Of integers, sums that eight bits can nearly hold: what is clipped is not compared.
    const bool is_integer = std::is_integral_v<A>;
    g_.a.data = random_array<A>(a_elements(), is_integer ? 4 : 1, 1);
    g_.b.data = random_array<B>(weights * copies_, is_integer ? 1 : 1 / std::sqrt(double(g_.k)), 2);
    result_ = CheckedResult::of<typename Problem::D>(g_.m * g_.n * g_.batch, limit());
    g_.d.data = result_.data();
    fill_inputs(typename Function::Inputs(), g_);
    const dim3 grid(unsigned((g_.m + kSide - 1) / kSide), unsigned((g_.n + kSide - 1) / kSide),
                    unsigned(g_.batch));
    reference<Problem, Function><<<grid, dim3(kSide, kSide)>>>(g_, result_.wanted());
    result_.know_wanted();
  }

  int candidate_count() const override { return tessera_measured_candidate_count; }
  int64_t workspace_bytes(int candidate) const override {
    return tessera_measured_candidates[candidate].workspace_bytes;
  }
  int64_t turns() const override { return copies_; }

  bool launch(int candidate, int64_t turn, const tessera_call& call) const override {
    const MeasuredCandidate& c = tessera_measured_candidates[candidate];
    GemmArguments g = g_;
    g.b.data = static_cast<B*>(g.b.data) + turn * (g.n * g.k);
    g.swizzle = c.swizzle;
    g.raster_along_m = c.raster_along_m;
    g.dependent = c.dependent;
    g.splits = c.splits;
    return c.kernel(&call, &g) == 0;
  }

 private:
  int64_t image_elements() const {
    const Window& w = g_.window;
    return int64_t(w.batch) * w.height * w.width * w.channels;
  }
  int64_t a_elements() const {
    const Window& w = g_.window;
    if (Problem::kGathered == Gathered::kImage) return image_elements();
    if (Problem::kGathered == Gathered::kPlaces) {
      return int64_t(w.batch) * w.out_height * w.out_width * (g_.k / (w.rows * w.columns));
    }
    return g_.m * g_.k * matrices(g_.a);
  }
  int64_t b_elements() const {
    if (Problem::kGathered == Gathered::kImageAsB) return image_elements();
    return g_.n * g_.k * matrices(g_.b);
  }
  int64_t matrices(const Matrix& m) const { return m.batch_stride == 0 ? 1 : g_.batch; }

  static constexpr double limit() {
    double limit = kRounding<typename Problem::D>;
    if (Problem::kIsTf32) limit = std::max(limit, kRoundingTf32);
    if (Problem::kHasHalfSums) limit = std::max(limit, kRoundingHalfSums);
    if (Problem::kIsFast) limit = std::max(limit, kRoundingFast);
    return limit;
  }

  GemmArguments g_;
  int64_t copies_ = 1;
};

}  // namespace tessera::cutlass::measure
