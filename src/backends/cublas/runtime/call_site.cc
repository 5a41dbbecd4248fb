// SPDX-License-Identifier: Apache-2.0
#include "backends/cublas/runtime/call_site.h"

#include <algorithm>
#include <cstring>

namespace tessera::backends::cublas {
namespace {

char* data_of(const tessera_tensor& t) { return static_cast<char*>(t.data) + t.byte_offset; }

std::int64_t product_of(const tessera_tensor& t, std::int64_t begin, std::int64_t end) {
  std::int64_t product = 1;
  for (std::int64_t d = begin; d < end; ++d) product *= t.shape[d];
  return product;
}

Sizes sizes_of(const Spec& spec, tessera_tensor* const* tensors, const tessera_tensor& result) {
  const tessera_tensor& a = *tensors[spec.a];
  const std::int64_t rank = result.ndim;
  return {product_of(result, spec.batch_rank, rank - 1), result.shape[rank - 1],
          a.shape[a.ndim - (spec.a_transposed != 0 ? 2 : 1)],
          product_of(result, 0, spec.batch_rank)};
}

bool is_aligned(const void* data) {
  return reinterpret_cast<std::uintptr_t>(data) % kAlignBytes == 0;
}

bool are_aligned(const Operands& o) {
  for (const void* data :
       {o.a, o.b, o.bias, o.residual, o.a_scale, o.b_scale, static_cast<const void*>(o.d)}) {
    if (!is_aligned(data)) return false;
  }
  return true;
}

std::int64_t bytes_of(Scalar type) {
  switch (type) {
    case Scalar::kFloat16:
    case Scalar::kBFloat16:
      return 2;
    case Scalar::kFloat32:
    case Scalar::kInt32:
      return 4;
    case Scalar::kInt8:
    case Scalar::kFloat8E4M3:
    case Scalar::kFloat8E5M2:
      return 1;
  }
  return 1;
}

// Those of the rows from `first` on, of one matrix.
Operands from_row(const Spec& spec, const Sizes& sizes, Operands o, std::int64_t first) {
  const std::int64_t results = first * sizes.n * bytes_of(spec.result);
  o.a = static_cast<const char*>(o.a) + first * sizes.k * bytes_of(spec.a_type);
  o.d = static_cast<char*>(o.d) + results;
  if (o.residual != nullptr) o.residual = static_cast<const char*>(o.residual) + results;
  return o;
}

// One for each row, of which there are not any number.
bool has_ones_for_rows(const Spec& spec) {
  return spec.scales == Scales::kVectors && spec.a_scale < 0;
}

}  // namespace

std::int64_t ones_for(const Spec& spec) {
  if (has_ones_for_rows(spec)) return spec.m < 0 ? kMostRowsWithOnes : spec.m;
  return spec.scales == Scales::kVectors && spec.b_scale < 0 ? spec.n : 0;
}

CallSite::~CallSite() {
  for (Slot& slot : slots_) product_.drop(&slot.plan);
}

bool CallSite::create(TextBuffer* error) {
  if (!product_.create(error)) return false;
  if (product_.spec().has_algorithm()) is_of_this_version();
  Sizes sizes;
  const Plan* plan = nullptr;
  const bool has_elements = known_sizes(product_.spec(), &sizes) && sizes.m * sizes.n > 0;
  return !has_elements || sizes.batch == 0 || plan_for(sizes, &plan, error);
}

// Was the algorithm measured at these sizes?
bool CallSite::is_for(const Sizes& sizes) const {
  const Spec& s = product_.spec();
  const auto agrees = [](std::int64_t best, std::int64_t size) { return best < 0 || best == size; };
  return s.has_algorithm() && agrees(s.best_m, sizes.m) && agrees(s.best_n, sizes.n) &&
         agrees(s.best_batch, sizes.batch);
}

void CallSite::note(const char* why) {
  note_ = {};
  note_.add("the algorithm that was measured is not taken but the heuristic's first: %s", why);
}

bool CallSite::is_of_this_version() {
  const auto compiled = static_cast<std::size_t>(product_.spec().version);
  if (compiled == library_.version) return true;
  TextBuffer why;
  why.add("it is of cublasLt %s, and this is %s", VersionText(compiled).text,
          VersionText(library_.version).text);
  note(why.text());
  return false;
}

bool CallSite::takes_own_algorithm(Plan* plan) {
  if (!is_for(plan->sizes) || !is_of_this_version()) return false;
  std::memcpy(&plan->algorithm, product_.spec().algorithm, sizeof plan->algorithm);
  TextBuffer why;
  if (product_.check(*plan, plan->algorithm, &why)) return true;
  note(why.text());
  return false;
}

bool CallSite::plan_for(const Sizes& sizes, const Plan** plan, TextBuffer* error) {
  Slot* oldest = slots_;
  for (Slot& slot : slots_) {
    if (slot.last_use != 0 && slot.plan.sizes == sizes) {
      slot.last_use = ++uses_;
      *plan = &slot.plan;
      return true;
    }
    if (slot.last_use < oldest->last_use) oldest = &slot;
  }
  product_.drop(&oldest->plan);
  oldest->last_use = 0;
  if (!product_.lay_out(sizes, &oldest->plan, error)) return false;
  if (!takes_own_algorithm(&oldest->plan)) {
    Algorithm first;
    if (product_.find_algorithms(oldest->plan, &first, 1, error) == 0) return false;
    oldest->plan.algorithm = first.opaque;
  }
  oldest->last_use = ++uses_;
  *plan = &oldest->plan;
  return true;
}

Operands CallSite::operands_of(const tessera_call& call, tessera_tensor* const* tensors,
                               const tessera_tensor& result) const {
  const Spec& spec = product_.spec();
  const auto data = [&](std::int64_t tensor) {
    return tensor >= 0 ? data_of(*tensors[tensor]) : nullptr;
  };
  const auto scales = [&](std::int64_t tensor) -> const void* {
    return tensor < 0 && spec.scales == Scales::kVectors ? library_.ones : data(tensor);
  };
  Operands o;
  o.a = data(spec.a);
  o.b = data(spec.b);
  o.bias = data(spec.bias);
  o.residual = data(spec.residual);
  o.a_scale = scales(spec.a_scale);
  o.b_scale = scales(spec.b_scale);
  o.d = data_of(result);
  const auto begin = reinterpret_cast<std::uintptr_t>(call.workspace);
  const std::uintptr_t aligned =
      (begin + kWorkspaceAlignBytes - 1) / kWorkspaceAlignBytes * kWorkspaceAlignBytes;
  o.workspace = reinterpret_cast<void*>(aligned);
  o.workspace_bytes = static_cast<std::size_t>(spec.workspace_bytes);
  o.stream = static_cast<cudaStream_t>(call.stream);
  return o;
}

bool CallSite::run(const tessera_call& call, tessera_tensor** tensors, std::int32_t count,
                   TextBuffer* error) {
  const Spec& spec = product_.spec();
  const tessera_tensor& result = *tensors[count - 1];
  const Sizes all = sizes_of(spec, tensors, result);
  if (all.m == 0 || all.n == 0 || all.batch == 0) return true;
  const Operands operands = operands_of(call, tensors, result);
  if (!are_aligned(operands)) {
    error->add("a matrix does not begin at a multiple of %u bytes", kAlignBytes);
    return false;
  }
  Sizes part = all;
  if (has_ones_for_rows(spec)) part.m = std::min(all.m, library_.ones_count);
  for (std::int64_t first = 0; first < all.m; first += part.m) {
    part.m = std::min(part.m, all.m - first);
    const Plan* plan = nullptr;
    if (!plan_for(part, &plan, error) ||
        !product_.run(*plan, from_row(spec, all, operands, first), error)) {
      return false;
    }
  }
  return true;
}

}  // namespace tessera::backends::cublas
