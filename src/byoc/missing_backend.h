// SPDX-License-Identifier: Apache-2.0
// Stands for a back end where the build found no headers of its library: it is listed, and says
// so.
#pragma once

#include "byoc/backend.h"

namespace tessera::byoc {

class MissingBackend : public Backend {
 public:
  // Texts that outlive it.
  MissingBackend(std::string_view name, std::string_view reason, bool is_default)
      : name_(name), reason_(reason), is_default_(is_default) {}

  std::string_view name() const override { return name_; }
  std::optional<Target> default_target(const Target&) const override {
    return is_default_ ? std::optional(Target(name())) : std::nullopt;
  }
  std::optional<Refusal> available(const Target&) const override { return refusal(); }
  std::vector<CompositePattern> patterns(const Target&) const override { return {}; }
  std::optional<Refusal> validate(const relay::Function&, const Target&) const override {
    return refusal();
  }
  Result<CompileOutcome> compile(Module, const Target&, CompileContext&) const override {
    return fail(error(Code::kBackendMissing, {}, "back end `{}`: {}", name_, reason_));
  }

 private:
  Refusal refusal() const { return {std::string(reason_)}; }

  std::string_view name_, reason_;
  bool is_default_;
};

}  // namespace tessera::byoc
