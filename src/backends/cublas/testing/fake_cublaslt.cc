// SPDX-License-Identifier: Apache-2.0
// For tests: cublasLt's entry points as far as we call them, over the host's memory. Its heuristic
// has three algorithms: number 100, which takes 20 us; 101, which computes wrong numbers; and 102,
// which takes 10 us. In the environment FAKE_CUBLASLT_VERSION is its version, and
// FAKE_CUBLASLT_LACKS says that it has no algorithm.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <cublasLt.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

namespace {

struct Operation {
  cublasComputeType_t compute;
  cudaDataType_t scale;
  std::int32_t transposes_a = CUBLAS_OP_N, transposes_b = CUBLAS_OP_N;
  std::uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void *bias = nullptr, *scale_a = nullptr, *scale_b = nullptr;
  std::int32_t scale_mode_a = CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F,
               scale_mode_b = CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F;
  std::int8_t fast_sums = 0;
};
struct Layout {
  cudaDataType_t type;
  std::uint64_t rows, columns;
  std::int64_t leading;
  std::int32_t batch = 1;
  std::int64_t stride = 0;
};
struct Preference {
  std::uint64_t workspace_bytes = 0;
  std::uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_MASK, align_a = 256, align_b = 256,
                align_c = 256, align_d = 256;
};

constexpr std::uint64_t kFirst = 100, kWrong = 101, kFast = 102, kRefused = 666;
constexpr std::size_t kWorkspace = 4096;

const Operation& operation(cublasLtMatmulDesc_t d) { return *reinterpret_cast<Operation*>(d); }
const Layout& layout(cublasLtMatrixLayout_t l) { return *reinterpret_cast<Layout*>(l); }

template <class T>
cublasStatus_t assign(T& member, const void* value, std::size_t bytes) {
  if (bytes != sizeof member) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&member, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

double of_float8(const void* data, __nv_fp8_interpretation_t format, std::int64_t i) {
  return __half2float(
      __half(__nv_cvt_fp8_to_halfraw(static_cast<const __nv_fp8_storage_t*>(data)[i], format)));
}

double read(const void* data, cudaDataType_t type, std::int64_t i) {
  switch (type) {
    case CUDA_R_16F:
      return __half2float(static_cast<const __half*>(data)[i]);
    case CUDA_R_16BF:
      return __bfloat162float(static_cast<const __nv_bfloat16*>(data)[i]);
    case CUDA_R_8I:
      return static_cast<const std::int8_t*>(data)[i];
    case CUDA_R_32I:
      return static_cast<const std::int32_t*>(data)[i];
    case CUDA_R_8F_E4M3:
      return of_float8(data, __NV_E4M3, i);
    case CUDA_R_8F_E5M2:
      return of_float8(data, __NV_E5M2, i);
    default:
      return static_cast<const float*>(data)[i];
  }
}
void write(void* data, cudaDataType_t type, std::int64_t i, double value) {
  const auto number = static_cast<float>(value);
  switch (type) {
    case CUDA_R_16F:
      static_cast<__half*>(data)[i] = __float2half(number);
      return;
    case CUDA_R_16BF:
      static_cast<__nv_bfloat16*>(data)[i] = __float2bfloat16(number);
      return;
    case CUDA_R_32I:
      static_cast<std::int32_t*>(data)[i] = static_cast<std::int32_t>(std::lround(value));
      return;
    default:
      static_cast<float*>(data)[i] = number;
  }
}

double activated(std::uint32_t epilogue, double x) {
  if ((epilogue & CUBLASLT_EPILOGUE_RELU) != 0) return x > 0 ? x : 0;
  if ((epilogue & CUBLASLT_EPILOGUE_GELU) == 0) return x;
  return x / 2 * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}

struct Call {
  Operation op;
  double alpha, beta;
  const void *a, *b, *c;
  void* d;
  Layout of_a, of_b, of_d;
  std::uint64_t algorithm;
};

double dot(const Call& call, std::int64_t matrix, std::uint64_t row, std::uint64_t column) {
  const bool ta = call.op.transposes_a == CUBLAS_OP_T, tb = call.op.transposes_b == CUBLAS_OP_T;
  const std::uint64_t depth = ta ? call.of_a.rows : call.of_a.columns;
  double sum = 0;
  for (std::uint64_t k = 0; k < depth; ++k) {
    const auto i = static_cast<std::int64_t>(ta ? k : row),
               j = static_cast<std::int64_t>(ta ? row : k);
    const auto p = static_cast<std::int64_t>(tb ? column : k),
               q = static_cast<std::int64_t>(tb ? k : column);
    sum += read(call.a, call.of_a.type, matrix * call.of_a.stride + i + j * call.of_a.leading) *
           read(call.b, call.of_b.type, matrix * call.of_b.stride + p + q * call.of_b.leading);
  }
  return sum;
}

// Of A's scale or B's for a row or column of the result.
double scale_of(const void* scale, std::int32_t mode, std::uint64_t at) {
  if (scale == nullptr) return 1;
  const bool is_vector = mode == CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F;
  return static_cast<const float*>(scale)[is_vector ? at : 0];
}

std::uint64_t now_ns = 0;

void compute(const Call& call) {
  now_ns += call.algorithm == kFast ? 10000 : 20000;
  const bool has_bias = (call.op.epilogue & CUBLASLT_EPILOGUE_BIAS) != 0;
  for (std::int64_t matrix = 0; matrix < call.of_d.batch; ++matrix) {
    for (std::uint64_t column = 0; column < call.of_d.columns; ++column) {
      for (std::uint64_t row = 0; row < call.of_d.rows; ++row) {
        const std::int64_t at = matrix * call.of_d.stride + static_cast<std::int64_t>(row) +
                                static_cast<std::int64_t>(column) * call.of_d.leading;
        double value = call.alpha * dot(call, matrix, row, column) *
                       scale_of(call.op.scale_a, call.op.scale_mode_a, row) *
                       scale_of(call.op.scale_b, call.op.scale_mode_b, column);
        if (call.beta != 0) value += call.beta * read(call.c, call.of_d.type, at);
        if (has_bias) value += read(call.op.bias, call.of_d.type, static_cast<std::int64_t>(row));
        write(call.d, call.of_d.type, at, activated(call.op.epilogue, value));
      }
    }
  }
  if (call.algorithm == kWrong) write(call.d, call.of_d.type, 0, 1234);
}

bool is_recording = false;
std::vector<Call> recorded;

bool is_aligned(const void* data) { return reinterpret_cast<std::uintptr_t>(data) % 16 == 0; }

bool is_float8(cudaDataType_t type) { return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2; }

std::uint64_t size_of(cudaDataType_t result) { return result == CUDA_R_32F ? 4 : 2; }

// What the real one demands of floats of eight bits.
bool is_possible_float8(const Operation& op, const Layout& a, const Layout& b, const Layout& d) {
  const bool has_vectors = op.scale_mode_a == CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F;
  const bool has_bias = (op.epilogue & CUBLASLT_EPILOGUE_BIAS) != 0;
  return is_float8(b.type) && (a.type == CUDA_R_8F_E4M3 || b.type == CUDA_R_8F_E4M3) &&
         op.transposes_a == CUBLAS_OP_T && op.transposes_b == CUBLAS_OP_N &&
         op.compute == CUBLAS_COMPUTE_32F && a.rows % 16 == 0 &&
         d.rows * size_of(d.type) % 16 == 0 && op.scale_mode_a == op.scale_mode_b &&
         (d.type != CUDA_R_32F || !has_bias) &&
         (!has_vectors || (op.scale_a != nullptr && op.scale_b != nullptr));
}

// And of integers.
bool is_possible(const Operation& op, const Layout& a, const Layout& b, const Layout& d) {
  if (is_float8(a.type)) return is_possible_float8(op, a, b, d);
  if (op.scale_a != nullptr || op.scale_b != nullptr || op.fast_sums != 0) return false;
  return op.compute != CUBLAS_COMPUTE_32I ||
         (op.transposes_a == CUBLAS_OP_T && op.transposes_b == CUBLAS_OP_N &&
          op.scale == CUDA_R_32I && op.epilogue == CUBLASLT_EPILOGUE_DEFAULT);
}

// Shapes that go together.
bool agree(const Operation& op, const Layout& a, const Layout& b, const Layout& d) {
  const bool ta = op.transposes_a == CUBLAS_OP_T, tb = op.transposes_b == CUBLAS_OP_T;
  return (ta ? a.columns : a.rows) == d.rows && (tb ? b.rows : b.columns) == d.columns &&
         (ta ? a.rows : a.columns) == (tb ? b.columns : b.rows) && a.batch == d.batch &&
         b.batch == d.batch;
}

}  // namespace

extern "C" {

// What tests ask of it: calls that are put aside, and done later.
void fake_cublaslt_record(int on) {
  is_recording = on != 0;
  if (is_recording) recorded.clear();
}
void* fake_cublaslt_take() { return new std::vector<Call>(recorded); }
void fake_cublaslt_drop(void* calls) { delete static_cast<std::vector<Call>*>(calls); }
void fake_cublaslt_replay(void* calls) {
  for (const Call& call : *static_cast<std::vector<Call>*>(calls)) compute(call);
}
std::uint64_t fake_cublaslt_now_ns() { return now_ns; }

std::size_t cublasLtGetVersion() {
  const char* version = std::getenv("FAKE_CUBLASLT_VERSION");
  return version != nullptr ? static_cast<std::size_t>(std::atoi(version)) : 130100;
}
const char* cublasLtGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_NOT_SUPPORTED ? "it is not supported" : "it is not valid";
}
cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = reinterpret_cast<cublasLtHandle_t>(new int(1));
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete reinterpret_cast<int*>(handle);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* desc, cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  *desc = reinterpret_cast<cublasLtMatmulDesc_t>(new Operation{compute, scale});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) {
  delete reinterpret_cast<Operation*>(desc);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, std::size_t bytes) {
  auto& op = *reinterpret_cast<Operation*>(desc);
  if (attribute == CUBLASLT_MATMUL_DESC_TRANSA) return assign(op.transposes_a, value, bytes);
  if (attribute == CUBLASLT_MATMUL_DESC_TRANSB) return assign(op.transposes_b, value, bytes);
  if (attribute == CUBLASLT_MATMUL_DESC_EPILOGUE) return assign(op.epilogue, value, bytes);
  if (attribute == CUBLASLT_MATMUL_DESC_BIAS_POINTER) return assign(op.bias, value, bytes);
  if (attribute == CUBLASLT_MATMUL_DESC_A_SCALE_POINTER) return assign(op.scale_a, value, bytes);
  if (attribute == CUBLASLT_MATMUL_DESC_B_SCALE_POINTER) return assign(op.scale_b, value, bytes);
  if (attribute == CUBLASLT_MATMUL_DESC_A_SCALE_MODE) return assign(op.scale_mode_a, value, bytes);
  if (attribute == CUBLASLT_MATMUL_DESC_B_SCALE_MODE) return assign(op.scale_mode_b, value, bytes);
  if (attribute == CUBLASLT_MATMUL_DESC_FAST_ACCUM) return assign(op.fast_sums, value, bytes);
  return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* made, cudaDataType type,
                                          std::uint64_t rows, std::uint64_t columns,
                                          std::int64_t leading) {
  *made = reinterpret_cast<cublasLtMatrixLayout_t>(new Layout{type, rows, columns, leading});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete reinterpret_cast<Layout*>(layout);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute,
                                                const void* value, std::size_t bytes) {
  auto& l = *reinterpret_cast<Layout*>(layout);
  if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT) return assign(l.batch, value, bytes);
  if (attribute == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET) {
    return assign(l.stride, value, bytes);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* made) {
  *made = reinterpret_cast<cublasLtMatmulPreference_t>(new Preference());
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete reinterpret_cast<Preference*>(preference);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* value, std::size_t bytes) {
  auto& p = *reinterpret_cast<Preference*>(preference);
  switch (attribute) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
      return assign(p.workspace_bytes, value, bytes);
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
      return assign(p.reductions, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
      return assign(p.align_a, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
      return assign(p.align_b, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
      return assign(p.align_c, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
      return assign(p.align_d, value, bytes);
    default:
      return CUBLAS_STATUS_INVALID_VALUE;
  }
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t desc,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int most,
                                              cublasLtMatmulHeuristicResult_t* results,
                                              int* count) {
  const auto& p = *reinterpret_cast<Preference*>(preference);
  const Operation& op = operation(desc);
  *count = 0;
  if (std::getenv("FAKE_CUBLASLT_LACKS") != nullptr ||
      !is_possible(op, layout(a), layout(b), layout(d)) || p.workspace_bytes < kWorkspace ||
      p.align_a != 16 || p.align_b != 16 || p.align_c != 16 || p.align_d != 16 ||
      p.reductions != CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE) {
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  if (!agree(op, layout(a), layout(b), layout(d))) return CUBLAS_STATUS_INVALID_VALUE;
  for (const std::uint64_t number : {kFirst, kWrong, kFast}) {
    if (*count == most) break;
    auto& result = results[(*count)++];
    result = {};
    result.algo.data[0] = number;
    result.workspaceSize = kWorkspace;
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t, cublasLtMatmulDesc_t,
                                       cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                       cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                       const cublasLtMatmulAlgo_t* algo,
                                       cublasLtMatmulHeuristicResult_t* result) {
  if (algo->data[0] == kRefused) return CUBLAS_STATUS_NOT_SUPPORTED;
  result->workspaceSize = kWorkspace;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* algo,
                                                    cublasLtMatmulAlgoConfigAttributes_t attribute,
                                                    void* value, std::size_t bytes,
                                                    std::size_t* written) {
  const auto number =
      static_cast<std::int32_t>(attribute == CUBLASLT_ALGO_CONFIG_ID ? algo->data[0] : attribute);
  if (bytes != sizeof number) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(value, &number, bytes);
  *written = bytes;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t desc, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t of_a, const void* b,
                              cublasLtMatrixLayout_t of_b, const void* beta, const void* c,
                              cublasLtMatrixLayout_t, void* d, cublasLtMatrixLayout_t of_d,
                              const cublasLtMatmulAlgo_t* algo, void* workspace,
                              std::size_t workspace_bytes, cudaStream_t) {
  const Operation& op = operation(desc);
  const std::uint64_t number = algo->data[0];
  if (number < kFirst || number > kFast || workspace_bytes < kWorkspace ||
      reinterpret_cast<std::uintptr_t>(workspace) % 256 != 0 || !is_aligned(a) || !is_aligned(b) ||
      !is_aligned(c) || !is_aligned(d) || !is_aligned(op.scale_a) || !is_aligned(op.scale_b) ||
      !is_possible(op, layout(of_a), layout(of_b), layout(of_d)) ||
      !agree(op, layout(of_a), layout(of_b), layout(of_d))) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const bool of_integers = op.scale == CUDA_R_32I;
  const Call call = {op,
                     read(alpha, of_integers ? CUDA_R_32I : CUDA_R_32F, 0),
                     read(beta, of_integers ? CUDA_R_32I : CUDA_R_32F, 0),
                     a,
                     b,
                     c,
                     d,
                     layout(of_a),
                     layout(of_b),
                     layout(of_d),
                     number};
  is_recording ? recorded.push_back(call) : compute(call);
  return CUBLAS_STATUS_SUCCESS;
}
}
