// SPDX-License-Identifier: Apache-2.0
// What `--weights` made of each weight, for people.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::passes {

struct WeightRow {
  std::string name;    // of the product, or of a node, that reads it
  std::string matrix;  // "[768, 3072]": columns of the product, terms of its sums; with its type
                       // where it is packed
  std::string form;    // "int4:group=64,symmetric", "lossless"; "": it is stored as it was
  std::string reason;  // why it was, or the rule
  std::uint64_t bytes = 0, bytes_before = 0;
  double error = 0;  // of its elements: the norm of the differences over that of the weight

  std::string stored_as() const { return form.empty() ? "as it was" : form; }
};

}  // namespace tessera::passes
