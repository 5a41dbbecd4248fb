// SPDX-License-Identifier: Apache-2.0
#include "tir/names.h"

#include <algorithm>

#include <fmt/format.h>

namespace tessera::tir {
namespace {

constexpr int kTried = 8;  // numbers of a name, before it counts as one of many

}  // namespace

std::string identifier(std::string_view hint) {
  std::string name;
  for (const char c : hint) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool digit = c >= '0' && c <= '9';
    if (digit && name.empty()) name = "v";
    name += letter || digit ? c : '_';
  }
  return name.empty() ? "v" : name;
}

Names::Names(std::vector<std::string_view> reserved) {
  for (const auto word : reserved) taken_.insert(std::string(word));
}

std::string Names::fresh(std::string_view hint) {
  const std::string base = identifier(hint);
  std::string name = base;
  for (int i = 1; !taken_.insert(name).second; ++i) {
    // Many of one name: go on after the last one instead of trying them all.
    if (i > kTried) {
      int& next = next_[base];
      i = std::max(i, next);
      next = i + 1;
    }
    name = fmt::format("{}_{}", base, i);
  }
  return name;
}

void Names::forget(const void* thing) {
  const auto it = names_.find(thing);
  if (it == names_.end()) return;
  taken_.erase(it->second);
  next_.clear();  // it may be the first free one
  names_.erase(it);
}

const std::string& Names::of(const void* thing, std::string_view hint) {
  const auto it = names_.find(thing);
  if (it != names_.end()) return it->second;
  return names_[thing] = fresh(hint);
}

}  // namespace tessera::tir
