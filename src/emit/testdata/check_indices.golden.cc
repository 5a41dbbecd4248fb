#include <stdint.h>

#include "tessera/call.h"
#include "tessera/kernel_math.h"

// check_indices
//   in  x0: int64(4, 8), x1: float32(n, 3)
//   out y: int64(4, 8)
//   checks: indices
//   ops: check_indices
namespace {

struct check_indices_i {
  int64_t n;
  const int64_t* x0;
  int64_t* y;
  const tessera_call* call;

  static int32_t run(void* closure, int64_t begin, int64_t end, int32_t) {
    const auto& self = *static_cast<const check_indices_i*>(closure);
    const int64_t n = self.n;
    const int64_t* __restrict x0 = self.x0;  // (4, 8)
    int64_t* __restrict y = self.y;  // (4, 8)
    const tessera_call* const call = self.call;
    for (int64_t i = begin; i < end; ++i) {
      if (!(-n <= x0[i] && x0[i] < n)) {
        return tessera_index_outside(call, "node `100%%`: the index %lld at element %lld of its indices lies outside of axis %lld, w"
    "hich has %lld elements", static_cast<long long>(x0[i]), static_cast<long long>(i), static_cast<long long>(0), static_cast<long long>(n));
      }
      y[i] = x0[i];
    }
    return 0;
  }
};

}  // namespace

extern "C" int32_t check_indices(void* const* buffers, const int64_t* dims, const tessera_call* call) {
  const int64_t n = dims[0];
  const int64_t* __restrict x0 = static_cast<const int64_t*>(buffers[0]);  // (4, 8)
  int64_t* __restrict y = static_cast<int64_t*>(buffers[2]);  // (4, 8)
  if (!(0 < n)) {
    return tessera_index_outside(call, "node `emb`: its indices are of axis %lld, which has no elements", static_cast<long long>(0));
  }
  check_indices_i loop{n, x0, y, call};
  return tessera_parallel_for(call, 32, check_indices_i::run, &loop);
}
