#include <stdint.h>

#include "tessera/call.h"
#include "tessera/kernel_math.h"

// k07_byte_rows
//   in  table: float32(9, 24), rows: int64(n)
//   out y: uint8(n, 24)
namespace {

struct k07_byte_rows_i {
  uint8_t* y;
  const float* table;
  const int64_t* rows;

  static int32_t run(void* closure, int64_t begin, int64_t end, int32_t) {
    const auto& self = *static_cast<const k07_byte_rows_i*>(closure);
    uint8_t* __restrict y = self.y;  // (n, 24)
    const float* __restrict table = self.table;  // (9, 24)
    const int64_t* __restrict rows = self.rows;  // (n)
    for (int64_t i = begin; i < end; ++i) {
      const int64_t at = rows[i];
      #pragma omp simd
      for (int64_t k = 0; k < 24; ++k) {
        y[i * 24 + k] = uint8_t(tk::min<float>(tk::max<float>(tk::rint(table[tk::max<int64_t>(tk::min<int64_t>(at, 8), 0) * 24 + k] / 0.25f) + 3.0f, 0.0f), 255.0f));
      }
    }
    return 0;
  }
};

}  // namespace

extern "C" int32_t k07_byte_rows(void* const* buffers, const int64_t* dims, const tessera_call* call) {
  const int64_t n = dims[0];
  const float* __restrict table = static_cast<const float*>(buffers[0]);  // (9, 24)
  const int64_t* __restrict rows = static_cast<const int64_t*>(buffers[1]);  // (n)
  uint8_t* __restrict y = static_cast<uint8_t*>(buffers[2]);  // (n, 24)
  k07_byte_rows_i loop{y, table, rows};
  return tessera_parallel_for(call, n, k07_byte_rows_i::run, &loop);
}
