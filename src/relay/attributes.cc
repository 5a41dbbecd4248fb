// SPDX-License-Identifier: Apache-2.0
#include "relay/attributes.h"

#include <algorithm>
#include <bit>

#include "support/hash.h"

namespace tessera::relay {

namespace {

std::optional<std::int64_t> as_int(const AttrValue& v) {
  if (const auto* i = v.as<std::int64_t>()) return *i;
  if (const auto* b = v.as<bool>()) return *b ? 1 : 0;
  return std::nullopt;
}

std::uint64_t hash_of(double v) {
  return std::bit_cast<std::uint64_t>(v == 0 ? 0.0 : v);  // -0.0 == 0.0
}

bool entry_less(const std::pair<std::string, AttrValue>& entry, std::string_view name) {
  return entry.first < name;
}

}  // namespace

bool AttrValue::operator==(const AttrValue& o) const {
  if (width != o.width) return false;
  if (value.index() == o.value.index()) return value == o.value;
  const auto a = as_int(*this), b = as_int(o);
  return a && b && *a == *b;
}

std::uint64_t AttrValue::hash() const {
  if (const auto i = as_int(*this)) return hash_combine(1, static_cast<std::uint64_t>(*i));
  if (const auto* d = as<double>()) return hash_combine(2, hash_of(*d));
  if (const auto* s = as<std::string>()) return hash_combine(3, hash_text(*s).low);
  std::uint64_t h = 4;
  if (const auto* array = as<AttrArray>()) {
    h = hash_combine(5, array->size());
    for (const AttrValue& item : *array) h = hash_combine(h, item.hash());
  }
  return h;
}

Attrs::Attrs(std::initializer_list<std::pair<std::string, AttrValue>> entries) {
  for (const auto& [name, value] : entries) set(name, value);
}

const AttrValue* Attrs::find(std::string_view name) const {
  const auto it = std::lower_bound(entries_.begin(), entries_.end(), name, entry_less);
  return it != entries_.end() && it->first == name ? &it->second : nullptr;
}

void Attrs::set(std::string name, AttrValue value) {
  const auto it =
      std::lower_bound(entries_.begin(), entries_.end(), std::string_view(name), entry_less);
  if (it != entries_.end() && it->first == name) {
    it->second = std::move(value);
  } else {
    entries_.emplace(it, std::move(name), std::move(value));
  }
}

void Attrs::erase(std::string_view name) {
  const auto it = std::lower_bound(entries_.begin(), entries_.end(), name, entry_less);
  if (it != entries_.end() && it->first == name) entries_.erase(it);
}

std::string Attrs::string_or_empty(std::string_view name) const {
  const AttrValue* v = find(name);
  const std::string* s = v != nullptr ? v->as<std::string>() : nullptr;
  return s != nullptr ? *s : std::string();
}

std::int64_t Attrs::int_or_zero(std::string_view name) const {
  const AttrValue* v = find(name);
  return v != nullptr ? as_int(*v).value_or(0) : 0;
}

bool Attrs::operator==(const Attrs& o) const { return entries_ == o.entries_; }

std::uint64_t Attrs::hash() const {
  std::uint64_t h = entries_.size();
  for (const auto& [name, value] : entries_) {
    h = hash_combine(hash_combine(h, hash_text(name).low), value.hash());
  }
  return h;
}

}  // namespace tessera::relay
