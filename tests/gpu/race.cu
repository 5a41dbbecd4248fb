// SPDX-License-Identifier: Apache-2.0
// The native tiled schedule's step loop as it once was: nothing between the threads that still read
// a step and those that fill the next. compute-sanitizer must find that, or it is of no use here.
#include <cstdio>

__global__ void steps(const float* x, float* y) {
  __shared__ float tile[256];
  float sum = 0;
  for (int step = 0; step < 8; ++step) {
    tile[threadIdx.x] = x[step * 256 + threadIdx.x];
    __syncthreads();
    for (int k = 0; k < 256; ++k) sum += tile[(threadIdx.x + k) % 256];
  }
  y[threadIdx.x] = sum;
}

int main() {
  float *x, *y;
  if (cudaMalloc(&x, 8 * 256 * sizeof(float)) != cudaSuccess) return 1;
  if (cudaMalloc(&y, 256 * sizeof(float)) != cudaSuccess) return 1;
  if (cudaMemset(x, 0, 8 * 256 * sizeof(float)) != cudaSuccess) return 1;
  steps<<<1, 256>>>(x, y);
  const cudaError_t status = cudaDeviceSynchronize();
  if (status != cudaSuccess) std::printf("%s\n", cudaGetErrorString(status));
  return status != cudaSuccess;
}
