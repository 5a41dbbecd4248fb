// SPDX-License-Identifier: Apache-2.0
// What back ends make on a device, in the file of records of a compilation.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "byoc/composites.h"
#include "byoc/made_parts.h"
#include "driver/options.h"
#include "tune/record_store.h"

namespace tessera::driver {

class RecordedParts final : public byoc::MadeParts {
 public:
  // Null: none of these back ends makes such parts, or the options name no records. Where nothing
  // is measured, nothing is made or written, and a file that is not there has none. An error where
  // it is, and the GPU of the targets is not here.
  static Result<std::unique_ptr<RecordedParts>> open(const CompileOptions& options,
                                                     std::span<const byoc::BackendChoice> choices);

  const std::string& device() const override { return device_; }
  bool may_make() const override { return may_make_; }
  // Where nothing may be made: of this machine's GPU rather than of another that the targets may
  // mean.
  Result<std::optional<byoc::MadePart>> find(const byoc::MadeKey& key) const override;
  Result<std::vector<Named>> all(std::string_view backend, std::string_view version,
                                 std::string_view device) const override;
  Result<byoc::MadePart> keep(const byoc::MadeKey& key, byoc::MadePart part,
                              const IsOne& is_one) override;

  // Of the keys that were asked for or kept, how many have a part now.
  std::size_t num_kept() const { return kept_.size(); }

 private:
  RecordedParts(std::optional<tune::RecordStore> store, std::string device, std::string here,
                bool may_make)
      : store_(std::move(store)),
        device_(std::move(device)),
        here_(std::move(here)),
        may_make_(may_make) {}
  Result<std::optional<byoc::MadePart>> look_up(const byoc::MadeKey& key) const;

  std::optional<tune::RecordStore> store_;  // none: there is no file
  std::string device_, here_;               // here_: this machine's GPU; "": it has none that fits
  bool may_make_;
  mutable std::set<byoc::MadeKey> kept_;
};

}  // namespace tessera::driver
