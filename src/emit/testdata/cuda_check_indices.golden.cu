#include <stdint.h>

#include "tessera/call.h"
#include "tessera/kernel_cuda.cuh"

// check_indices
//   in  x0: int64(4, 8), x1: float32(n, 3)
//   out y: int64(4, 8)
//   checks: indices
//   ops: check_indices
extern "C" __global__ void __launch_bounds__(256) check_indices_launch0(
    const int64_t* x0, int64_t* __restrict__ y, const int64_t n, const tk::report report) {
  tk::wait_for_inputs(x0);
  const int32_t i = int32_t(blockIdx.x) * 256 + int32_t(threadIdx.x);
  if (i >= 32) return;
  if (!(-n <= x0[i] && x0[i] < n)) tk::fail(report, x0[i], i, 0, n);
  y[i] = x0[i];
}

extern "C" int32_t check_indices(void* const* buffers, const int64_t* dims, const tessera_call* call) {
  auto* const x0 = static_cast<int64_t*>(buffers[0]);  // (4, 8)
  auto* const y = static_cast<int64_t*>(buffers[2]);  // (4, 8)
  [[maybe_unused]] const int64_t n = dims[0];
  if (!(0 < n)) {
    return tessera_index_outside(call, "node `emb`: its indices are of axis %lld, which has no elements", static_cast<long long>(0));
  }
  if (const int32_t status =
          tk::launch(call, "check_indices_launch0", check_indices_launch0, 1, 256, x0, y, n,
                     tk::report{tessera_fault_of(call),
                                "node `100%%`: the index %lld at element %lld of its indices lies outside of axis %lld, w"
    "hich has %lld elements"})) {
    return status;
  }
  return 0;
}
