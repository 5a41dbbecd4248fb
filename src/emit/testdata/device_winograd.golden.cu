#include <stdint.h>

#include "tessera/call.h"
#include "tessera/kernel_cuda.cuh"

// winograd
//   in  x: float16(1, 64, 56, 56), b: float16(64, 1, 1), weights: float16(16, 64, 64)
//   out y: float16(1, 64, 56, 56), tiles: float16(16, 64, 832),
//     products: float32(16, 64, 832)
//   ops: nn.conv2d add nn.relu
//   schedule: winograd 2x2, fragments 64x64
extern "C" __global__ void __launch_bounds__(256) winograd_launch0(
    const tk::float16* x, tk::float16* __restrict__ tiles) {
  tk::wait_for_inputs(x);
  const int32_t thread = int32_t(blockIdx.x) * 256 + int32_t(threadIdx.x);
  const int32_t tile_column = thread % 28;
  const int32_t tile_row = thread / 28 % 28;
  const int32_t channels = thread / 784;
  const float d0 = 1 <= tile_row * 2 && 1 <= tile_column * 2 ? float(x[channels * 3136 + tile_row * 112 + tile_column * 2 - 57]) : 0.0f;
  const float d1 = 1 <= tile_row * 2 ? float(x[channels * 3136 + tile_row * 112 + tile_column * 2 - 56]) : 0.0f;
  const float d2 = 1 <= tile_row * 2 ? float(x[channels * 3136 + tile_row * 112 + tile_column * 2 - 55]) : 0.0f;
  const float d3 = 1 <= tile_row * 2 && tile_column * 2 + 2 < 56 ? float(x[channels * 3136 + tile_row * 112 + tile_column * 2 - 54]) : 0.0f;
  const float d4 = 1 <= tile_column * 2 ? float(x[channels * 3136 + tile_row * 112 + tile_column * 2 - 1]) : 0.0f;
  const float d5 = float(x[channels * 3136 + tile_row * 112 + tile_column * 2]);
  const float d6 = float(x[channels * 3136 + tile_row * 112 + tile_column * 2 + 1]);
  const float d7 = tile_column * 2 + 2 < 56 ? float(x[channels * 3136 + tile_row * 112 + tile_column * 2 + 2]) : 0.0f;
  const float d8 = 1 <= tile_column * 2 ? float(x[channels * 3136 + tile_row * 112 + tile_column * 2 + 55]) : 0.0f;
  const float d9 = float(x[channels * 3136 + tile_row * 112 + tile_column * 2 + 56]);
  const float d10 = float(x[channels * 3136 + tile_row * 112 + tile_column * 2 + 57]);
  const float d11 = tile_column * 2 + 2 < 56 ? float(x[channels * 3136 + tile_row * 112 + tile_column * 2 + 58]) : 0.0f;
  const float d12 = tile_row * 2 + 2 < 56 && 1 <= tile_column * 2 ? float(x[channels * 3136 + tile_row * 112 + tile_column * 2 + 111]) : 0.0f;
  const float d13 = tile_row * 2 + 2 < 56 ? float(x[channels * 3136 + tile_row * 112 + tile_column * 2 + 112]) : 0.0f;
  const float d14 = tile_row * 2 + 2 < 56 ? float(x[channels * 3136 + tile_row * 112 + tile_column * 2 + 113]) : 0.0f;
  const float d15 = tile_row * 2 + 2 < 56 && tile_column * 2 + 2 < 56 ? float(x[channels * 3136 + tile_row * 112 + tile_column * 2 + 114]) : 0.0f;
  const float half0 = d0 * 0.5f - d8 * 0.5f;
  const float half1 = d1 * 0.5f - d9 * 0.5f;
  const float half2 = d2 * 0.5f - d10 * 0.5f;
  const float half3 = d3 * 0.5f - d11 * 0.5f;
  const float half4 = d4 * 0.5f + d8 * 0.5f;
  const float half5 = d5 * 0.5f + d9 * 0.5f;
  const float half6 = d6 * 0.5f + d10 * 0.5f;
  const float half7 = d7 * 0.5f + d11 * 0.5f;
  const float half8 = -(d4 * 0.5f) + d8 * 0.5f;
  const float half9 = -(d5 * 0.5f) + d9 * 0.5f;
  const float half10 = -(d6 * 0.5f) + d10 * 0.5f;
  const float half11 = -(d7 * 0.5f) + d11 * 0.5f;
  const float half12 = d4 * 0.5f - d12 * 0.5f;
  const float half13 = d5 * 0.5f - d13 * 0.5f;
  const float half14 = d6 * 0.5f - d14 * 0.5f;
  const float half15 = d7 * 0.5f - d15 * 0.5f;
  tiles[channels * 832 + tile_row * 28 + tile_column] = tk::float16(half0 * 0.5f - half2 * 0.5f);
  tiles[channels * 832 + tile_row * 28 + tile_column + 53248] = tk::float16(half1 * 0.5f + half2 * 0.5f);
  tiles[channels * 832 + tile_row * 28 + tile_column + 106496] = tk::float16(-(half1 * 0.5f) + half2 * 0.5f);
  tiles[channels * 832 + tile_row * 28 + tile_column + 159744] = tk::float16(half1 * 0.5f - half3 * 0.5f);
  tiles[channels * 832 + tile_row * 28 + tile_column + 212992] = tk::float16(half4 * 0.5f - half6 * 0.5f);
  tiles[channels * 832 + tile_row * 28 + tile_column + 266240] = tk::float16(half5 * 0.5f + half6 * 0.5f);
  tiles[channels * 832 + tile_row * 28 + tile_column + 319488] = tk::float16(-(half5 * 0.5f) + half6 * 0.5f);
  tiles[channels * 832 + tile_row * 28 + tile_column + 372736] = tk::float16(half5 * 0.5f - half7 * 0.5f);
  tiles[channels * 832 + tile_row * 28 + tile_column + 425984] = tk::float16(half8 * 0.5f - half10 * 0.5f);
  tiles[channels * 832 + tile_row * 28 + tile_column + 479232] = tk::float16(half9 * 0.5f + half10 * 0.5f);
  tiles[channels * 832 + tile_row * 28 + tile_column + 532480] = tk::float16(-(half9 * 0.5f) + half10 * 0.5f);
  tiles[channels * 832 + tile_row * 28 + tile_column + 585728] = tk::float16(half9 * 0.5f - half11 * 0.5f);
  tiles[channels * 832 + tile_row * 28 + tile_column + 638976] = tk::float16(half12 * 0.5f - half14 * 0.5f);
  tiles[channels * 832 + tile_row * 28 + tile_column + 692224] = tk::float16(half13 * 0.5f + half14 * 0.5f);
  tiles[channels * 832 + tile_row * 28 + tile_column + 745472] = tk::float16(-(half13 * 0.5f) + half14 * 0.5f);
  tiles[channels * 832 + tile_row * 28 + tile_column + 798720] = tk::float16(half13 * 0.5f - half15 * 0.5f);
}

extern "C" __global__ void __launch_bounds__(256) winograd_launch1(
    const tk::float16* weights, const tk::float16* tiles, float* __restrict__ products) {
  tk::wait_for_inputs(weights, tiles);
  const int32_t block = int32_t(blockIdx.x);
  [[maybe_unused]] const int32_t rank = int32_t(threadIdx.x);
  tk::block_product<64, 64, 64, 64, 832>(
      &products[block / 13 * 53248 + block % 13 * 64],
      &weights[block / 13 * 4096],
      &tiles[block / 13 * 53248 + block % 13 * 64]);
}

extern "C" __global__ void __launch_bounds__(256) winograd_launch2(
    const tk::float16* b, tk::float16* __restrict__ y, const float* products) {
  tk::wait_for_inputs(b, products);
  const int32_t thread = int32_t(blockIdx.x) * 256 + int32_t(threadIdx.x);
  const int32_t tile_column_1 = thread % 28;
  const int32_t tile_row_1 = thread / 28 % 28;
  const int32_t channels_1 = thread / 784;
  float result[4];  // (1, 2, 2)
  {
    const float m0 = products[channels_1 * 832 + tile_row_1 * 28 + tile_column_1];
    const float m1 = products[channels_1 * 832 + tile_row_1 * 28 + tile_column_1 + 53248];
    const float m2 = products[channels_1 * 832 + tile_row_1 * 28 + tile_column_1 + 106496];
    const float m3 = products[channels_1 * 832 + tile_row_1 * 28 + tile_column_1 + 159744];
    const float m4 = products[channels_1 * 832 + tile_row_1 * 28 + tile_column_1 + 212992];
    const float m5 = products[channels_1 * 832 + tile_row_1 * 28 + tile_column_1 + 266240];
    const float m6 = products[channels_1 * 832 + tile_row_1 * 28 + tile_column_1 + 319488];
    const float m7 = products[channels_1 * 832 + tile_row_1 * 28 + tile_column_1 + 372736];
    const float m8 = products[channels_1 * 832 + tile_row_1 * 28 + tile_column_1 + 425984];
    const float m9 = products[channels_1 * 832 + tile_row_1 * 28 + tile_column_1 + 479232];
    const float m10 = products[channels_1 * 832 + tile_row_1 * 28 + tile_column_1 + 532480];
    const float m11 = products[channels_1 * 832 + tile_row_1 * 28 + tile_column_1 + 585728];
    const float m12 = products[channels_1 * 832 + tile_row_1 * 28 + tile_column_1 + 638976];
    const float m13 = products[channels_1 * 832 + tile_row_1 * 28 + tile_column_1 + 692224];
    const float m14 = products[channels_1 * 832 + tile_row_1 * 28 + tile_column_1 + 745472];
    const float m15 = products[channels_1 * 832 + tile_row_1 * 28 + tile_column_1 + 798720];
    const float half0_1 = m0 + m4 + m8;
    const float half1_1 = m1 + m5 + m9;
    const float half2_1 = m2 + m6 + m10;
    const float half3_1 = m3 + m7 + m11;
    const float half4_1 = m4 - m8 - m12;
    const float half5_1 = m5 - m9 - m13;
    const float half6_1 = m6 - m10 - m14;
    const float half7_1 = m7 - m11 - m15;
    result[0] = half0_1 + half1_1 + half2_1;
    result[1] = half1_1 - half2_1 - half3_1;
    result[2] = half4_1 + half5_1 + half6_1;
    result[3] = half5_1 - half6_1 - half7_1;
  }
  #pragma unroll
  for (int32_t r = 0; r < 2; ++r) {
    {
      float y_vector[2];
      #pragma unroll
      for (int32_t s = 0; s < 2; ++s) {
        y_vector[s] = tk::max<float>(float(tk::float16(result[r * 2 + s])) + float(b[channels_1]), 0.0f);
      }
      tk::store_vector<2>(&y[channels_1 * 3136 + tile_row_1 * 112 + r * 56 + tile_column_1 * 2], y_vector);
    }
  }
}

extern "C" int32_t winograd(void* const* buffers, const int64_t*, const tessera_call* call) {
  auto* const x = static_cast<tk::float16*>(buffers[0]);  // (1, 64, 56, 56)
  auto* const b = static_cast<tk::float16*>(buffers[1]);  // (64, 1, 1)
  auto* const weights = static_cast<tk::float16*>(buffers[2]);  // (16, 64, 64)
  auto* const y = static_cast<tk::float16*>(buffers[3]);  // (1, 64, 56, 56)
  auto* const tiles = static_cast<tk::float16*>(buffers[4]);  // (16, 64, 832)
  auto* const products = static_cast<float*>(buffers[5]);  // (16, 64, 832)
  if (const int32_t status =
          tk::launch(call, "winograd_launch0", winograd_launch0, 196, 256, x, tiles)) {
    return status;
  }
  if (const int32_t status =
          tk::launch(call, "winograd_launch1", winograd_launch1, 208, 256, weights, tiles, products)) {
    return status;
  }
  if (const int32_t status =
          tk::launch(call, "winograd_launch2", winograd_launch2, 196, 256, b, y, products)) {
    return status;
  }
  return 0;
}
