// SPDX-License-Identifier: Apache-2.0
// Unique, valid identifiers for variables and buffers, made of the names that they carry.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tessera::tir {

class Names {
 public:
  // Words that no name may be.
  explicit Names(std::vector<std::string_view> reserved = {});
  // The name of a thing; the first call makes it from the hint, with `_1`, `_2`, ... if that is
  // taken.
  const std::string& of(const void* thing, std::string_view hint);
  // Ends the scope of a thing: its name is free for others.
  void forget(const void* thing);
  // A name that belongs to no thing.
  std::string fresh(std::string_view hint);

 private:
  std::set<std::string, std::less<>> taken_;
  std::unordered_map<std::string, int> next_;
  std::unordered_map<const void*, std::string> names_;
};

// The hint with everything but letters, digits and `_` replaced; never empty, no digit in front.
std::string identifier(std::string_view hint);

}  // namespace tessera::tir
