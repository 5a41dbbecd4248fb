// SPDX-License-Identifier: Apache-2.0
// What kernels of a layer take in a replayed graph of several layers.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

namespace bench {

inline void check(cudaError_t status) {
  if (status == cudaSuccess) return;
  std::printf("%s\n", cudaGetErrorString(status));
  std::exit(1);
}

// Microseconds a layer, the median of seven replays.
inline double replayed_us(cudaStream_t stream, int layers, const std::function<void(int)>& launch) {
  cudaGraph_t graph;
  cudaGraphExec_t replay;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  for (int layer = 0; layer < layers; ++layer) launch(layer);
  check(cudaStreamEndCapture(stream, &graph));
  check(cudaGraphInstantiate(&replay, graph, 0));
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin));
  check(cudaEventCreate(&end));
  std::vector<float> all;
  for (int i = 0; i < 9; ++i) {
    check(cudaEventRecord(begin, stream));
    check(cudaGraphLaunch(replay, stream));
    check(cudaEventRecord(end, stream));
    check(cudaEventSynchronize(end));
    float ms = 0;
    check(cudaEventElapsedTime(&ms, begin, end));
    if (i >= 2) all.push_back(ms);
  }
  check(cudaGetLastError());
  std::sort(all.begin(), all.end());
  check(cudaEventDestroy(begin));
  check(cudaEventDestroy(end));
  check(cudaGraphExecDestroy(replay));
  check(cudaGraphDestroy(graph));
  return all[all.size() / 2] * 1000 / layers;
}

}  // namespace bench
