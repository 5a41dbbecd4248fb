#include <stdint.h>

#include "tessera/call.h"
#include "tessera/kernel_math.h"
#include "tessera/kernel_tiles.h"

// kernel
//   in  x0: bfloat16(50, 96), packed: bfloat16(2, 48, 32, 2)
//   out converted: bfloat16(50, 64)
//   ops: nn.dense
//   schedule: tile 32x32 of the matrix unit, packed when compiling
namespace {

struct kernel_jo {
  const tk::bfloat16* x0;
  const tk::bfloat16* packed;
  tk::bfloat16* converted;

  static int32_t run(void* closure, int64_t begin, int64_t end, int32_t) {
    const auto& self = *static_cast<const kernel_jo*>(closure);
    const tk::bfloat16* __restrict x0 = self.x0;  // (50, 96)
    const tk::bfloat16* __restrict packed = self.packed;  // (2, 48, 32, 2)
    tk::bfloat16* __restrict converted = self.converted;  // (50, 64)
    for (int64_t jo = begin; jo < end; ++jo) {
      {
        alignas(64) float acc_array[1024];  // (32, 32)
        float* const __restrict acc = acc_array;
        {
          tk::TileProduct<tk::bfloat16, tk::bfloat16, float> tiles(&acc[0], 32, 32);
          tiles.zero();
          tiles.add(&x0[0], 96, &packed[jo * 3072], 64, 96);
          tiles.store();
        }
        for (int64_t ii = 0; ii < 32; ++ii) {
          #pragma omp simd
          for (int64_t ji = 0; ji < 32; ++ji) {
            converted[ii * 64 + jo * 32 + ji] = tk::bfloat16(acc[ii * 32 + ji]);
          }
        }
      }
      alignas(64) float acc_1_array[576];  // (18, 32)
      float* const __restrict acc_1 = acc_1_array;
      {
        tk::TileProduct<tk::bfloat16, tk::bfloat16, float> tiles_1(&acc_1[0], 18, 32);
        tiles_1.zero();
        tiles_1.add(&x0[3072], 96, &packed[jo * 3072], 64, 96);
        tiles_1.store();
      }
      for (int64_t ii = 0; ii < 18; ++ii) {
        #pragma omp simd
        for (int64_t ji = 0; ji < 32; ++ji) {
          converted[ii * 64 + jo * 32 + ji + 2048] = tk::bfloat16(acc_1[ii * 32 + ji]);
        }
      }
    }
    return 0;
  }
};

}  // namespace

extern "C" int32_t kernel(void* const* buffers, const int64_t*, const tessera_call* call) {
  const tk::bfloat16* __restrict x0 = static_cast<const tk::bfloat16*>(buffers[0]);  // (50, 96)
  const tk::bfloat16* __restrict packed = static_cast<const tk::bfloat16*>(buffers[1]);  // (2, 48, 32, 2)
  tk::bfloat16* __restrict converted = static_cast<tk::bfloat16*>(buffers[2]);  // (50, 64)
  kernel_jo loop{x0, packed, converted};
  return tessera_parallel_for(call, 2, kernel_jo::run, &loop);
}
