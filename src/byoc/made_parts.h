// SPDX-License-Identifier: Apache-2.0
// What the library of a vendor made on a device, or with its driver: engines, plans. Made again, it
// may have other bytes, and elsewhere there may be nothing to make it with. So it stands in the
// records, by what it was made from; tune/ keeps it, and the driver hands it to back ends.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnostics/diagnostic.h"

namespace tessera::byoc {

// What a part was made from. Equal keys, equal work.
struct MadeKey {
  std::string backend;
  std::string version;  // of the library, and of what the bytes mean to the back end
  std::string device;   // as records describe it
  std::string
      workload;  // all else: the back end's canonical text, or its hash with words for people

  friend auto operator<=>(const MadeKey&, const MadeKey&) = default;
};

struct MadePart {
  std::string bytes;
  std::string refusal = {};  // why the library makes none, whatever the machine; "": it has made it

  friend bool operator==(const MadePart&, const MadePart&) = default;
};

class MadeParts {
 public:
  virtual ~MadeParts() = default;
  // The GPU that parts are made on, as records describe it. Of one that is not here the beginning,
  // which is_of_device() compares.
  virtual const std::string& device() const = 0;
  // May what the records lack be made now? If not, it is an error, or is computed elsewhere.
  virtual bool may_make() const = 0;
  // Of a device whose description begins with the key's. An error where several have other bytes.
  virtual Result<std::optional<MadePart>> find(const MadeKey& key) const = 0;
  // All of a back end whose device is just this one, by their workloads.
  using Named = std::pair<std::string, MadePart>;
  virtual Result<std::vector<Named>> all(std::string_view backend, std::string_view version,
                                         std::string_view device) const = 0;
  // Who keeps a part first is right: what comes back is to be taken. What is there and `is_one`
  // denies gives way; null: it denies nothing.
  using IsOne = std::function<bool(const MadePart&)>;
  virtual Result<MadePart> keep(const MadeKey& key, MadePart part, const IsOne& is_one) = 0;
};

}  // namespace tessera::byoc
