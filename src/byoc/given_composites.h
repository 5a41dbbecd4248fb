// SPDX-License-Identifier: Apache-2.0
// Composites in a compiler function that a model brings: made by a table of patterns that need not
// be the back end's own.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "byoc/partition.h"

namespace tessera::byoc {

struct GivenComposite {
  std::string name;
  relay::Function function;  // with types, free of literals
};

// The literals with `Composite`, each form of a name once.
std::vector<GivenComposite> given_composites(const relay::Function& f);

// The back end, which claims those of the composites first that it compiles without a pattern for
// them. Chooses like the one that it is made of; compiles nothing.
class WithGivenComposites final : public Backend {
 public:
  WithGivenComposites(const BackendChoice& choice, std::span<const GivenComposite> given);

  std::string_view name() const override { return backend_.name(); }
  std::vector<CompositePattern> patterns(const Target& target) const override;
  std::optional<Refusal> validate(const relay::Function& region,
                                  const Target& target) const override {
    return backend_.validate(region, target);
  }
  FusionStyle fusion_style() const override { return backend_.fusion_style(); }
  ConstantStyle constants() const override { return backend_.constants(); }
  Result<CompileOutcome> compile(Module module, const Target& target,
                                 CompileContext& context) const override {
    return backend_.compile(std::move(module), target, context);
  }

 private:
  const Backend& backend_;
  std::vector<CompositePattern> given_;
};

// What partitioning it for the back end alone says: nothing if all of it is one region, else why
// not, with at least one sentence.
std::optional<std::vector<PlacementRefusal>> why_apart(const GivenComposite& composite,
                                                       const BackendChoice& choice,
                                                       const ConstantPool& pool);

}  // namespace tessera::byoc
