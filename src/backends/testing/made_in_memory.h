// SPDX-License-Identifier: Apache-2.0
// For tests: parts that are kept as long as the test runs.
#pragma once

#include <map>

#include "byoc/made_parts.h"
#include "byoc/workload.h"

namespace tessera::backends::testing {

class MadeInMemory final : public byoc::MadeParts {
 public:
  const std::string& device() const override { return device_; }
  bool may_make() const override { return may_make_; }
  Result<std::optional<byoc::MadePart>> find(const byoc::MadeKey& key) const override {
    for (const auto& [there, part] : parts) {
      byoc::MadeKey same = key;
      same.device = there.device;
      if (same == there && byoc::is_of_device(there.device, key.device)) return std::optional(part);
    }
    return std::optional<byoc::MadePart>();
  }
  Result<std::vector<Named>> all(std::string_view backend, std::string_view version,
                                 std::string_view device) const override {
    std::vector<Named> list;
    for (const auto& [key, part] : parts) {
      if (key.backend != backend || key.version != version || key.device != device) continue;
      list.emplace_back(key.workload, part);
    }
    return list;
  }
  Result<byoc::MadePart> keep(const byoc::MadeKey& key, byoc::MadePart part,
                              const IsOne& is_one) override {
    const auto there = parts.find(key);
    if (there != parts.end() && is_one && !is_one(there->second)) parts.erase(there);
    return parts.emplace(key, std::move(part)).first->second;
  }

  // As on a machine without the device.
  void only_read() {
    device_ = "sm_90a ";
    may_make_ = false;
  }

  std::map<byoc::MadeKey, byoc::MadePart> parts;

 private:
  std::string device_ = "sm_90a 132 NVIDIA H200";
  bool may_make_ = true;
};

}  // namespace tessera::backends::testing
