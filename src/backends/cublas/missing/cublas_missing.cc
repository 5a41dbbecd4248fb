// SPDX-License-Identifier: Apache-2.0
// Stands for the back end where the build found no header of cublasLt: it is listed, and says so.
#include "byoc/backend.h"

namespace tessera::backends {
namespace {

constexpr const char* kReason =
    "this tessera was built without cublasLt.h: install the CUDA toolkit 13 with cuBLAS "
    "(libcublas-dev-13-0), and build again";

class Missing final : public byoc::Backend {
 public:
  std::string_view name() const override { return "cublas"; }
  std::optional<Target> default_target(const Target&) const override { return std::nullopt; }
  bool measures() const override { return true; }
  std::optional<byoc::Refusal> available(const Target&) const override {
    return byoc::Refusal{kReason};
  }
  std::vector<byoc::CompositePattern> patterns(const Target&) const override { return {}; }
  std::optional<byoc::Refusal> validate(const relay::Function&, const Target&) const override {
    return byoc::Refusal{kReason};
  }
  Result<byoc::CompileOutcome> compile(Module, const Target&,
                                       byoc::CompileContext&) const override {
    return fail(error(Code::kBackendMissing, {}, "back end `cublas`: {}", kReason));
  }
};

}  // namespace

// Declared here as in backends/cublas/cublas.h, which belongs to the other library of this name.
const byoc::Backend& cublas_backend();
const byoc::Backend& cublas_backend() {
  static const Missing backend;
  return backend;
}

}  // namespace tessera::backends
