// SPDX-License-Identifier: Apache-2.0
// A product as cublasLt is asked for it. What is row-major here is column-major there and
// transposed: D = A B is computed as D' = B' A', and B is the library's first factor.
#pragma once

#include "backends/cublas/runtime/api.h"
#include "backends/cublas/runtime/spec.h"

namespace tessera::backends::cublas {

// Tensors begin at multiples of so many bytes (runtime/device_run.cc), workspaces where we let
// them.
inline constexpr std::uint32_t kAlignBytes = 16;
inline constexpr std::uint64_t kWorkspaceAlignBytes = 256;

struct Sizes {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;

  bool operator==(const Sizes& o) const {
    return m == o.m && n == o.n && k == o.k && batch == o.batch;
  }
};

// Those of a text, all of which are numbers.
bool known_sizes(const Spec& spec, Sizes* sizes);

// What the library is told of one set of sizes.
struct Plan {
  Sizes sizes;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, d = nullptr;
  cublasLtMatmulAlgo_t algorithm = {};
};

// One of the library's answers.
struct Algorithm {
  cublasLtMatmulAlgo_t opaque = {};
  std::size_t workspace_bytes = 0;
};

struct Operands {
  const void *a = nullptr, *b = nullptr, *bias = nullptr, *residual = nullptr;
  const void *a_scale = nullptr, *b_scale = nullptr;  // null: 1, where scales are numbers
  void* d = nullptr;
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
  cudaStream_t stream = nullptr;
};

class Product {
 public:
  Product(const Api& api, cublasLtHandle_t handle, const Spec& spec)
      : api_(api), handle_(handle), spec_(spec) {}
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;
  ~Product();

  const Spec& spec() const { return spec_; }

  [[nodiscard]] bool create(TextBuffer* error);
  // Layouts, of which the plan is given back by `drop`; its algorithm is left.
  [[nodiscard]] bool lay_out(const Sizes& sizes, Plan* plan, TextBuffer* error) const;
  void drop(Plan* plan) const;
  // Those that the heuristic thinks to be the fastest, in its order; how many, or 0 and why.
  int find_algorithms(const Plan& plan, Algorithm* found, int most, TextBuffer* error) const;
  // Can the device run it, in the workspace that there is? Else why not.
  [[nodiscard]] bool check(const Plan& plan, const cublasLtMatmulAlgo_t& algorithm,
                           TextBuffer* error) const;
  // Puts it into the stream.
  [[nodiscard]] bool run(const Plan& plan, const Operands& operands, TextBuffer* error);

 private:
  bool set(cublasLtMatmulDescAttributes_t attribute, const void* value, std::size_t bytes,
           TextBuffer* error);
  bool describe(TextBuffer* error);
  bool describe_float8(TextBuffer* error);
  bool prefer(TextBuffer* error);
  bool point(cublasLtMatmulDescAttributes_t attribute, const void* to, const void** last,
             TextBuffer* error);

  const Api& api_;
  cublasLtHandle_t handle_;
  Spec spec_;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatmulPreference_t preference_ = nullptr;
  // That the operation has.
  const void *bias_ = nullptr, *a_scale_ = nullptr, *b_scale_ = nullptr;
};

}  // namespace tessera::backends::cublas
