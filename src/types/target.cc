// SPDX-License-Identifier: Apache-2.0
#include "types/target.h"

#include <algorithm>

#include "runtime/device_arch.h"
#include "support/check.h"
#include "support/hash.h"
#include "types/gpu_arch.h"
#include "types/target_builder.h"

namespace tessera {
namespace {

std::vector<std::string> device_keys(DeviceType device) {
  if (device == DeviceType::kCuda) return {"cuda", "gpu"};
  return {"cpu"};
}

void add_key(std::vector<std::string>& keys, const std::string& key) {
  if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
}

template <class T>
const T& get_value(const Target& target, std::string_view option) {
  const auto it = target.values().find(option);
  TESSERA_CHECK(it != target.values().end(), "target kind `{}` has no option `{}`", target.name(),
                option);
  const T* value = std::get_if<T>(&it->second);
  TESSERA_CHECK(value != nullptr, "option `{}` of `{}` is {}", option, target.name(),
                type_name(it->second));
  return *value;
}

std::string quoted_list(const std::vector<std::string>& names) {
  std::string out;
  for (const auto& name : names) out += fmt::format("{}`{}`", out.empty() ? "" : ", ", name);
  return out;
}

}  // namespace

Target::Target() : Target("cpu") {}

Target::Target(std::string_view kind) : kind_(find_target_kind(kind)) {
  TESSERA_CHECK(kind_ != nullptr, "no target kind `{}`", kind);
  keys_ = device_keys(kind_->device);
  for (const auto& option : kind_->options) values_.emplace(option.name, option.default_value);
}

bool Target::is_external_for(const Target& other) const {
  return is_external() && !other.is_external() && device() == other.device();
}

bool Target::get_bool(std::string_view option) const { return get_value<bool>(*this, option); }
std::int64_t Target::get_int(std::string_view option) const {
  return get_value<std::int64_t>(*this, option);
}
const std::string& Target::get_string(std::string_view option) const {
  return get_value<std::string>(*this, option);
}
const std::vector<std::int64_t>& Target::get_ints(std::string_view option) const {
  return get_value<std::vector<std::int64_t>>(*this, option);
}

Target Target::with(std::string_view option, TargetValue value) const {
  Target copy = *this;
  const auto it = copy.values_.find(option);
  TESSERA_CHECK(it != copy.values_.end() && it->second.index() == value.index(),
                "option `{}` of `{}`", option, name());
  it->second = std::move(value);
  return copy;
}

Target Target::with_host(const Target& host) const {
  Target copy = *this;
  copy.host_ = std::make_shared<const Target>(host.without_host());
  return copy;
}

Target Target::without_host() const {
  Target copy = *this;
  copy.host_ = nullptr;
  return copy;
}

bool operator==(const Target& a, const Target& b) {
  const bool same_host =
      a.host_ == nullptr || b.host_ == nullptr ? a.host_ == b.host_ : *a.host_ == *b.host_;
  return a.kind_ == b.kind_ && a.tag_ == b.tag_ && a.keys_ == b.keys_ && a.values_ == b.values_ &&
         same_host;
}

std::uint64_t Target::hash() const { return hash_text(to_json(*this)).low; }

std::span<const TargetOption> common_target_options() {
  using Strings = std::vector<std::string>;
  static const std::vector<TargetOption> options = {
      {"keys", Strings{}, "words that describe the target, before those of its device"},
      {"device", std::string(), "one more word of the keys"},
      {"model", std::string(),
       "the name of the machine; cutlass skips what was measured on those of other names"},
      {"libs", Strings{}, "no effect: --target and --backends say what is used"},
      {"from_device", std::int64_t{0}, "no effect: the other options say what a device has"},
      {"tag", std::string(), "a name for the whole target"},
      {"host", std::string(), "the target that drives the device"},
  };
  return options;
}

std::string_view type_name(const TargetValue& value) {
  constexpr std::string_view kNames[] = {"a boolean", "an integer", "a string",
                                         "a list of integers", "a list of strings"};
  return kNames[value.index()];
}

const TargetValue* TargetBuilder::begin_option(const std::string& option) {
  if (option == "features" || option.starts_with("feature.")) {
    problem("`{}` is derived from the other options and cannot be given", option);
    return nullptr;
  }
  if (!given_.insert(option).second) {
    problem("option `{}` is given twice", option);
    return nullptr;
  }
  if (const auto* own = target_.kind().find_option(option)) return &own->default_value;
  std::vector<std::string> names;
  for (const auto& own : target_.kind().options) names.push_back(own.name);
  for (const auto& common : common_target_options()) {
    if (common.name == option) return &common.default_value;
    names.push_back(common.name);
  }
  problem("cannot recognize option `{}`; candidates are {}", option, quoted_list(names));
  return nullptr;
}

void TargetBuilder::set(const std::string& option, TargetValue value) {
  const TargetOption* own = target_.kind().find_option(option);
  if (own != nullptr && !own->rule.allows(value)) {
    problem("option `{}` must be {}", option, own->rule.text);
    return;
  }
  if (option == "keys") {
    keys_ = std::get<std::vector<std::string>>(std::move(value));
  } else if (option == "tag") {
    target_.tag_ = std::get<std::string>(std::move(value));
  } else {
    target_.values_[option] = std::move(value);
  }
}

void TargetBuilder::set_host(const Target& host) {
  if (host.host() != nullptr) problem("a host has no host of its own");
  if (host.device() != DeviceType::kCpu) problem("the host must be a cpu, not `{}`", host.name());
  target_ = target_.with_host(host);
}

Result<ParsedTarget> TargetBuilder::finish() {
  check_arch();
  if (!problems_.empty()) return fail(std::move(problems_));
  std::vector<std::string> keys;
  for (const auto& key : keys_) add_key(keys, key);
  for (const auto& key : device_keys(target_.device())) add_key(keys, key);
  if (const auto it = target_.values_.find("device"); it != target_.values_.end()) {
    add_key(keys, std::get<std::string>(it->second));
  }
  target_.keys_ = std::move(keys);
  choose_arch();
  return ParsedTarget{std::move(target_), std::move(given_)};
}

// `-sm=80` is another way to say `-arch=sm_80`, and `-sm=90` to say `-arch=sm_90a`.
void TargetBuilder::choose_arch() {
  if (!given_.contains("sm") || given_.contains("arch")) return;
  const auto arch = target_.values_.find("arch");
  if (arch == target_.values_.end()) return;
  const std::int64_t sm = target_.get_int("sm");
  arch->second = fmt::format("sm_{}{}", sm, runtime::arch_suffix(static_cast<int>(sm)));
}

// The default of `sm` says nothing beside an `arch`: the long text of a target has both.
void TargetBuilder::check_arch() {
  if (!given_.contains("sm") || !given_.contains("arch")) return;
  const auto arch = target_.values_.find("arch"), sm = target_.values_.find("sm");
  if (arch == target_.values_.end() || sm == target_.values_.end()) return;
  if (sm->second == target_.kind().find_option("sm")->default_value) return;
  const std::string_view number = gpu_arch_number(std::get<std::string>(arch->second));
  const std::string own = std::to_string(std::get<std::int64_t>(sm->second));
  if (number.empty() || number == own) return;
  problem("`-sm={}` and `-arch={}` contradict each other; omit one of them", own,
          std::get<std::string>(arch->second));
}

Diagnostic unknown_target_kind(std::string_view name, std::string_view source) {
  std::vector<std::string> names;
  for (const auto& kind : target_kinds()) names.push_back(kind.name);
  return error(Code::kBadTarget, nullptr, "target `{}`: target kind `{}` is not defined", source,
               name)
      .with_remedy("use one of " + quoted_list(names));
}

}  // namespace tessera
