// SPDX-License-Identifier: Apache-2.0
// Work that can be measured, as records name it: by text, equal text for equal work.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::byoc {

struct Workload {
  // The text, with a `?` for each size that the model leaves open, before any other `?`.
  std::string form;
  std::vector<std::int64_t> sizes = {};  // in the place of these, in their order: those to measure

  auto operator<=>(const Workload&) const = default;
  // What is measured, all its sizes being numbers: what records say.
  std::string text() const;
  // The open sizes in a text of the same form; nothing if it is of another.
  std::optional<std::vector<std::int64_t>> sizes_in(std::string_view text) const;
};

// The kernel's name in a configuration's text. How it is launched follows after a space.
std::string kernel_of(std::string_view configuration);

// Is a device, as records describe it, one that is wanted? Where that ends with a space, the name
// of the device, which is the last of a description, is left open.
bool is_of_device(std::string_view described, std::string_view wanted);

// What must not be taken, and why: it computes wrong numbers, crashes, or does not compile.
struct Failure {
  std::string configuration, reason;
  bool is_of_kernel = false;  // however that is launched
};

// What was measured of some work.
struct Ranking {
  // The fastest first; none: it was not measured. Whatever failed is not among them.
  std::vector<std::string> configurations = {};
  std::vector<std::int64_t> sizes = {};  // at which it was, as Workload::sizes
  std::vector<Failure> failures = {};    // at any sizes, by the text of the configuration
};

}  // namespace tessera::byoc
