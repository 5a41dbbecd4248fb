#include <stdint.h>

#include "tessera/call.h"
#include "tessera/kernel_cuda.cuh"

// add_relu
//   in  x: float32(n, 8), z: float32(n, 8)
//   out y: float32(n, 8)
//   in_place: 0>0
extern "C" __global__ void __launch_bounds__(256) add_relu_launch0(
    const float* x, const float* z, float* y, const int64_t n) {
  tk::wait_for_inputs(x, z);
  const int64_t i = int64_t(blockIdx.x) * 256 + int32_t(threadIdx.x);
  if (i >= n) return;
  {
    float x_vector[8];
    tk::load_vector<8>(x_vector, &x[i * 8]);
    float z_vector[8];
    tk::load_vector<8>(z_vector, &z[i * 8]);
    float y_vector[8];
    #pragma unroll
    for (int64_t j = 0; j < 8; ++j) {
      y_vector[j] = tk::max<float>(x_vector[j] + z_vector[j], 0.0f);
    }
    tk::store_vector<8>(&y[i * 8], y_vector);
  }
}

extern "C" int32_t add_relu(void* const* buffers, const int64_t* dims, const tessera_call* call) {
  auto* const x = static_cast<float*>(buffers[0]);  // (n, 8)
  auto* const z = static_cast<float*>(buffers[1]);  // (n, 8)
  auto* const y = static_cast<float*>(buffers[2]);  // (n, 8)
  [[maybe_unused]] const int64_t n = dims[0];
  if (const int32_t status =
          tk::launch(call, "add_relu_launch0", add_relu_launch0, (n + 255) / 256, 256, x, z, y, n)) {
    return status;
  }
  return 0;
}
