// SPDX-License-Identifier: Apache-2.0
// Times candidates of the cutlass back end for the products of BERT-large against cublasLt with the
// same epilogue, under steady load: all runners of a product take turns. Weights are 24 matrices in
// turn, as in the model. Each candidate is first compared with a float32 reference, over an output
// that is filled with NaN.
//
//   gemm LIST    lines: case m n k epilogue library symbol swizzle configuration
//                epilogue: bias, bias_gelu, bias_residual; B is [K, N]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <cublasLt.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <dlfcn.h>

#include "backends/cutlass/kernels/gemm.h"

using tessera::cutlass::GemmArguments;
using tessera::cutlass::GemmFunction;

#define CHECK(call)                                                              \
  do {                                                                           \
    const auto status_ = (call);                                                 \
    if (status_ != decltype(status_)(0)) {                                       \
      std::printf("%s:%d: %s is %d\n", __FILE__, __LINE__, #call, int(status_)); \
      std::exit(1);                                                              \
    }                                                                            \
  } while (0)

constexpr int kWeights = 24;

// ---- Data

__global__ void fill(__half* x, size_t count, float scale, unsigned seed) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count;
       i += size_t(gridDim.x) * blockDim.x) {
    unsigned long long z = (i + 1) * 0x9E3779B97F4A7C15ull + seed * 0xD1B54A32D192ED03ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    z ^= z >> 31;
    const float u = (float(z & 0xffffff) + 1.f) / 16777217.f, v = float(z >> 40) / 16777216.f;
    x[i] = __float2half(scale * sqrtf(-2.f * logf(u)) * cospif(2.f * v));
  }
}

__global__ void reference(const __half* a, const __half* b, const __half* bias, const __half* c,
                          float* d, int n, int k, int epilogue) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
  if (column >= n) return;
  float sum = 0;
  for (int i = 0; i < k; ++i) {
    sum += __half2float(a[size_t(row) * k + i]) * __half2float(b[size_t(i) * n + column]);
  }
  sum += __half2float(bias[column]);
  if (epilogue == 1) sum = 0.5f * sum * (1.f + erff(sum * 0.70710678f));
  if (epilogue == 2) sum += __half2float(c[size_t(row) * n + column]);
  d[size_t(row) * n + column] = sum;
}

__global__ void compare(const __half* d, const float* wanted, size_t count, double* sums) {
  double error = 0, norm = 0;
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count;
       i += size_t(gridDim.x) * blockDim.x) {
    const double w = wanted[i], e = double(__half2float(d[i])) - w;
    error += e * e;
    norm += w * w;
  }
  atomicAdd(sums, error);
  atomicAdd(sums + 1, norm);
}

template <class T>
T* device_array(size_t count) {
  void* p = nullptr;
  CHECK(cudaMalloc(&p, count * sizeof(T)));
  return static_cast<T*>(p);
}
__half* random_array(size_t count, float scale, unsigned seed) {
  __half* p = device_array<__half>(count);
  fill<<<1024, 256>>>(p, count, scale, seed);
  return p;
}

struct Case {
  int m, n, k, epilogue;
  __half *a, *b, *bias, *c, *d;
  float* wanted;

  Case(int m, int n, int k, int epilogue) : m(m), n(n), k(k), epilogue(epilogue) {
    a = random_array(size_t(m) * k, 1, 1);
    b = random_array(size_t(n) * k * kWeights, 1.f / std::sqrt(float(k)), 2);
    bias = random_array(n, 0.5f, 3);
    c = random_array(size_t(m) * n, 1, 4);
    d = device_array<__half>(size_t(m) * n);
    wanted = device_array<float>(size_t(m) * n);
    reference<<<dim3((n + 127) / 128, m), 128>>>(a, b, bias, c, wanted, n, k, epilogue);
    CHECK(cudaDeviceSynchronize());
  }
  ~Case() {
    for (void* p : {(void*)a, (void*)b, (void*)bias, (void*)c, (void*)d, (void*)wanted})
      cudaFree(p);
  }
  const __half* weights(int i) const { return b + size_t(i) * n * k; }

  // Relative error in the Frobenius norm of what `run` computes with the first weights.
  double error(const std::function<bool()>& run) const {
    static double* sums = device_array<double>(2);
    CHECK(cudaMemset(d, 0xff, size_t(m) * n * sizeof(__half)));
    CHECK(cudaMemset(sums, 0, 2 * sizeof(double)));
    if (!run() || cudaDeviceSynchronize() != cudaSuccess) return INFINITY;
    compare<<<512, 256>>>(d, wanted, size_t(m) * n, sums);
    double host[2];
    CHECK(cudaMemcpy(host, sums, sizeof host, cudaMemcpyDeviceToHost));
    return std::sqrt(host[0] / host[1]);
  }
};

// ---- Runners: launch once, with the weights of a number

using Launch = std::function<bool(int weights, cudaStream_t stream)>;

struct Runner {
  Runner(std::string name, Launch launch) : name(std::move(name)), launch(std::move(launch)) {}

  std::string name;
  Launch launch;
  cudaGraphExec_t graph = nullptr;
  std::vector<double> us;  // of one launch

  double median() const {
    std::vector<double> sorted = us;
    std::sort(sorted.begin(), sorted.end());
    return sorted.empty() ? INFINITY : sorted[sorted.size() / 2];
  }
};

void set_error(const tessera_call*, const char* text) { std::printf("  error: %s\n", text); }

Runner cutlass_runner(const Case& c, GemmFunction* kernel, const std::string& name, int swizzle,
                      int raster_along_m, bool is_dependent) {
  Launch launch = [=, &c](int weights, cudaStream_t stream) {
    tessera_call call = {};
    call.struct_bytes = sizeof call;
    call.device = {TESSERA_CUDA, 0};
    call.stream = stream;
    call.set_error = set_error;
    GemmArguments g = {};
    g.m = c.m, g.n = c.n, g.k = c.k, g.batch = 1;
    g.a = {c.a, c.k, 0};
    g.b = {const_cast<__half*>(c.weights(weights)), c.n, 0};
    g.d = {c.d, c.n, 0};
    g.inputs[0] = {c.bias, c.n, 0};
    if (c.epilogue == 2) g.inputs[1] = {c.c, c.n, 0};
    g.swizzle = swizzle, g.raster_along_m = raster_along_m, g.dependent = is_dependent;
    return kernel(&call, &g) == 0;
  };
  return Runner(name, std::move(launch));
}

// cublasLt's first algorithms for the product; D^T = B^T A^T in its column-major terms.
std::vector<Runner> cublas_runners(const Case& c) {
  static cublasLtHandle_t handle = [] {
    cublasLtHandle_t h;
    CHECK(cublasLtCreate(&h));
    return h;
  }();
  constexpr size_t kWorkspace = 64u << 20;
  static void* workspace = device_array<char>(kWorkspace);
  cublasLtMatmulDesc_t op;
  CHECK(cublasLtMatmulDescCreate(&op, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  const cublasLtEpilogue_t epilogue =
      c.epilogue == 1 ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_BIAS;
  const cudaDataType_t bias_type = CUDA_R_16F;
  CHECK(cublasLtMatmulDescSetAttribute(op, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue,
                                       sizeof epilogue));
  CHECK(cublasLtMatmulDescSetAttribute(op, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &c.bias,
                                       sizeof c.bias));
  CHECK(cublasLtMatmulDescSetAttribute(op, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, &bias_type,
                                       sizeof bias_type));
  cublasLtMatrixLayout_t w, x, y;
  CHECK(cublasLtMatrixLayoutCreate(&w, CUDA_R_16F, c.n, c.k, c.n));
  CHECK(cublasLtMatrixLayoutCreate(&x, CUDA_R_16F, c.k, c.m, c.k));
  CHECK(cublasLtMatrixLayoutCreate(&y, CUDA_R_16F, c.n, c.m, c.n));
  cublasLtMatmulPreference_t preference;
  CHECK(cublasLtMatmulPreferenceCreate(&preference));
  CHECK(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                             &kWorkspace, sizeof kWorkspace));
  std::vector<cublasLtMatmulHeuristicResult_t> found(8);
  int count = 0;
  CHECK(cublasLtMatmulAlgoGetHeuristic(handle, op, w, x, y, y, preference, int(found.size()),
                                       found.data(), &count));
  std::vector<Runner> runners;
  for (int i = 0; i < count; ++i) {
    const auto algorithm = found[i].algo;
    Launch launch = [&c, op, w, x, y, algorithm](int weights, cudaStream_t s) {
      const float one = 1, beta = c.epilogue == 2 ? 1.f : 0.f;
      return cublasLtMatmul(handle, op, &one, c.weights(weights), w, c.a, x, &beta,
                            c.epilogue == 2 ? c.c : c.d, y, c.d, y, &algorithm, workspace,
                            kWorkspace, s) == CUBLAS_STATUS_SUCCESS;
    };
    runners.emplace_back("cublasLt#" + std::to_string(i), std::move(launch));
  }
  return runners;
}

// ---- Time

cudaStream_t stream() {
  static cudaStream_t s = [] {
    cudaStream_t made;
    CHECK(cudaStreamCreate(&made));
    return made;
  }();
  return s;
}

bool capture(Runner& runner) {
  CHECK(cudaStreamBeginCapture(stream(), cudaStreamCaptureModeThreadLocal));
  bool ok = true;
  for (int i = 0; i < kWeights && ok; ++i) ok = runner.launch(i, stream());
  cudaGraph_t graph = nullptr;
  ok = cudaStreamEndCapture(stream(), &graph) == cudaSuccess && ok;
  ok = ok && cudaGraphInstantiate(&runner.graph, graph, 0) == cudaSuccess;
  if (graph != nullptr) cudaGraphDestroy(graph);
  cudaGetLastError();
  return ok;
}

// One replay, with a warm one before it where runners take turns.
void measure(Runner& runner, int replays) {
  static cudaEvent_t from = nullptr, to = nullptr;
  if (from == nullptr) {
    CHECK(cudaEventCreate(&from));
    CHECK(cudaEventCreate(&to));
  }
  CHECK(cudaGraphLaunch(runner.graph, stream()));
  CHECK(cudaEventRecord(from, stream()));
  for (int i = 0; i < replays; ++i) CHECK(cudaGraphLaunch(runner.graph, stream()));
  CHECK(cudaEventRecord(to, stream()));
  CHECK(cudaEventSynchronize(to));
  float ms = 0;
  CHECK(cudaEventElapsedTime(&ms, from, to));
  runner.us.push_back(ms * 1e3 / (kWeights * replays));
}

void contest(const std::string& name, const Case& c, std::vector<Runner> runners) {
  std::vector<Runner> valid;
  for (Runner& runner : runners) {
    const double error = c.error([&] { return runner.launch(0, stream()); });
    // cublasLt's GELU is the tanh form: 5e-4 from the exact one.
    const double limit = runner.name.rfind("cublasLt", 0) == 0 ? 2e-3 : 1e-3;
    if (error < limit && capture(runner)) {
      measure(runner, 1);
      valid.push_back(std::move(runner));
    } else {
      std::printf("%s %s: relative error %.2g\n", name.c_str(), runner.name.c_str(), error);
      cudaGetLastError();
    }
  }
  for (int i = 0; i < 2; ++i) {
    for (Runner& runner : valid) measure(runner, 1);
  }
  std::sort(valid.begin(), valid.end(),
            [](const Runner& x, const Runner& y) { return x.median() < y.median(); });
  // All of them once, then the best of each side in turn under load.
  for (const Runner& r : valid)
    std::printf("  first %s %s %.2f\n", name.c_str(), r.name.c_str(), r.median());
  std::vector<Runner*> final;
  int ours = 0, theirs = 0;
  for (Runner& r : valid) {
    int& taken = r.name.rfind("cublasLt", 0) == 0 ? theirs : ours;
    if (taken++ < (&taken == &ours ? 8 : 3)) final.push_back(&r);
  }
  for (Runner* r : final) r->us.clear();
  const int replays = c.m >= 12288 ? 4 : c.m >= 3072 ? 8 : 20;
  for (int round = 0; round < 21; ++round) {
    for (Runner* r : final) measure(*r, replays);
  }
  std::sort(final.begin(), final.end(),
            [](const Runner* x, const Runner* y) { return x->median() < y->median(); });
  double best[2] = {INFINITY, INFINITY};
  for (const Runner* r : final) {
    const double tflops = 2e-6 * c.m * c.n * c.k / r->median();
    std::printf("%s %-60s %8.2f us %6.0f TFLOP/s\n", name.c_str(), r->name.c_str(), r->median(),
                tflops);
    double& side = best[r->name.rfind("cublasLt", 0) == 0 ? 1 : 0];
    side = std::min(side, r->median());
  }
  std::printf("RESULT %s cutlass %.2f cublasLt %.2f ratio %.3f\n", name.c_str(), best[0], best[1],
              best[0] / best[1]);
  std::fflush(stdout);
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  struct Line {
    std::string library, symbol, configuration;
    int swizzle;
  };
  struct Entry {
    int m, n, k, epilogue;
    std::vector<Line> lines;
  };
  std::map<std::string, Entry> cases;
  std::ifstream list(argv[1]);
  for (std::string text; std::getline(list, text);) {
    std::istringstream words(text);
    std::string name, epilogue;
    Line line;
    int m, n, k;
    words >> name >> m >> n >> k >> epilogue >> line.library >> line.symbol >> line.swizzle >>
        line.configuration;
    Entry& entry = cases[name];
    entry.m = m, entry.n = n, entry.k = k;
    entry.epilogue = epilogue == "bias" ? 0 : epilogue == "bias_gelu" ? 1 : 2;
    entry.lines.push_back(line);
  }
  for (const auto& [name, entry] : cases) {
    const Case c(entry.m, entry.n, entry.k, entry.epilogue);
    std::vector<Runner> runners;
    for (const Line& line : entry.lines) {
      void* library = dlopen(line.library.c_str(), RTLD_NOW);
      if (library == nullptr) {
        std::printf("%s: %s\n", line.library.c_str(), dlerror());
        continue;
      }
      auto* kernel = reinterpret_cast<GemmFunction*>(dlsym(library, line.symbol.c_str()));
      struct Bands {
        int width, along_m;
        const char* text;
      };
      std::vector<Bands> all = {{line.swizzle, -1, ""}};
      if (entry.m >= 3072) {
        for (const int width : {1, 2, 8}) {
          all.push_back({width, 1, " m"});
          all.push_back({width, 0, " n"});
        }
      }
      for (const Bands& bands : all) {
        for (const bool is_dependent : {false, true}) {
          runners.push_back(cutlass_runner(c, kernel,
                                           line.configuration + " z" + std::to_string(bands.width) +
                                               bands.text + (is_dependent ? " dependent" : ""),
                                           bands.width, bands.along_m, is_dependent));
        }
      }
    }
    for (Runner& runner : cublas_runners(c)) runners.push_back(std::move(runner));
    contest(name, c, std::move(runners));
  }
  CHECK(cudaDeviceSynchronize());
  return 0;
}
