// SPDX-License-Identifier: Apache-2.0
#include "backends/cublas/runtime/product.h"

#include <algorithm>

namespace tessera::backends::cublas {
namespace {

constexpr int kMostAlgorithms = 32;

// Stands for a tensor until there is one: it tells how it will be aligned.
const void* const kNobodyReads = reinterpret_cast<const void*>(std::uintptr_t{kAlignBytes});

cudaDataType_t library_type(Scalar type) {
  switch (type) {
    case Scalar::kFloat16:
      return CUDA_R_16F;
    case Scalar::kBFloat16:
      return CUDA_R_16BF;
    case Scalar::kFloat32:
      return CUDA_R_32F;
    case Scalar::kInt8:
      return CUDA_R_8I;
    case Scalar::kInt32:
      return CUDA_R_32I;
    case Scalar::kFloat8E4M3:
      return CUDA_R_8F_E4M3;
    case Scalar::kFloat8E5M2:
      return CUDA_R_8F_E5M2;
  }
  return CUDA_R_32F;
}

cublasComputeType_t compute_type(Sums sums) {
  if (sums == Sums::kInt32) return CUBLAS_COMPUTE_32I;
  return sums == Sums::kTf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

std::uint32_t epilogue_of(const Spec& spec) {
  const bool has_bias = spec.bias >= 0;
  switch (spec.activation) {
    case Activation::kRelu:
      return has_bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
    case Activation::kGelu:  // by tanh
      return has_bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
    case Activation::kNone:
      break;
  }
  return has_bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
}

// The library's words for what went wrong.
bool fail(const Api& api, TextBuffer* error, const char* what, cublasStatus_t status) {
  error->add("cublasLt %s: %s", what, api.GetStatusString(status));
  return false;
}

}  // namespace

bool known_sizes(const Spec& spec, Sizes* sizes) {
  *sizes = {spec.m, spec.n, spec.k, spec.batch};
  return spec.m >= 0 && spec.n >= 0 && spec.k >= 0 && spec.batch >= 0;
}

Product::~Product() {
  if (preference_ != nullptr) api_.MatmulPreferenceDestroy(preference_);
  if (operation_ != nullptr) api_.MatmulDescDestroy(operation_);
}

bool Product::create(TextBuffer* error) { return describe(error) && prefer(error); }

bool Product::set(cublasLtMatmulDescAttributes_t attribute, const void* value, std::size_t bytes,
                  TextBuffer* error) {
  const cublasStatus_t status = api_.MatmulDescSetAttribute(operation_, attribute, value, bytes);
  return status == CUBLAS_STATUS_SUCCESS || fail(api_, error, "refuses a product", status);
}

bool Product::describe(TextBuffer* error) {
  const bool of_integers = spec_.sums == Sums::kInt32;
  const cublasStatus_t status = api_.MatmulDescCreate(&operation_, compute_type(spec_.sums),
                                                      of_integers ? CUDA_R_32I : CUDA_R_32F);
  if (status != CUBLAS_STATUS_SUCCESS) return fail(api_, error, "makes no product", status);
  const std::int32_t first = spec_.b_transposed != 0 ? CUBLAS_OP_T : CUBLAS_OP_N;
  const std::int32_t second = spec_.a_transposed != 0 ? CUBLAS_OP_T : CUBLAS_OP_N;
  const std::uint32_t epilogue = epilogue_of(spec_);
  if (!set(CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof first, error) ||
      !set(CUBLASLT_MATMUL_DESC_TRANSB, &second, sizeof second, error) ||
      !set(CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue, error)) {
    return false;
  }
  if (spec_.is_float8() && !describe_float8(error)) return false;
  return spec_.bias < 0 || point(CUBLASLT_MATMUL_DESC_BIAS_POINTER, kNobodyReads, &bias_, error);
}

// The library's first factor is B.
bool Product::describe_float8(TextBuffer* error) {
  const std::int8_t is_fast = spec_.sums == Sums::kFastFloat8 ? 1 : 0;
  if (!set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, &is_fast, sizeof is_fast, error)) return false;
  if (spec_.scales == Scales::kVectors) {
    const std::int32_t mode = CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F;
    if (!set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, &mode, sizeof mode, error) ||
        !set(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, &mode, sizeof mode, error)) {
      return false;
    }
  }
  const auto begin = [&](std::int64_t tensor) {
    return tensor >= 0 || spec_.scales == Scales::kVectors ? kNobodyReads : nullptr;
  };
  return point(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, begin(spec_.b_scale), &b_scale_, error) &&
         point(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, begin(spec_.a_scale), &a_scale_, error);
}

bool Product::point(cublasLtMatmulDescAttributes_t attribute, const void* to, const void** last,
                    TextBuffer* error) {
  if (to == *last) return true;
  *last = to;
  return set(attribute, last, sizeof *last, error);
}

bool Product::prefer(TextBuffer* error) {
  cublasStatus_t status = api_.MatmulPreferenceCreate(&preference_);
  const auto put = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    if (status != CUBLAS_STATUS_SUCCESS) return;
    status = api_.MatmulPreferenceSetAttribute(preference_, attribute, &value, sizeof value);
  };
  put(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t(spec_.workspace_bytes));
  // No sums in the type of the result, nor in the order in which blocks arrive.
  put(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
      std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
  for (const auto of :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    put(of, kAlignBytes);
  }
  return status == CUBLAS_STATUS_SUCCESS || fail(api_, error, "takes no preferences", status);
}

bool Product::lay_out(const Sizes& s, Plan* plan, TextBuffer* error) const {
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
  const auto make = [&](cublasLtMatrixLayout_t* layout, Scalar type, std::int64_t rows,
                        std::int64_t columns, bool repeats) {
    const auto put = [&](cublasLtMatrixLayoutAttribute_t attribute, const auto& value) {
      if (status != CUBLAS_STATUS_SUCCESS) return;
      status = api_.MatrixLayoutSetAttribute(*layout, attribute, &value, sizeof value);
    };
    if (status != CUBLAS_STATUS_SUCCESS) return;
    status = api_.MatrixLayoutCreate(layout, library_type(type), std::uint64_t(columns),
                                     std::uint64_t(rows), columns);
    put(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<std::int32_t>(s.batch));
    put(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
        repeats ? std::int64_t{0} : std::int64_t{rows * columns});
  };
  plan->sizes = s;
  const bool at = spec_.a_transposed != 0, bt = spec_.b_transposed != 0;
  make(&plan->a, spec_.a_type, at ? s.k : s.m, at ? s.m : s.k, spec_.a_repeats != 0);
  make(&plan->b, spec_.b_type, bt ? s.n : s.k, bt ? s.k : s.n, spec_.b_repeats != 0);
  make(&plan->d, spec_.result, s.m, s.n, false);
  return status == CUBLAS_STATUS_SUCCESS || fail(api_, error, "makes no layout", status);
}

void Product::drop(Plan* plan) const {
  for (cublasLtMatrixLayout_t* layout : {&plan->a, &plan->b, &plan->d}) {
    if (*layout != nullptr) api_.MatrixLayoutDestroy(*layout);
    *layout = nullptr;
  }
}

int Product::find_algorithms(const Plan& plan, Algorithm* found, int most,
                             TextBuffer* error) const {
  cublasLtMatmulHeuristicResult_t results[kMostAlgorithms] = {};
  int count = 0;
  const cublasStatus_t status =
      api_.MatmulAlgoGetHeuristic(handle_, operation_, plan.b, plan.a, plan.d, plan.d, preference_,
                                  std::min(most, kMostAlgorithms), results, &count);
  int kept = 0;
  for (int i = 0; i < count && status == CUBLAS_STATUS_SUCCESS; ++i) {
    if (results[i].state != CUBLAS_STATUS_SUCCESS) continue;
    found[kept++] = {results[i].algo, results[i].workspaceSize};
  }
  if (kept == 0) {
    fail(api_, error, "has no algorithm",
         status == CUBLAS_STATUS_SUCCESS ? CUBLAS_STATUS_NOT_SUPPORTED : status);
  }
  return kept;
}

bool Product::check(const Plan& plan, const cublasLtMatmulAlgo_t& algorithm,
                    TextBuffer* error) const {
  cublasLtMatmulHeuristicResult_t result = {};
  const cublasStatus_t status = api_.MatmulAlgoCheck(handle_, operation_, plan.b, plan.a, plan.d,
                                                     plan.d, &algorithm, &result);
  if (status != CUBLAS_STATUS_SUCCESS) return fail(api_, error, "refuses the algorithm", status);
  if (result.workspaceSize <= static_cast<std::size_t>(spec_.workspace_bytes)) return true;
  error->add("the algorithm needs a workspace of %zu bytes", result.workspaceSize);
  return false;
}

bool Product::run(const Plan& plan, const Operands& o, TextBuffer* error) {
  if (!point(CUBLASLT_MATMUL_DESC_BIAS_POINTER, o.bias, &bias_, error) ||
      !point(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, o.b_scale, &b_scale_, error) ||
      !point(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, o.a_scale, &a_scale_, error)) {
    return false;
  }
  const float alpha = spec_.alpha, beta = o.residual != nullptr ? 1 : 0;
  const std::int32_t one = 1, zero = 0;
  const bool of_integers = spec_.sums == Sums::kInt32;
  const void* c = o.residual != nullptr ? o.residual : o.d;
  const cublasStatus_t status =
      api_.Matmul(handle_, operation_, of_integers ? static_cast<const void*>(&one) : &alpha, o.b,
                  plan.b, o.a, plan.a, of_integers ? static_cast<const void*>(&zero) : &beta, c,
                  plan.d, o.d, plan.d, &plan.algorithm, o.workspace, o.workspace_bytes, o.stream);
  return status == CUBLAS_STATUS_SUCCESS || fail(api_, error, "does not compute it", status);
}

}  // namespace tessera::backends::cublas
