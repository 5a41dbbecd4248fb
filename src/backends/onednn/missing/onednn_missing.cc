// SPDX-License-Identifier: Apache-2.0
// Stands for the back end where the build found no oneDNN headers: it is listed, and says so.
#include "byoc/backend.h"

namespace tessera::backends {
namespace {

constexpr const char* kReason =
    "this tessera was built without oneDNN's headers: install oneDNN 3 (scripts/install-deps.sh "
    "does) and build again";

class Missing final : public byoc::Backend {
 public:
  std::string_view name() const override { return "onednn"; }
  std::optional<byoc::Refusal> available(const Target&) const override {
    return byoc::Refusal{kReason};
  }
  std::vector<byoc::CompositePattern> patterns(const Target&) const override { return {}; }
  std::optional<byoc::Refusal> validate(const relay::Function&, const Target&) const override {
    return byoc::Refusal{kReason};
  }
  byoc::FusionStyle fusion_style() const override { return byoc::FusionStyle::kOneComposite; }
  byoc::ConstantStyle constants() const override { return byoc::ConstantStyle::kEmbedded; }
  Result<byoc::CompileOutcome> compile(Module, const Target&,
                                       byoc::CompileContext&) const override {
    return fail(error(Code::kBackendMissing, {}, "back end `onednn`: {}", kReason));
  }
};

}  // namespace

// Declared here as in backends/onednn/onednn.h, which belongs to the other library of this name.
const byoc::Backend& onednn_backend();
const byoc::Backend& onednn_backend() {
  static const Missing backend;
  return backend;
}

}  // namespace tessera::backends
