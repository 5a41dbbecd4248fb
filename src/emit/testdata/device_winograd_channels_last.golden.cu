#include <stdint.h>

#include "tessera/call.h"
#include "tessera/kernel_cuda.cuh"

// winograd_channels_last
//   in  x0: float16(8, 13, 14, 256), weights: float16(36, 256, 256)
//   out converted: float16(8, 11, 12, 256), tiles: float16(36, 128, 256),
//     products: float32(36, 128, 256)
//   ops: nn.conv2d
//   schedule: winograd 4x4, fragments 64x64
extern "C" __global__ void __launch_bounds__(256) winograd_channels_last_launch0(
    const tk::float16* x0, tk::float16* __restrict__ tiles) {
  tk::wait_for_inputs(x0);
  const int32_t thread = int32_t(blockIdx.x) * 256 + int32_t(threadIdx.x);
  const int32_t ci = thread % 256;
  const int32_t tile_column = thread / 256 % 3;
  const int32_t tile_row = thread / 768 % 3;
  const int32_t i = thread / 2304;
  const int32_t y5 = tk::min<int64_t>(tile_row * 4 + 5, 12);
  const float d0 = float(x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + ci]);
  const float d1 = float(x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + ci + 256]);
  const float d2 = float(x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + ci + 512]);
  const float d3 = float(x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + ci + 768]);
  const float d4 = float(x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + ci + 1024]);
  const float d5 = float(x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + ci + 1280]);
  const float d6 = float(x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + ci + 3584]);
  const float d7 = float(x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + ci + 3840]);
  const float d8 = float(x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + ci + 4096]);
  const float d9 = float(x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + ci + 4352]);
  const float d10 = float(x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + ci + 4608]);
  const float d11 = float(x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + ci + 4864]);
  const float d12 = float(x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + ci + 7168]);
  const float d13 = float(x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + ci + 7424]);
  const float d14 = float(x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + ci + 7680]);
  const float d15 = float(x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + ci + 7936]);
  const float d16 = float(x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + ci + 8192]);
  const float d17 = float(x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + ci + 8448]);
  const float d18 = float(x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + ci + 10752]);
  const float d19 = float(x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + ci + 11008]);
  const float d20 = float(x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + ci + 11264]);
  const float d21 = float(x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + ci + 11520]);
  const float d22 = float(x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + ci + 11776]);
  const float d23 = float(x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + ci + 12032]);
  const float d24 = float(x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + ci + 14336]);
  const float d25 = float(x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + ci + 14592]);
  const float d26 = float(x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + ci + 14848]);
  const float d27 = float(x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + ci + 15104]);
  const float d28 = float(x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + ci + 15360]);
  const float d29 = float(x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + ci + 15616]);
  const float d30 = float(x0[i * 46592 + y5 * 3584 + tile_column * 1024 + ci]);
  const float d31 = float(x0[i * 46592 + y5 * 3584 + tile_column * 1024 + ci + 256]);
  const float d32 = float(x0[i * 46592 + y5 * 3584 + tile_column * 1024 + ci + 512]);
  const float d33 = float(x0[i * 46592 + y5 * 3584 + tile_column * 1024 + ci + 768]);
  const float d34 = float(x0[i * 46592 + y5 * 3584 + tile_column * 1024 + ci + 1024]);
  const float d35 = float(x0[i * 46592 + y5 * 3584 + tile_column * 1024 + ci + 1280]);
  const float half0 = d0 * 0.125f - d12 * 0.33680555f + d24 * 0.125f;
  const float half1 = d1 * 0.125f - d13 * 0.33680555f + d25 * 0.125f;
  const float half2 = d2 * 0.125f - d14 * 0.33680555f + d26 * 0.125f;
  const float half3 = d3 * 0.125f - d15 * 0.33680555f + d27 * 0.125f;
  const float half4 = d4 * 0.125f - d16 * 0.33680555f + d28 * 0.125f;
  const float half5 = d5 * 0.125f - d17 * 0.33680555f + d29 * 0.125f;
  const float half6 = -(d6 * 0.1875f) - d12 * 0.28125f + d18 * 0.083333336f + d24 * 0.125f;
  const float half7 = -(d7 * 0.1875f) - d13 * 0.28125f + d19 * 0.083333336f + d25 * 0.125f;
  const float half8 = -(d8 * 0.1875f) - d14 * 0.28125f + d20 * 0.083333336f + d26 * 0.125f;
  const float half9 = -(d9 * 0.1875f) - d15 * 0.28125f + d21 * 0.083333336f + d27 * 0.125f;
  const float half10 = -(d10 * 0.1875f) - d16 * 0.28125f + d22 * 0.083333336f + d28 * 0.125f;
  const float half11 = -(d11 * 0.1875f) - d17 * 0.28125f + d23 * 0.083333336f + d29 * 0.125f;
  const float half12 = d6 * 0.1875f - d12 * 0.28125f - d18 * 0.083333336f + d24 * 0.125f;
  const float half13 = d7 * 0.1875f - d13 * 0.28125f - d19 * 0.083333336f + d25 * 0.125f;
  const float half14 = d8 * 0.1875f - d14 * 0.28125f - d20 * 0.083333336f + d26 * 0.125f;
  const float half15 = d9 * 0.1875f - d15 * 0.28125f - d21 * 0.083333336f + d27 * 0.125f;
  const float half16 = d10 * 0.1875f - d16 * 0.28125f - d22 * 0.083333336f + d28 * 0.125f;
  const float half17 = d11 * 0.1875f - d17 * 0.28125f - d23 * 0.083333336f + d29 * 0.125f;
  const float half18 = -(d6 * 0.16666667f) - d12 * 0.11111111f + d18 * 0.375f + d24 * 0.25f;
  const float half19 = -(d7 * 0.16666667f) - d13 * 0.11111111f + d19 * 0.375f + d25 * 0.25f;
  const float half20 = -(d8 * 0.16666667f) - d14 * 0.11111111f + d20 * 0.375f + d26 * 0.25f;
  const float half21 = -(d9 * 0.16666667f) - d15 * 0.11111111f + d21 * 0.375f + d27 * 0.25f;
  const float half22 = -(d10 * 0.16666667f) - d16 * 0.11111111f + d22 * 0.375f + d28 * 0.25f;
  const float half23 = -(d11 * 0.16666667f) - d17 * 0.11111111f + d23 * 0.375f + d29 * 0.25f;
  const float half24 = d6 * 0.16666667f - d12 * 0.11111111f - d18 * 0.375f + d24 * 0.25f;
  const float half25 = d7 * 0.16666667f - d13 * 0.11111111f - d19 * 0.375f + d25 * 0.25f;
  const float half26 = d8 * 0.16666667f - d14 * 0.11111111f - d20 * 0.375f + d26 * 0.25f;
  const float half27 = d9 * 0.16666667f - d15 * 0.11111111f - d21 * 0.375f + d27 * 0.25f;
  const float half28 = d10 * 0.16666667f - d16 * 0.11111111f - d22 * 0.375f + d28 * 0.25f;
  const float half29 = d11 * 0.16666667f - d17 * 0.11111111f - d23 * 0.375f + d29 * 0.25f;
  const float half30 = d6 * 0.125f - d18 * 0.33680555f + d30 * 0.125f;
  const float half31 = d7 * 0.125f - d19 * 0.33680555f + d31 * 0.125f;
  const float half32 = d8 * 0.125f - d20 * 0.33680555f + d32 * 0.125f;
  const float half33 = d9 * 0.125f - d21 * 0.33680555f + d33 * 0.125f;
  const float half34 = d10 * 0.125f - d22 * 0.33680555f + d34 * 0.125f;
  const float half35 = d11 * 0.125f - d23 * 0.33680555f + d35 * 0.125f;
  tiles[i * 2304 + tile_row * 768 + tile_column * 256 + ci] = tk::float16(half0 * 0.125f - half2 * 0.33680555f + half4 * 0.125f);
  tiles[i * 2304 + tile_row * 768 + tile_column * 256 + ci + 32768] = tk::float16(-(half1 * 0.1875f) - half2 * 0.28125f + half3 * 0.083333336f + half4 * 0.125f);
  tiles[i * 2304 + tile_row * 768 + tile_column * 256 + ci + 65536] = tk::float16(half1 * 0.1875f - half2 * 0.28125f - half3 * 0.083333336f + half4 * 0.125f);
  tiles[i * 2304 + tile_row * 768 + tile_column * 256 + ci + 98304] = tk::float16(-(half1 * 0.16666667f) - half2 * 0.11111111f + half3 * 0.375f + half4 * 0.25f);
  tiles[i * 2304 + tile_row * 768 + tile_column * 256 + ci + 131072] = tk::float16(half1 * 0.16666667f - half2 * 0.11111111f - half3 * 0.375f + half4 * 0.25f);
  tiles[i * 2304 + tile_row * 768 + tile_column * 256 + ci + 163840] = tk::float16(half1 * 0.125f - half3 * 0.33680555f + half5 * 0.125f);
  tiles[i * 2304 + tile_row * 768 + tile_column * 256 + ci + 196608] = tk::float16(half6 * 0.125f - half8 * 0.33680555f + half10 * 0.125f);
  tiles[i * 2304 + tile_row * 768 + tile_column * 256 + ci + 229376] = tk::float16(-(half7 * 0.1875f) - half8 * 0.28125f + half9 * 0.083333336f + half10 * 0.125f);
  tiles[i * 2304 + tile_row * 768 + tile_column * 256 + ci + 262144] = tk::float16(half7 * 0.1875f - half8 * 0.28125f - half9 * 0.083333336f + half10 * 0.125f);
  tiles[i * 2304 + tile_row * 768 + tile_column * 256 + ci + 294912] = tk::float16(-(half7 * 0.16666667f) - half8 * 0.11111111f + half9 * 0.375f + half10 * 0.25f);
  tiles[i * 2304 + tile_row * 768 + tile_column * 256 + ci + 327680] = tk::float16(half7 * 0.16666667f - half8 * 0.11111111f - half9 * 0.375f + half10 * 0.25f);
  tiles[i * 2304 + tile_row * 768 + tile_column * 256 + ci + 360448] = tk::float16(half7 * 0.125f - half9 * 0.33680555f + half11 * 0.125f);
  tiles[i * 2304 + tile_row * 768 + tile_column * 256 + ci + 393216] = tk::float16(half12 * 0.125f - half14 * 0.33680555f + half16 * 0.125f);
  tiles[i * 2304 + tile_row * 768 + tile_column * 256 + ci + 425984] = tk::float16(-(half13 * 0.1875f) - half14 * 0.28125f + half15 * 0.083333336f + half16 * 0.125f);
  tiles[i * 2304 + tile_row * 768 + tile_column * 256 + ci + 458752] = tk::float16(half13 * 0.1875f - half14 * 0.28125f - half15 * 0.083333336f + half16 * 0.125f);
  tiles[i * 2304 + tile_row * 768 + tile_column * 256 + ci + 491520] = tk::float16(-(half13 * 0.16666667f) - half14 * 0.11111111f + half15 * 0.375f + half16 * 0.25f);
  tiles[i * 2304 + tile_row * 768 + tile_column * 256 + ci + 524288] = tk::float16(half13 * 0.16666667f - half14 * 0.11111111f - half15 * 0.375f + half16 * 0.25f);
  tiles[i * 2304 + tile_row * 768 + tile_column * 256 + ci + 557056] = tk::float16(half13 * 0.125f - half15 * 0.33680555f + half17 * 0.125f);
  tiles[i * 2304 + tile_row * 768 + tile_column * 256 + ci + 589824] = tk::float16(half18 * 0.125f - half20 * 0.33680555f + half22 * 0.125f);
  tiles[i * 2304 + tile_row * 768 + tile_column * 256 + ci + 622592] = tk::float16(-(half19 * 0.1875f) - half20 * 0.28125f + half21 * 0.083333336f + half22 * 0.125f);
  tiles[i * 2304 + tile_row * 768 + tile_column * 256 + ci + 655360] = tk::float16(half19 * 0.1875f - half20 * 0.28125f - half21 * 0.083333336f + half22 * 0.125f);
  tiles[i * 2304 + tile_row * 768 + tile_column * 256 + ci + 688128] = tk::float16(-(half19 * 0.16666667f) - half20 * 0.11111111f + half21 * 0.375f + half22 * 0.25f);
  tiles[i * 2304 + tile_row * 768 + tile_column * 256 + ci + 720896] = tk::float16(half19 * 0.16666667f - half20 * 0.11111111f - half21 * 0.375f + half22 * 0.25f);
  tiles[i * 2304 + tile_row * 768 + tile_column * 256 + ci + 753664] = tk::float16(half19 * 0.125f - half21 * 0.33680555f + half23 * 0.125f);
  tiles[i * 2304 + tile_row * 768 + tile_column * 256 + ci + 786432] = tk::float16(half24 * 0.125f - half26 * 0.33680555f + half28 * 0.125f);
  tiles[i * 2304 + tile_row * 768 + tile_column * 256 + ci + 819200] = tk::float16(-(half25 * 0.1875f) - half26 * 0.28125f + half27 * 0.083333336f + half28 * 0.125f);
  tiles[i * 2304 + tile_row * 768 + tile_column * 256 + ci + 851968] = tk::float16(half25 * 0.1875f - half26 * 0.28125f - half27 * 0.083333336f + half28 * 0.125f);
  tiles[i * 2304 + tile_row * 768 + tile_column * 256 + ci + 884736] = tk::float16(-(half25 * 0.16666667f) - half26 * 0.11111111f + half27 * 0.375f + half28 * 0.25f);
  tiles[i * 2304 + tile_row * 768 + tile_column * 256 + ci + 917504] = tk::float16(half25 * 0.16666667f - half26 * 0.11111111f - half27 * 0.375f + half28 * 0.25f);
  tiles[i * 2304 + tile_row * 768 + tile_column * 256 + ci + 950272] = tk::float16(half25 * 0.125f - half27 * 0.33680555f + half29 * 0.125f);
  tiles[i * 2304 + tile_row * 768 + tile_column * 256 + ci + 983040] = tk::float16(half30 * 0.125f - half32 * 0.33680555f + half34 * 0.125f);
  tiles[i * 2304 + tile_row * 768 + tile_column * 256 + ci + 1015808] = tk::float16(-(half31 * 0.1875f) - half32 * 0.28125f + half33 * 0.083333336f + half34 * 0.125f);
  tiles[i * 2304 + tile_row * 768 + tile_column * 256 + ci + 1048576] = tk::float16(half31 * 0.1875f - half32 * 0.28125f - half33 * 0.083333336f + half34 * 0.125f);
  tiles[i * 2304 + tile_row * 768 + tile_column * 256 + ci + 1081344] = tk::float16(-(half31 * 0.16666667f) - half32 * 0.11111111f + half33 * 0.375f + half34 * 0.25f);
  tiles[i * 2304 + tile_row * 768 + tile_column * 256 + ci + 1114112] = tk::float16(half31 * 0.16666667f - half32 * 0.11111111f - half33 * 0.375f + half34 * 0.25f);
  tiles[i * 2304 + tile_row * 768 + tile_column * 256 + ci + 1146880] = tk::float16(half31 * 0.125f - half33 * 0.33680555f + half35 * 0.125f);
}

extern "C" __global__ void __launch_bounds__(256) winograd_channels_last_launch1(
    const tk::float16* weights, const tk::float16* tiles, float* __restrict__ products) {
  tk::wait_for_inputs(weights, tiles);
  const int32_t block = int32_t(blockIdx.x);
  [[maybe_unused]] const int32_t rank = int32_t(threadIdx.x);
  tk::block_product<64, 64, 256, 256, 256>(
      &products[block / 8 * 32768 + block / 4 % 2 * 16384 + block % 4 * 64],
      &tiles[block / 8 * 32768 + block / 4 % 2 * 16384],
      &weights[block / 8 * 65536 + block % 4 * 64]);
}

extern "C" __global__ void __launch_bounds__(256) winograd_channels_last_launch2(
    tk::float16* __restrict__ converted, const float* products) {
  tk::wait_for_inputs(products);
  const int32_t thread = int32_t(blockIdx.x) * 256 + int32_t(threadIdx.x);
  const int32_t l = thread % 256;
  const int32_t tile_column_1 = thread / 256 % 3;
  const int32_t tile_row_1 = thread / 768 % 3;
  const int32_t i_1 = thread / 2304;
  float result[16];  // (4, 4)
  {
    const float m0 = products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + l];
    const float m1 = products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + l + 32768];
    const float m2 = products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + l + 65536];
    const float m3 = products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + l + 98304];
    const float m4 = products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + l + 131072];
    const float m5 = products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + l + 163840];
    const float m6 = products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + l + 196608];
    const float m7 = products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + l + 229376];
    const float m8 = products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + l + 262144];
    const float m9 = products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + l + 294912];
    const float m10 = products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + l + 327680];
    const float m11 = products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + l + 360448];
    const float m12 = products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + l + 393216];
    const float m13 = products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + l + 425984];
    const float m14 = products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + l + 458752];
    const float m15 = products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + l + 491520];
    const float m16 = products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + l + 524288];
    const float m17 = products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + l + 557056];
    const float m18 = products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + l + 589824];
    const float m19 = products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + l + 622592];
    const float m20 = products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + l + 655360];
    const float m21 = products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + l + 688128];
    const float m22 = products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + l + 720896];
    const float m23 = products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + l + 753664];
    const float m24 = products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + l + 786432];
    const float m25 = products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + l + 819200];
    const float m26 = products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + l + 851968];
    const float m27 = products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + l + 884736];
    const float m28 = products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + l + 917504];
    const float m29 = products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + l + 950272];
    const float m30 = products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + l + 983040];
    const float m31 = products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + l + 1015808];
    const float m32 = products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + l + 1048576];
    const float m33 = products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + l + 1081344];
    const float m34 = products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + l + 1114112];
    const float m35 = products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + l + 1146880];
    const float half0_1 = m0 + m6 + m12 + m18 + m24;
    const float half1_1 = m1 + m7 + m13 + m19 + m25;
    const float half2_1 = m2 + m8 + m14 + m20 + m26;
    const float half3_1 = m3 + m9 + m15 + m21 + m27;
    const float half4_1 = m4 + m10 + m16 + m22 + m28;
    const float half5_1 = m5 + m11 + m17 + m23 + m29;
    const float half6_1 = m6 * 0.6666667f - m12 * 0.6666667f + m18 * 1.5f - m24 * 1.5f;
    const float half7_1 = m7 * 0.6666667f - m13 * 0.6666667f + m19 * 1.5f - m25 * 1.5f;
    const float half8_1 = m8 * 0.6666667f - m14 * 0.6666667f + m20 * 1.5f - m26 * 1.5f;
    const float half9_1 = m9 * 0.6666667f - m15 * 0.6666667f + m21 * 1.5f - m27 * 1.5f;
    const float half10_1 = m10 * 0.6666667f - m16 * 0.6666667f + m22 * 1.5f - m28 * 1.5f;
    const float half11_1 = m11 * 0.6666667f - m17 * 0.6666667f + m23 * 1.5f - m29 * 1.5f;
    const float half12_1 = m6 * 0.44444445f + m12 * 0.44444445f + m18 * 2.25f + m24 * 2.25f;
    const float half13_1 = m7 * 0.44444445f + m13 * 0.44444445f + m19 * 2.25f + m25 * 2.25f;
    const float half14_1 = m8 * 0.44444445f + m14 * 0.44444445f + m20 * 2.25f + m26 * 2.25f;
    const float half15_1 = m9 * 0.44444445f + m15 * 0.44444445f + m21 * 2.25f + m27 * 2.25f;
    const float half16_1 = m10 * 0.44444445f + m16 * 0.44444445f + m22 * 2.25f + m28 * 2.25f;
    const float half17_1 = m11 * 0.44444445f + m17 * 0.44444445f + m23 * 2.25f + m29 * 2.25f;
    const float half18_1 = m6 * 0.2962963f - m12 * 0.2962963f + m18 * 3.375f - m24 * 3.375f + m30;
    const float half19_1 = m7 * 0.2962963f - m13 * 0.2962963f + m19 * 3.375f - m25 * 3.375f + m31;
    const float half20_1 = m8 * 0.2962963f - m14 * 0.2962963f + m20 * 3.375f - m26 * 3.375f + m32;
    const float half21_1 = m9 * 0.2962963f - m15 * 0.2962963f + m21 * 3.375f - m27 * 3.375f + m33;
    const float half22_1 = m10 * 0.2962963f - m16 * 0.2962963f + m22 * 3.375f - m28 * 3.375f + m34;
    const float half23_1 = m11 * 0.2962963f - m17 * 0.2962963f + m23 * 3.375f - m29 * 3.375f + m35;
    result[0] = half0_1 + half1_1 + half2_1 + half3_1 + half4_1;
    result[1] = half1_1 * 0.6666667f - half2_1 * 0.6666667f + half3_1 * 1.5f - half4_1 * 1.5f;
    result[2] = half1_1 * 0.44444445f + half2_1 * 0.44444445f + half3_1 * 2.25f + half4_1 * 2.25f;
    result[3] = half1_1 * 0.2962963f - half2_1 * 0.2962963f + half3_1 * 3.375f - half4_1 * 3.375f + half5_1;
    result[4] = half6_1 + half7_1 + half8_1 + half9_1 + half10_1;
    result[5] = half7_1 * 0.6666667f - half8_1 * 0.6666667f + half9_1 * 1.5f - half10_1 * 1.5f;
    result[6] = half7_1 * 0.44444445f + half8_1 * 0.44444445f + half9_1 * 2.25f + half10_1 * 2.25f;
    result[7] = half7_1 * 0.2962963f - half8_1 * 0.2962963f + half9_1 * 3.375f - half10_1 * 3.375f + half11_1;
    result[8] = half12_1 + half13_1 + half14_1 + half15_1 + half16_1;
    result[9] = half13_1 * 0.6666667f - half14_1 * 0.6666667f + half15_1 * 1.5f - half16_1 * 1.5f;
    result[10] = half13_1 * 0.44444445f + half14_1 * 0.44444445f + half15_1 * 2.25f + half16_1 * 2.25f;
    result[11] = half13_1 * 0.2962963f - half14_1 * 0.2962963f + half15_1 * 3.375f - half16_1 * 3.375f + half17_1;
    result[12] = half18_1 + half19_1 + half20_1 + half21_1 + half22_1;
    result[13] = half19_1 * 0.6666667f - half20_1 * 0.6666667f + half21_1 * 1.5f - half22_1 * 1.5f;
    result[14] = half19_1 * 0.44444445f + half20_1 * 0.44444445f + half21_1 * 2.25f + half22_1 * 2.25f;
    result[15] = half19_1 * 0.2962963f - half20_1 * 0.2962963f + half21_1 * 3.375f - half22_1 * 3.375f + half23_1;
  }
  #pragma unroll
  for (int32_t r = 0; r < 4; ++r) {
    if (tile_row_1 * 4 + r < 11) {
      #pragma unroll
      for (int32_t s = 0; s < 4; ++s) {
        converted[i_1 * 33792 + tile_row_1 * 12288 + r * 3072 + tile_column_1 * 1024 + s * 256 + l] = tk::float16(result[r * 4 + s]);
      }
    }
  }
}

extern "C" int32_t winograd_channels_last(void* const* buffers, const int64_t*, const tessera_call* call) {
  auto* const x0 = static_cast<tk::float16*>(buffers[0]);  // (8, 13, 14, 256)
  auto* const weights = static_cast<tk::float16*>(buffers[1]);  // (36, 256, 256)
  auto* const converted = static_cast<tk::float16*>(buffers[2]);  // (8, 11, 12, 256)
  auto* const tiles = static_cast<tk::float16*>(buffers[3]);  // (36, 128, 256)
  auto* const products = static_cast<float*>(buffers[4]);  // (36, 128, 256)
  if (const int32_t status =
          tk::launch(call, "winograd_channels_last_launch0", winograd_channels_last_launch0, 72, 256, x0, tiles)) {
    return status;
  }
  if (const int32_t status =
          tk::launch(call, "winograd_channels_last_launch1", winograd_channels_last_launch1, 288, 256, weights, tiles, products)) {
    return status;
  }
  if (const int32_t status =
          tk::launch(call, "winograd_channels_last_launch2", winograd_channels_last_launch2, 72, 256, converted, products)) {
    return status;
  }
  return 0;
}
