#include <stdint.h>

#include "tessera/call.h"
#include "tessera/kernel_math.h"
#include "tessera/kernel_tiles.h"

// kernel
//   in  x: uint8(n, 100), b: int32(136), packed: int8(5, 25, 32, 4)
//   out y: float32(n, 136)
//   ops: nn.dense add cast
//   schedule: tile 32x32 of the matrix unit, packed when compiling
namespace {

struct kernel_joio {
  int64_t n;
  const uint8_t* x;
  const int8_t* packed;
  float* y;
  const int32_t* b;

  static int32_t run(void* closure, int64_t begin, int64_t end, int32_t) {
    const auto& self = *static_cast<const kernel_joio*>(closure);
    const int64_t n = self.n;
    const uint8_t* __restrict x = self.x;  // (n, 100)
    const int8_t* __restrict packed = self.packed;  // (5, 25, 32, 4)
    float* __restrict y = self.y;  // (n, 136)
    const int32_t* __restrict b = self.b;  // (136)
    for (int64_t joio = begin; joio < end; ++joio) {
      const int64_t jo = tk::trunc_div<int64_t>(joio, (n + 31) / 32);
      const int64_t io = tk::floor_mod<int64_t>(joio, (n + 31) / 32);
      alignas(64) int32_t acc_array[1024];  // (32, 32)
      int32_t* const __restrict acc = acc_array;
      {
        tk::TileProduct<uint8_t, int8_t, int32_t> tiles(&acc[0], tk::min<int64_t>(n - io * 32, 32), 32);
        tiles.zero();
        tiles.add(&x[io * 3200], 100, &packed[jo * 3200], 128, 100);
        tiles.store();
      }
      for (int64_t ii = 0; ii < tk::min<int64_t>(n - io * 32, 32); ++ii) {
        #pragma omp simd
        for (int64_t ji = 0; ji < 32; ++ji) {
          y[io * 4352 + ii * 136 + jo * 32 + ji] = float(acc[ii * 32 + ji] + b[jo * 32 + ji]);
        }
      }
    }
    return 0;
  }
};

struct kernel_io_1 {
  int64_t n;
  const uint8_t* x;
  const int8_t* packed;
  float* y;
  const int32_t* b;

  static int32_t run(void* closure, int64_t begin, int64_t end, int32_t) {
    const auto& self = *static_cast<const kernel_io_1*>(closure);
    const int64_t n = self.n;
    const uint8_t* __restrict x = self.x;  // (n, 100)
    const int8_t* __restrict packed = self.packed;  // (5, 25, 32, 4)
    float* __restrict y = self.y;  // (n, 136)
    const int32_t* __restrict b = self.b;  // (136)
    for (int64_t io_1 = begin; io_1 < end; ++io_1) {
      alignas(64) int32_t acc_1_array[256];  // (32, 8)
      int32_t* const __restrict acc_1 = acc_1_array;
      {
        tk::TileProduct<uint8_t, int8_t, int32_t> tiles_1(&acc_1[0], tk::min<int64_t>(n - io_1 * 32, 32), 8);
        tiles_1.zero();
        tiles_1.add(&x[io_1 * 3200], 100, &packed[12800], 128, 100);
        tiles_1.store();
      }
      for (int64_t ii = 0; ii < tk::min<int64_t>(n - io_1 * 32, 32); ++ii) {
        #pragma omp simd
        for (int64_t ji = 0; ji < 8; ++ji) {
          y[io_1 * 4352 + ii * 136 + ji + 128] = float(acc_1[ii * 8 + ji] + b[ji + 128]);
        }
      }
    }
    return 0;
  }
};

}  // namespace

extern "C" int32_t kernel(void* const* buffers, const int64_t* dims, const tessera_call* call) {
  const int64_t n = dims[0];
  const uint8_t* __restrict x = static_cast<const uint8_t*>(buffers[0]);  // (n, 100)
  const int32_t* __restrict b = static_cast<const int32_t*>(buffers[1]);  // (136)
  const int8_t* __restrict packed = static_cast<const int8_t*>(buffers[2]);  // (5, 25, 32, 4)
  float* __restrict y = static_cast<float*>(buffers[3]);  // (n, 136)
  {
    kernel_joio loop{n, x, packed, y, b};
    if (const int32_t status = tessera_parallel_for(call, (n + 31) / 32 * 4, kernel_joio::run, &loop); status != 0) return status;
  }
  kernel_io_1 loop{n, x, packed, y, b};
  return tessera_parallel_for(call, (n + 31) / 32, kernel_io_1::run, &loop);
}
