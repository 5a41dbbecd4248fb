// SPDX-License-Identifier: Apache-2.0
// What measured attention computes: see measure_contest.cuh.
#pragma once

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "backends/cutlass/kernels/measure_attention.h"
#include "backends/cutlass/kernels/measure_contest.cuh"

namespace tessera::cutlass::measure {

template <class Element>
__device__ Element* row_of(const Heads& x, int64_t batch, int64_t head, int64_t row) {
  return static_cast<Element*>(x.data) + batch * x.batch_stride + head * x.head_stride +
         row * x.row_stride;
}

// From the first element of the first row to behind the last one of the last.
inline int64_t extent_of(const Heads& x, const AttentionArguments& a, int64_t rows, int64_t width) {
  return (a.batch - 1) * x.batch_stride + (a.heads - 1) * x.head_stride +
         (rows - 1) * x.row_stride + width;
}

// As it is defined, in float: a block with a thread an element computes the row of one query.
template <class Problem>
__global__ void attention_reference(AttentionArguments a, float* wanted) {
  using Element = typename Problem::Element;
  extern __shared__ float sScores[];  // (keys)
  const int64_t query = blockIdx.x, head = blockIdx.y, batch = blockIdx.z;
  const Element* q = row_of<const Element>(a.q, batch, head, query);
  for (int64_t key = threadIdx.x; key < a.keys; key += a.width) {
    const Element* k = row_of<const Element>(a.k, batch, head, key);
    float score = 0;
    for (int i = 0; i < a.width; ++i) score += to_float(q[i]) * to_float(k[i]);
    score *= a.scale;
    const bool is_future = Problem::kIsCausal && key > query;
    if (is_future) score = Problem::kHasMask ? a.hidden * a.scale : -INFINITY;
    if constexpr (Problem::kHasMask) {
      using Mask = typename Problem::Mask;
      const Mask mask = row_of<const Mask>(a.mask, batch, head, query)[key];
      if constexpr (!std::is_same_v<Mask, uint8_t>) {
        score += to_float(mask);
      } else if (mask != a.seen) {
        score = a.hidden * a.scale;
      }
    }
    sScores[key] = score;
  }
  __syncthreads();
  float largest = -INFINITY, sum = 0, value = 0;
  for (int64_t key = 0; key < a.keys; ++key) largest = fmaxf(largest, sScores[key]);
  for (int64_t key = 0; key < a.keys; ++key) {
    const float share = expf(sScores[key] - largest);
    sum += share;
    value += share * to_float(row_of<const Element>(a.v, batch, head, key)[threadIdx.x]);
  }
  a.o.data = wanted;
  row_of<float>(a.o, batch, head, query)[threadIdx.x] = value / sum;
}

// Rows of keys beside each other. In each other one the last keys are padding, and where queries
// have rows of their own, what is added to the others is random, else nothing.
template <class Mask>
__global__ void fill_mask(Mask* mask, int64_t count, int64_t keys, bool is_own, uint8_t seen) {
  for (int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x; i < count;
       i += int64_t(gridDim.x) * blockDim.x) {
    const int64_t padding = i / keys % 2 == 0 ? (keys + 7) / 8 : 0;
    const bool is_seen = i % keys < keys - padding;
    if constexpr (std::is_same_v<Mask, uint8_t>) {
      mask[i] = is_seen ? seen : 1 - seen;
    } else {
      from_float(!is_seen ? -1e4f : is_own ? random_number(i, 3) : 0.f, mask[i]);
    }
  }
}

// Problem: element types Element and Mask; kIsCausal, kHasMask, kIsTf32.
template <class Problem>
class MeasuredAttention final : public MeasuredWork {
  using Element = typename Problem::Element;

 public:
  MeasuredAttention() : a_(tessera_measured_attention) {
    fill_heads();
    if (Problem::kHasMask) fill_mask();
    result_ = CheckedResult::of<Element>(a_.batch * a_.heads * a_.queries * a_.width,
                                         Problem::kIsTf32 ? kRoundingTf32 : kRounding<Element>);
    a_.o.data = result_.data();
    const size_t shared_bytes = size_t(a_.keys) * sizeof(float);
    const auto reference = &attention_reference<Problem>;
    must(cudaFuncSetAttribute(reference, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              int(shared_bytes)),
         "a row of scores");
    const dim3 grid(unsigned(a_.queries), unsigned(a_.heads), unsigned(a_.batch));
    reference<<<grid, unsigned(a_.width), shared_bytes>>>(a_, result_.wanted());
    result_.know_wanted();
  }

  int candidate_count() const override { return tessera_measured_candidate_count; }
  int64_t workspace_bytes(int candidate) const override {
    return tessera_measured_candidates[candidate].workspace_bytes;
  }

  bool launch(int candidate, int64_t, const tessera_call& call) const override {
    AttentionArguments a = a_;
    a.dependent = tessera_measured_candidates[candidate].dependent;
    return tessera_measured_candidates[candidate].kernel(&call, &a) == 0;
  }

 private:
  // Numbers whose scaled products have a variance of one, so that many keys count.
  void fill_heads() {
    const double size = std::sqrt(1 / (a_.scale * std::sqrt(double(a_.width))));
    Heads* const heads[] = {&a_.q, &a_.k, &a_.v};
    for (int memory = 0; memory < 3; ++memory) {
      int64_t elements = 0;
      for (int i = 0; i < 3; ++i) {
        if (tessera_measured_places[i].memory != memory) continue;
        const int64_t rows = i == 0 ? a_.queries : a_.keys;
        elements = std::max(
            elements, tessera_measured_places[i].offset + extent_of(*heads[i], a_, rows, a_.width));
      }
      if (elements == 0) continue;
      Element* const data = random_array<Element>(elements, size, 20 + memory);
      for (int i = 0; i < 3; ++i) {
        const MeasuredPlace& place = tessera_measured_places[i];
        if (place.memory == memory) heads[i]->data = data + place.offset;
      }
    }
  }

  void fill_mask() {
    using Mask = typename Problem::Mask;
    const int64_t elements = extent_of(a_.mask, a_, a_.queries, a_.keys);
    a_.mask.data = device_array<Mask>(elements);
    measure::fill_mask<<<1024, 256>>>(static_cast<Mask*>(a_.mask.data), elements, a_.keys,
                                      a_.mask.row_stride != 0, a_.seen);
  }

  AttentionArguments a_;
};

}  // namespace tessera::cutlass::measure
