#include <stdint.h>

#include "tessera/call.h"
#include "tessera/kernel_cuda.cuh"

// k02_quantize
//   in  x: float16(64, 256), scale: float16()
//   out y: uint8(64, 256), loss: float16(2)
//   ops: divide round cast negative sum
extern "C" __global__ void __launch_bounds__(256) k02_quantize_launch0(
    const tk::float16* x, const tk::float16* scale, uint8_t* __restrict__ y) {
  tk::wait_for_inputs(x, scale);
  const int32_t i = int32_t(blockIdx.x) * 256 + int32_t(threadIdx.x);
  y[i] = uint8_t(tk::rint(float(x[i]) / float(scale[0])));
}

extern "C" __global__ void __launch_bounds__(64) k02_quantize_launch1(
    const tk::float16* x, tk::float16* __restrict__ loss) {
  tk::wait_for_inputs(x);
  const int32_t i = int32_t(blockIdx.x);
  [[maybe_unused]] const int32_t rank = int32_t(threadIdx.x);
  float total;
  total = 0.0f;
  {
    float total_part = 0.0f;
    {
      [[maybe_unused]] const int32_t j = rank;
      total_part = total_part - tk::div_half(float(x[j * 256 + i]), 3.0f);
    }
    total = tk::add::apply(total, tk::block<64>::reduce<tk::add>(total_part));
  }
  if (rank == 0) loss[i] = tk::float16(total);
}

extern "C" int32_t k02_quantize(void* const* buffers, const int64_t*, const tessera_call* call) {
  auto* const x = static_cast<tk::float16*>(buffers[0]);  // (64, 256)
  auto* const scale = static_cast<tk::float16*>(buffers[1]);  // ()
  auto* const y = static_cast<uint8_t*>(buffers[2]);  // (64, 256)
  auto* const loss = static_cast<tk::float16*>(buffers[3]);  // (2)
  if (const int32_t status =
          tk::launch(call, "k02_quantize_launch0", k02_quantize_launch0, 64, 256, x, scale, y)) {
    return status;
  }
  if (const int32_t status =
          tk::launch(call, "k02_quantize_launch1", k02_quantize_launch1, 2, 64, x, loss)) {
    return status;
  }
  return 0;
}
