#include <stdint.h>

#include "tessera/call.h"
#include "tessera/kernel_math.h"
#include "tessera/kernel_bytes.h"

// k06_map_bytes
//   in  p0: int8(3, n, 65), p1: uint8(256)
//   out y: uint8(3, n, 65)
namespace {

struct k06_map_bytes_i {
  int64_t n;
  uint8_t* y;
  const uint8_t* p1;
  const int8_t* p0;

  static int32_t run(void* closure, int64_t begin, int64_t end, int32_t) {
    const auto& self = *static_cast<const k06_map_bytes_i*>(closure);
    const int64_t n = self.n;
    uint8_t* __restrict y = self.y;  // (3, n, 65)
    const uint8_t* __restrict p1 = self.p1;  // (256)
    const int8_t* __restrict p0 = self.p0;  // (3, n, 65)
    for (int64_t i = begin; i < end; ++i) {
      tk::map_bytes(&y[i * (n * 65)], &p0[i * (n * 65)], &p1[0], n * 65);
    }
    return 0;
  }
};

}  // namespace

extern "C" int32_t k06_map_bytes(void* const* buffers, const int64_t* dims, const tessera_call* call) {
  const int64_t n = dims[0];
  const int8_t* __restrict p0 = static_cast<const int8_t*>(buffers[0]);  // (3, n, 65)
  const uint8_t* __restrict p1 = static_cast<const uint8_t*>(buffers[1]);  // (256)
  uint8_t* __restrict y = static_cast<uint8_t*>(buffers[2]);  // (3, n, 65)
  k06_map_bytes_i loop{n, y, p1, p0};
  return tessera_parallel_for(call, 3, k06_map_bytes_i::run, &loop);
}
