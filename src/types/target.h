// SPDX-License-Identifier: Apache-2.0
// What code is made for: a machine (`cpu`, `cuda`) or an external code generator (`onednn`,
// `cutlass`), with typed options. Text: `cutlass -sm=90 -use_3xtf32=false`, or the same as a JSON
// object.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "diagnostics/diagnostic.h"

namespace tessera {

enum class DeviceType : std::uint8_t { kCpu = 1, kCuda = 2 };  // DLPack's numbers
std::string_view to_string(DeviceType device);                 // "cpu", "cuda"

using TargetValue = std::variant<bool, std::int64_t, std::string, std::vector<std::int64_t>,
                                 std::vector<std::string>>;

// What a value must be besides its type (types/option_rules.h).
struct OptionRule {
  std::string text = {};                        // read after "must be": "0 or more"
  std::vector<TargetValue> choices = {};        // one of these, unless there are none,
  bool (*holds)(const TargetValue&) = nullptr;  // for which this is true, unless it is null

  bool allows(const TargetValue& value) const;
};

struct TargetOption {
  std::string name;
  TargetValue default_value;  // also gives the type
  std::string doc;            // what it does, for lists of options
  OptionRule rule = {};
};

struct TargetKind {
  std::string name;
  std::string alias;  // another spelling that is read; may be empty
  DeviceType device = DeviceType::kCpu;
  bool is_external = false;  // names a back end rather than a machine
  std::vector<TargetOption> options;

  const TargetOption* find_option(std::string_view option) const;
};

// All kinds: the machines of machines.def, then those of backends/backends.def.
std::span<const TargetKind> target_kinds();
// By name or alias; null if there is none.
const TargetKind* find_target_kind(std::string_view name);

// A value. Every option of the kind has a value; the default is `cpu` with all defaults.
class Target {
 public:
  Target();
  explicit Target(std::string_view kind);  // all defaults; the kind must exist

  const TargetKind& kind() const { return *kind_; }
  const std::string& name() const { return kind_->name; }
  DeviceType device() const { return kind_->device; }
  bool is_external() const { return kind_->is_external; }
  // Same device, this one external, the other one not.
  bool is_external_for(const Target& other) const;

  // The kind must have the option, of that type.
  bool get_bool(std::string_view option) const;
  std::int64_t get_int(std::string_view option) const;
  const std::string& get_string(std::string_view option) const;
  const std::vector<std::int64_t>& get_ints(std::string_view option) const;
  // The same target with another value of an option of its kind.
  Target with(std::string_view option, TargetValue value) const;

  // Those of the user, of the kind (`cpu`; `cuda`, `gpu`), and of `-device`, once each.
  const std::vector<std::string>& keys() const { return keys_; }
  const std::string& tag() const { return tag_; }
  const std::map<std::string, TargetValue, std::less<>>& values() const { return values_; }
  // The machine that drives the device; null: not said. A host has no host itself.
  const Target* host() const { return host_.get(); }
  Target with_host(const Target& host) const;
  Target without_host() const;

  // Kind, host, tag, keys, and all values.
  friend bool operator==(const Target& a, const Target& b);
  std::uint64_t hash() const;

 private:
  friend class TargetBuilder;
  const TargetKind* kind_;
  std::string tag_;
  std::vector<std::string> keys_;
  std::map<std::string, TargetValue, std::less<>> values_;
  std::shared_ptr<const Target> host_;
};

// Reads the string form, or the JSON form if the text starts with `{`.
Result<Target> parse_target(std::string_view text);
// `cutlass -keys=cuda,gpu -sm=90 ...`: every value, sorted; the host is left out. Reads back equal.
std::string to_string(const Target& target);
// The kind and those options that are not at their default: for reports and file names of records.
std::string short_text(const Target& target);
// A JSON object with `kind`, `tag`, `keys`, `host` if any, and every value. Reads back equal.
std::string to_json(const Target& target);

}  // namespace tessera
