#include <stdint.h>

#include "tessera/call.h"
#include "tessera/kernel_cuda.cuh"

// winograd_channels_last
//   in  x0: float16(8, 13, 14, 256), weights: float16(36, 256, 256)
//   out converted: float16(8, 11, 12, 256), tiles: float16(36, 128, 256),
//     products: float32(36, 128, 256)
//   ops: nn.conv2d
//   schedule: winograd 4x4, fragments 128x64
extern "C" __global__ void __launch_bounds__(256) winograd_channels_last_launch0(
    const tk::float16* x0, tk::float16* __restrict__ tiles) {
  tk::wait_for_inputs(x0);
  const int32_t thread = int32_t(blockIdx.x) * 256 + int32_t(threadIdx.x);
  const int32_t channels = thread % 128;
  const int32_t tile_column = thread / 128 % 3;
  const int32_t tile_row = thread / 384 % 3;
  const int32_t i = thread / 1152;
  const int32_t y5 = tk::min<int64_t>(tile_row * 4 + 5, 12);
  {
    float x0_vector[2];
    tk::load_vector<2>(x0_vector, &x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + channels * 2]);
    float x0_vector_1[2];
    tk::load_vector<2>(x0_vector_1, &x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + channels * 2 + 256]);
    float x0_vector_2[2];
    tk::load_vector<2>(x0_vector_2, &x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + channels * 2 + 512]);
    float x0_vector_3[2];
    tk::load_vector<2>(x0_vector_3, &x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + channels * 2 + 768]);
    float x0_vector_4[2];
    tk::load_vector<2>(x0_vector_4, &x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + channels * 2 + 1024]);
    float x0_vector_5[2];
    tk::load_vector<2>(x0_vector_5, &x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + channels * 2 + 1280]);
    float x0_vector_6[2];
    tk::load_vector<2>(x0_vector_6, &x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + channels * 2 + 3584]);
    float x0_vector_7[2];
    tk::load_vector<2>(x0_vector_7, &x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + channels * 2 + 3840]);
    float x0_vector_8[2];
    tk::load_vector<2>(x0_vector_8, &x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + channels * 2 + 4096]);
    float x0_vector_9[2];
    tk::load_vector<2>(x0_vector_9, &x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + channels * 2 + 4352]);
    float x0_vector_10[2];
    tk::load_vector<2>(x0_vector_10, &x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + channels * 2 + 4608]);
    float x0_vector_11[2];
    tk::load_vector<2>(x0_vector_11, &x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + channels * 2 + 4864]);
    float x0_vector_12[2];
    tk::load_vector<2>(x0_vector_12, &x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + channels * 2 + 7168]);
    float x0_vector_13[2];
    tk::load_vector<2>(x0_vector_13, &x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + channels * 2 + 7424]);
    float x0_vector_14[2];
    tk::load_vector<2>(x0_vector_14, &x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + channels * 2 + 7680]);
    float x0_vector_15[2];
    tk::load_vector<2>(x0_vector_15, &x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + channels * 2 + 7936]);
    float x0_vector_16[2];
    tk::load_vector<2>(x0_vector_16, &x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + channels * 2 + 8192]);
    float x0_vector_17[2];
    tk::load_vector<2>(x0_vector_17, &x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + channels * 2 + 8448]);
    float x0_vector_18[2];
    tk::load_vector<2>(x0_vector_18, &x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + channels * 2 + 10752]);
    float x0_vector_19[2];
    tk::load_vector<2>(x0_vector_19, &x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + channels * 2 + 11008]);
    float x0_vector_20[2];
    tk::load_vector<2>(x0_vector_20, &x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + channels * 2 + 11264]);
    float x0_vector_21[2];
    tk::load_vector<2>(x0_vector_21, &x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + channels * 2 + 11520]);
    float x0_vector_22[2];
    tk::load_vector<2>(x0_vector_22, &x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + channels * 2 + 11776]);
    float x0_vector_23[2];
    tk::load_vector<2>(x0_vector_23, &x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + channels * 2 + 12032]);
    float x0_vector_24[2];
    tk::load_vector<2>(x0_vector_24, &x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + channels * 2 + 14336]);
    float x0_vector_25[2];
    tk::load_vector<2>(x0_vector_25, &x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + channels * 2 + 14592]);
    float x0_vector_26[2];
    tk::load_vector<2>(x0_vector_26, &x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + channels * 2 + 14848]);
    float x0_vector_27[2];
    tk::load_vector<2>(x0_vector_27, &x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + channels * 2 + 15104]);
    float x0_vector_28[2];
    tk::load_vector<2>(x0_vector_28, &x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + channels * 2 + 15360]);
    float x0_vector_29[2];
    tk::load_vector<2>(x0_vector_29, &x0[i * 46592 + tile_row * 14336 + tile_column * 1024 + channels * 2 + 15616]);
    float x0_vector_30[2];
    tk::load_vector<2>(x0_vector_30, &x0[i * 46592 + y5 * 3584 + tile_column * 1024 + channels * 2]);
    float x0_vector_31[2];
    tk::load_vector<2>(x0_vector_31, &x0[i * 46592 + y5 * 3584 + tile_column * 1024 + channels * 2 + 256]);
    float x0_vector_32[2];
    tk::load_vector<2>(x0_vector_32, &x0[i * 46592 + y5 * 3584 + tile_column * 1024 + channels * 2 + 512]);
    float x0_vector_33[2];
    tk::load_vector<2>(x0_vector_33, &x0[i * 46592 + y5 * 3584 + tile_column * 1024 + channels * 2 + 768]);
    float x0_vector_34[2];
    tk::load_vector<2>(x0_vector_34, &x0[i * 46592 + y5 * 3584 + tile_column * 1024 + channels * 2 + 1024]);
    float x0_vector_35[2];
    tk::load_vector<2>(x0_vector_35, &x0[i * 46592 + y5 * 3584 + tile_column * 1024 + channels * 2 + 1280]);
    float tiles_vector[2];
    float tiles_vector_1[2];
    float tiles_vector_2[2];
    float tiles_vector_3[2];
    float tiles_vector_4[2];
    float tiles_vector_5[2];
    float tiles_vector_6[2];
    float tiles_vector_7[2];
    float tiles_vector_8[2];
    float tiles_vector_9[2];
    float tiles_vector_10[2];
    float tiles_vector_11[2];
    float tiles_vector_12[2];
    float tiles_vector_13[2];
    float tiles_vector_14[2];
    float tiles_vector_15[2];
    float tiles_vector_16[2];
    float tiles_vector_17[2];
    float tiles_vector_18[2];
    float tiles_vector_19[2];
    float tiles_vector_20[2];
    float tiles_vector_21[2];
    float tiles_vector_22[2];
    float tiles_vector_23[2];
    float tiles_vector_24[2];
    float tiles_vector_25[2];
    float tiles_vector_26[2];
    float tiles_vector_27[2];
    float tiles_vector_28[2];
    float tiles_vector_29[2];
    float tiles_vector_30[2];
    float tiles_vector_31[2];
    float tiles_vector_32[2];
    float tiles_vector_33[2];
    float tiles_vector_34[2];
    float tiles_vector_35[2];
    #pragma unroll
    for (int32_t lane = 0; lane < 2; ++lane) {
      const float d0 = x0_vector[lane];
      const float d1 = x0_vector_1[lane];
      const float d2 = x0_vector_2[lane];
      const float d3 = x0_vector_3[lane];
      const float d4 = x0_vector_4[lane];
      const float d5 = x0_vector_5[lane];
      const float d6 = x0_vector_6[lane];
      const float d7 = x0_vector_7[lane];
      const float d8 = x0_vector_8[lane];
      const float d9 = x0_vector_9[lane];
      const float d10 = x0_vector_10[lane];
      const float d11 = x0_vector_11[lane];
      const float d12 = x0_vector_12[lane];
      const float d13 = x0_vector_13[lane];
      const float d14 = x0_vector_14[lane];
      const float d15 = x0_vector_15[lane];
      const float d16 = x0_vector_16[lane];
      const float d17 = x0_vector_17[lane];
      const float d18 = x0_vector_18[lane];
      const float d19 = x0_vector_19[lane];
      const float d20 = x0_vector_20[lane];
      const float d21 = x0_vector_21[lane];
      const float d22 = x0_vector_22[lane];
      const float d23 = x0_vector_23[lane];
      const float d24 = x0_vector_24[lane];
      const float d25 = x0_vector_25[lane];
      const float d26 = x0_vector_26[lane];
      const float d27 = x0_vector_27[lane];
      const float d28 = x0_vector_28[lane];
      const float d29 = x0_vector_29[lane];
      const float d30 = x0_vector_30[lane];
      const float d31 = x0_vector_31[lane];
      const float d32 = x0_vector_32[lane];
      const float d33 = x0_vector_33[lane];
      const float d34 = x0_vector_34[lane];
      const float d35 = x0_vector_35[lane];
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
      tiles_vector[lane] = float(tk::float16(half0 * 0.125f - half2 * 0.33680555f + half4 * 0.125f));
      tiles_vector_1[lane] = float(tk::float16(-(half1 * 0.1875f) - half2 * 0.28125f + half3 * 0.083333336f + half4 * 0.125f));
      tiles_vector_2[lane] = float(tk::float16(half1 * 0.1875f - half2 * 0.28125f - half3 * 0.083333336f + half4 * 0.125f));
      tiles_vector_3[lane] = float(tk::float16(-(half1 * 0.16666667f) - half2 * 0.11111111f + half3 * 0.375f + half4 * 0.25f));
      tiles_vector_4[lane] = float(tk::float16(half1 * 0.16666667f - half2 * 0.11111111f - half3 * 0.375f + half4 * 0.25f));
      tiles_vector_5[lane] = float(tk::float16(half1 * 0.125f - half3 * 0.33680555f + half5 * 0.125f));
      tiles_vector_6[lane] = float(tk::float16(half6 * 0.125f - half8 * 0.33680555f + half10 * 0.125f));
      tiles_vector_7[lane] = float(tk::float16(-(half7 * 0.1875f) - half8 * 0.28125f + half9 * 0.083333336f + half10 * 0.125f));
      tiles_vector_8[lane] = float(tk::float16(half7 * 0.1875f - half8 * 0.28125f - half9 * 0.083333336f + half10 * 0.125f));
      tiles_vector_9[lane] = float(tk::float16(-(half7 * 0.16666667f) - half8 * 0.11111111f + half9 * 0.375f + half10 * 0.25f));
      tiles_vector_10[lane] = float(tk::float16(half7 * 0.16666667f - half8 * 0.11111111f - half9 * 0.375f + half10 * 0.25f));
      tiles_vector_11[lane] = float(tk::float16(half7 * 0.125f - half9 * 0.33680555f + half11 * 0.125f));
      tiles_vector_12[lane] = float(tk::float16(half12 * 0.125f - half14 * 0.33680555f + half16 * 0.125f));
      tiles_vector_13[lane] = float(tk::float16(-(half13 * 0.1875f) - half14 * 0.28125f + half15 * 0.083333336f + half16 * 0.125f));
      tiles_vector_14[lane] = float(tk::float16(half13 * 0.1875f - half14 * 0.28125f - half15 * 0.083333336f + half16 * 0.125f));
      tiles_vector_15[lane] = float(tk::float16(-(half13 * 0.16666667f) - half14 * 0.11111111f + half15 * 0.375f + half16 * 0.25f));
      tiles_vector_16[lane] = float(tk::float16(half13 * 0.16666667f - half14 * 0.11111111f - half15 * 0.375f + half16 * 0.25f));
      tiles_vector_17[lane] = float(tk::float16(half13 * 0.125f - half15 * 0.33680555f + half17 * 0.125f));
      tiles_vector_18[lane] = float(tk::float16(half18 * 0.125f - half20 * 0.33680555f + half22 * 0.125f));
      tiles_vector_19[lane] = float(tk::float16(-(half19 * 0.1875f) - half20 * 0.28125f + half21 * 0.083333336f + half22 * 0.125f));
      tiles_vector_20[lane] = float(tk::float16(half19 * 0.1875f - half20 * 0.28125f - half21 * 0.083333336f + half22 * 0.125f));
      tiles_vector_21[lane] = float(tk::float16(-(half19 * 0.16666667f) - half20 * 0.11111111f + half21 * 0.375f + half22 * 0.25f));
      tiles_vector_22[lane] = float(tk::float16(half19 * 0.16666667f - half20 * 0.11111111f - half21 * 0.375f + half22 * 0.25f));
      tiles_vector_23[lane] = float(tk::float16(half19 * 0.125f - half21 * 0.33680555f + half23 * 0.125f));
      tiles_vector_24[lane] = float(tk::float16(half24 * 0.125f - half26 * 0.33680555f + half28 * 0.125f));
      tiles_vector_25[lane] = float(tk::float16(-(half25 * 0.1875f) - half26 * 0.28125f + half27 * 0.083333336f + half28 * 0.125f));
      tiles_vector_26[lane] = float(tk::float16(half25 * 0.1875f - half26 * 0.28125f - half27 * 0.083333336f + half28 * 0.125f));
      tiles_vector_27[lane] = float(tk::float16(-(half25 * 0.16666667f) - half26 * 0.11111111f + half27 * 0.375f + half28 * 0.25f));
      tiles_vector_28[lane] = float(tk::float16(half25 * 0.16666667f - half26 * 0.11111111f - half27 * 0.375f + half28 * 0.25f));
      tiles_vector_29[lane] = float(tk::float16(half25 * 0.125f - half27 * 0.33680555f + half29 * 0.125f));
      tiles_vector_30[lane] = float(tk::float16(half30 * 0.125f - half32 * 0.33680555f + half34 * 0.125f));
      tiles_vector_31[lane] = float(tk::float16(-(half31 * 0.1875f) - half32 * 0.28125f + half33 * 0.083333336f + half34 * 0.125f));
      tiles_vector_32[lane] = float(tk::float16(half31 * 0.1875f - half32 * 0.28125f - half33 * 0.083333336f + half34 * 0.125f));
      tiles_vector_33[lane] = float(tk::float16(-(half31 * 0.16666667f) - half32 * 0.11111111f + half33 * 0.375f + half34 * 0.25f));
      tiles_vector_34[lane] = float(tk::float16(half31 * 0.16666667f - half32 * 0.11111111f - half33 * 0.375f + half34 * 0.25f));
      tiles_vector_35[lane] = float(tk::float16(half31 * 0.125f - half33 * 0.33680555f + half35 * 0.125f));
    }
    tk::store_vector<2>(&tiles[i * 2304 + tile_row * 768 + tile_column * 256 + channels * 2], tiles_vector);
    tk::store_vector<2>(&tiles[i * 2304 + tile_row * 768 + tile_column * 256 + channels * 2 + 32768], tiles_vector_1);
    tk::store_vector<2>(&tiles[i * 2304 + tile_row * 768 + tile_column * 256 + channels * 2 + 65536], tiles_vector_2);
    tk::store_vector<2>(&tiles[i * 2304 + tile_row * 768 + tile_column * 256 + channels * 2 + 98304], tiles_vector_3);
    tk::store_vector<2>(&tiles[i * 2304 + tile_row * 768 + tile_column * 256 + channels * 2 + 131072], tiles_vector_4);
    tk::store_vector<2>(&tiles[i * 2304 + tile_row * 768 + tile_column * 256 + channels * 2 + 163840], tiles_vector_5);
    tk::store_vector<2>(&tiles[i * 2304 + tile_row * 768 + tile_column * 256 + channels * 2 + 196608], tiles_vector_6);
    tk::store_vector<2>(&tiles[i * 2304 + tile_row * 768 + tile_column * 256 + channels * 2 + 229376], tiles_vector_7);
    tk::store_vector<2>(&tiles[i * 2304 + tile_row * 768 + tile_column * 256 + channels * 2 + 262144], tiles_vector_8);
    tk::store_vector<2>(&tiles[i * 2304 + tile_row * 768 + tile_column * 256 + channels * 2 + 294912], tiles_vector_9);
    tk::store_vector<2>(&tiles[i * 2304 + tile_row * 768 + tile_column * 256 + channels * 2 + 327680], tiles_vector_10);
    tk::store_vector<2>(&tiles[i * 2304 + tile_row * 768 + tile_column * 256 + channels * 2 + 360448], tiles_vector_11);
    tk::store_vector<2>(&tiles[i * 2304 + tile_row * 768 + tile_column * 256 + channels * 2 + 393216], tiles_vector_12);
    tk::store_vector<2>(&tiles[i * 2304 + tile_row * 768 + tile_column * 256 + channels * 2 + 425984], tiles_vector_13);
    tk::store_vector<2>(&tiles[i * 2304 + tile_row * 768 + tile_column * 256 + channels * 2 + 458752], tiles_vector_14);
    tk::store_vector<2>(&tiles[i * 2304 + tile_row * 768 + tile_column * 256 + channels * 2 + 491520], tiles_vector_15);
    tk::store_vector<2>(&tiles[i * 2304 + tile_row * 768 + tile_column * 256 + channels * 2 + 524288], tiles_vector_16);
    tk::store_vector<2>(&tiles[i * 2304 + tile_row * 768 + tile_column * 256 + channels * 2 + 557056], tiles_vector_17);
    tk::store_vector<2>(&tiles[i * 2304 + tile_row * 768 + tile_column * 256 + channels * 2 + 589824], tiles_vector_18);
    tk::store_vector<2>(&tiles[i * 2304 + tile_row * 768 + tile_column * 256 + channels * 2 + 622592], tiles_vector_19);
    tk::store_vector<2>(&tiles[i * 2304 + tile_row * 768 + tile_column * 256 + channels * 2 + 655360], tiles_vector_20);
    tk::store_vector<2>(&tiles[i * 2304 + tile_row * 768 + tile_column * 256 + channels * 2 + 688128], tiles_vector_21);
    tk::store_vector<2>(&tiles[i * 2304 + tile_row * 768 + tile_column * 256 + channels * 2 + 720896], tiles_vector_22);
    tk::store_vector<2>(&tiles[i * 2304 + tile_row * 768 + tile_column * 256 + channels * 2 + 753664], tiles_vector_23);
    tk::store_vector<2>(&tiles[i * 2304 + tile_row * 768 + tile_column * 256 + channels * 2 + 786432], tiles_vector_24);
    tk::store_vector<2>(&tiles[i * 2304 + tile_row * 768 + tile_column * 256 + channels * 2 + 819200], tiles_vector_25);
    tk::store_vector<2>(&tiles[i * 2304 + tile_row * 768 + tile_column * 256 + channels * 2 + 851968], tiles_vector_26);
    tk::store_vector<2>(&tiles[i * 2304 + tile_row * 768 + tile_column * 256 + channels * 2 + 884736], tiles_vector_27);
    tk::store_vector<2>(&tiles[i * 2304 + tile_row * 768 + tile_column * 256 + channels * 2 + 917504], tiles_vector_28);
    tk::store_vector<2>(&tiles[i * 2304 + tile_row * 768 + tile_column * 256 + channels * 2 + 950272], tiles_vector_29);
    tk::store_vector<2>(&tiles[i * 2304 + tile_row * 768 + tile_column * 256 + channels * 2 + 983040], tiles_vector_30);
    tk::store_vector<2>(&tiles[i * 2304 + tile_row * 768 + tile_column * 256 + channels * 2 + 1015808], tiles_vector_31);
    tk::store_vector<2>(&tiles[i * 2304 + tile_row * 768 + tile_column * 256 + channels * 2 + 1048576], tiles_vector_32);
    tk::store_vector<2>(&tiles[i * 2304 + tile_row * 768 + tile_column * 256 + channels * 2 + 1081344], tiles_vector_33);
    tk::store_vector<2>(&tiles[i * 2304 + tile_row * 768 + tile_column * 256 + channels * 2 + 1114112], tiles_vector_34);
    tk::store_vector<2>(&tiles[i * 2304 + tile_row * 768 + tile_column * 256 + channels * 2 + 1146880], tiles_vector_35);
  }
}

extern "C" __global__ void __launch_bounds__(256) winograd_channels_last_launch1(
    const tk::float16* weights, const tk::float16* tiles, float* __restrict__ products) {
  tk::wait_for_inputs(weights, tiles);
  const int32_t block = int32_t(blockIdx.x);
  [[maybe_unused]] const int32_t rank = int32_t(threadIdx.x);
  tk::block_product<128, 64, 256, 256, 256>(
      &products[block / 4 * 32768 + block % 4 * 64],
      &tiles[block / 4 * 32768],
      &weights[block / 4 * 65536 + block % 4 * 64]);
}

extern "C" __global__ void __launch_bounds__(256) winograd_channels_last_launch2(
    tk::float16* __restrict__ converted, const float* products) {
  tk::wait_for_inputs(products);
  const int32_t thread = int32_t(blockIdx.x) * 256 + int32_t(threadIdx.x);
  const int32_t channels_1 = thread % 128;
  const int32_t tile_column_1 = thread / 128 % 3;
  const int32_t tile_row_1 = thread / 384 % 3;
  const int32_t i_1 = thread / 1152;
  float result[32];  // (2, 4, 4)
  {
    float products_vector[2];
    tk::load_vector<2>(products_vector, &products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + channels_1 * 2]);
    float products_vector_1[2];
    tk::load_vector<2>(products_vector_1, &products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + channels_1 * 2 + 32768]);
    float products_vector_2[2];
    tk::load_vector<2>(products_vector_2, &products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + channels_1 * 2 + 65536]);
    float products_vector_3[2];
    tk::load_vector<2>(products_vector_3, &products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + channels_1 * 2 + 98304]);
    float products_vector_4[2];
    tk::load_vector<2>(products_vector_4, &products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + channels_1 * 2 + 131072]);
    float products_vector_5[2];
    tk::load_vector<2>(products_vector_5, &products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + channels_1 * 2 + 163840]);
    float products_vector_6[2];
    tk::load_vector<2>(products_vector_6, &products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + channels_1 * 2 + 196608]);
    float products_vector_7[2];
    tk::load_vector<2>(products_vector_7, &products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + channels_1 * 2 + 229376]);
    float products_vector_8[2];
    tk::load_vector<2>(products_vector_8, &products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + channels_1 * 2 + 262144]);
    float products_vector_9[2];
    tk::load_vector<2>(products_vector_9, &products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + channels_1 * 2 + 294912]);
    float products_vector_10[2];
    tk::load_vector<2>(products_vector_10, &products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + channels_1 * 2 + 327680]);
    float products_vector_11[2];
    tk::load_vector<2>(products_vector_11, &products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + channels_1 * 2 + 360448]);
    float products_vector_12[2];
    tk::load_vector<2>(products_vector_12, &products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + channels_1 * 2 + 393216]);
    float products_vector_13[2];
    tk::load_vector<2>(products_vector_13, &products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + channels_1 * 2 + 425984]);
    float products_vector_14[2];
    tk::load_vector<2>(products_vector_14, &products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + channels_1 * 2 + 458752]);
    float products_vector_15[2];
    tk::load_vector<2>(products_vector_15, &products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + channels_1 * 2 + 491520]);
    float products_vector_16[2];
    tk::load_vector<2>(products_vector_16, &products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + channels_1 * 2 + 524288]);
    float products_vector_17[2];
    tk::load_vector<2>(products_vector_17, &products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + channels_1 * 2 + 557056]);
    float products_vector_18[2];
    tk::load_vector<2>(products_vector_18, &products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + channels_1 * 2 + 589824]);
    float products_vector_19[2];
    tk::load_vector<2>(products_vector_19, &products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + channels_1 * 2 + 622592]);
    float products_vector_20[2];
    tk::load_vector<2>(products_vector_20, &products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + channels_1 * 2 + 655360]);
    float products_vector_21[2];
    tk::load_vector<2>(products_vector_21, &products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + channels_1 * 2 + 688128]);
    float products_vector_22[2];
    tk::load_vector<2>(products_vector_22, &products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + channels_1 * 2 + 720896]);
    float products_vector_23[2];
    tk::load_vector<2>(products_vector_23, &products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + channels_1 * 2 + 753664]);
    float products_vector_24[2];
    tk::load_vector<2>(products_vector_24, &products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + channels_1 * 2 + 786432]);
    float products_vector_25[2];
    tk::load_vector<2>(products_vector_25, &products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + channels_1 * 2 + 819200]);
    float products_vector_26[2];
    tk::load_vector<2>(products_vector_26, &products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + channels_1 * 2 + 851968]);
    float products_vector_27[2];
    tk::load_vector<2>(products_vector_27, &products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + channels_1 * 2 + 884736]);
    float products_vector_28[2];
    tk::load_vector<2>(products_vector_28, &products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + channels_1 * 2 + 917504]);
    float products_vector_29[2];
    tk::load_vector<2>(products_vector_29, &products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + channels_1 * 2 + 950272]);
    float products_vector_30[2];
    tk::load_vector<2>(products_vector_30, &products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + channels_1 * 2 + 983040]);
    float products_vector_31[2];
    tk::load_vector<2>(products_vector_31, &products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + channels_1 * 2 + 1015808]);
    float products_vector_32[2];
    tk::load_vector<2>(products_vector_32, &products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + channels_1 * 2 + 1048576]);
    float products_vector_33[2];
    tk::load_vector<2>(products_vector_33, &products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + channels_1 * 2 + 1081344]);
    float products_vector_34[2];
    tk::load_vector<2>(products_vector_34, &products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + channels_1 * 2 + 1114112]);
    float products_vector_35[2];
    tk::load_vector<2>(products_vector_35, &products[i_1 * 2304 + tile_row_1 * 768 + tile_column_1 * 256 + channels_1 * 2 + 1146880]);
    #pragma unroll
    for (int32_t lane = 0; lane < 2; ++lane) {
      const float m0 = products_vector[lane];
      const float m1 = products_vector_1[lane];
      const float m2 = products_vector_2[lane];
      const float m3 = products_vector_3[lane];
      const float m4 = products_vector_4[lane];
      const float m5 = products_vector_5[lane];
      const float m6 = products_vector_6[lane];
      const float m7 = products_vector_7[lane];
      const float m8 = products_vector_8[lane];
      const float m9 = products_vector_9[lane];
      const float m10 = products_vector_10[lane];
      const float m11 = products_vector_11[lane];
      const float m12 = products_vector_12[lane];
      const float m13 = products_vector_13[lane];
      const float m14 = products_vector_14[lane];
      const float m15 = products_vector_15[lane];
      const float m16 = products_vector_16[lane];
      const float m17 = products_vector_17[lane];
      const float m18 = products_vector_18[lane];
      const float m19 = products_vector_19[lane];
      const float m20 = products_vector_20[lane];
      const float m21 = products_vector_21[lane];
      const float m22 = products_vector_22[lane];
      const float m23 = products_vector_23[lane];
      const float m24 = products_vector_24[lane];
      const float m25 = products_vector_25[lane];
      const float m26 = products_vector_26[lane];
      const float m27 = products_vector_27[lane];
      const float m28 = products_vector_28[lane];
      const float m29 = products_vector_29[lane];
      const float m30 = products_vector_30[lane];
      const float m31 = products_vector_31[lane];
      const float m32 = products_vector_32[lane];
      const float m33 = products_vector_33[lane];
      const float m34 = products_vector_34[lane];
      const float m35 = products_vector_35[lane];
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
      result[lane * 16] = half0_1 + half1_1 + half2_1 + half3_1 + half4_1;
      result[lane * 16 + 1] = half1_1 * 0.6666667f - half2_1 * 0.6666667f + half3_1 * 1.5f - half4_1 * 1.5f;
      result[lane * 16 + 2] = half1_1 * 0.44444445f + half2_1 * 0.44444445f + half3_1 * 2.25f + half4_1 * 2.25f;
      result[lane * 16 + 3] = half1_1 * 0.2962963f - half2_1 * 0.2962963f + half3_1 * 3.375f - half4_1 * 3.375f + half5_1;
      result[lane * 16 + 4] = half6_1 + half7_1 + half8_1 + half9_1 + half10_1;
      result[lane * 16 + 5] = half7_1 * 0.6666667f - half8_1 * 0.6666667f + half9_1 * 1.5f - half10_1 * 1.5f;
      result[lane * 16 + 6] = half7_1 * 0.44444445f + half8_1 * 0.44444445f + half9_1 * 2.25f + half10_1 * 2.25f;
      result[lane * 16 + 7] = half7_1 * 0.2962963f - half8_1 * 0.2962963f + half9_1 * 3.375f - half10_1 * 3.375f + half11_1;
      result[lane * 16 + 8] = half12_1 + half13_1 + half14_1 + half15_1 + half16_1;
      result[lane * 16 + 9] = half13_1 * 0.6666667f - half14_1 * 0.6666667f + half15_1 * 1.5f - half16_1 * 1.5f;
      result[lane * 16 + 10] = half13_1 * 0.44444445f + half14_1 * 0.44444445f + half15_1 * 2.25f + half16_1 * 2.25f;
      result[lane * 16 + 11] = half13_1 * 0.2962963f - half14_1 * 0.2962963f + half15_1 * 3.375f - half16_1 * 3.375f + half17_1;
      result[lane * 16 + 12] = half18_1 + half19_1 + half20_1 + half21_1 + half22_1;
      result[lane * 16 + 13] = half19_1 * 0.6666667f - half20_1 * 0.6666667f + half21_1 * 1.5f - half22_1 * 1.5f;
      result[lane * 16 + 14] = half19_1 * 0.44444445f + half20_1 * 0.44444445f + half21_1 * 2.25f + half22_1 * 2.25f;
      result[lane * 16 + 15] = half19_1 * 0.2962963f - half20_1 * 0.2962963f + half21_1 * 3.375f - half22_1 * 3.375f + half23_1;
    }
  }
  #pragma unroll
  for (int32_t r = 0; r < 4; ++r) {
    if (tile_row_1 * 4 + r < 11) {
      #pragma unroll
      for (int32_t s = 0; s < 4; ++s) {
        {
          float converted_vector[2];
          #pragma unroll
          for (int32_t lane = 0; lane < 2; ++lane) {
            converted_vector[lane] = float(tk::float16(result[lane * 16 + r * 4 + s]));
          }
          tk::store_vector<2>(&converted[i_1 * 33792 + tile_row_1 * 12288 + r * 3072 + tile_column_1 * 1024 + s * 256 + channels_1 * 2], converted_vector);
        }
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
          tk::launch(call, "winograd_channels_last_launch0", winograd_channels_last_launch0, 36, 256, x0, tiles)) {
    return status;
  }
  if (const int32_t status =
          tk::launch(call, "winograd_channels_last_launch1", winograd_channels_last_launch1, 144, 256, weights, tiles, products)) {
    return status;
  }
  if (const int32_t status =
          tk::launch(call, "winograd_channels_last_launch2", winograd_channels_last_launch2, 36, 256, converted, products)) {
    return status;
  }
  return 0;
}
