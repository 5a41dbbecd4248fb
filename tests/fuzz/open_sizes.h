// SPDX-License-Identifier: Apache-2.0
// The open sizes of one graph: symbols with their ranges, what is made of them, and the sets of
// numbers for which it is run.
#pragma once

#include "tests/fuzz/graph.h"
#include "tests/fuzz/random.h"

namespace tessera::fuzz {

class OpenSizes {
 public:
  // None: all sizes are numbers, and there is one run.
  OpenSizes() : runs_(1) {}
  // One symbol to three. Their names follow from the seed, so that many graphs fit one model.
  OpenSizes(std::uint64_t seed, Random& random);

  bool empty() const { return symbols_.empty(); }
  const std::vector<Sizes>& runs() const { return runs_; }
  // A symbol, or a sum, product or quotient with one.
  Dim any(Random& random) const;
  // What a model says of these symbols: nothing of some, of whose sizes none is zero.
  SymbolTable ranges_of(const relay::Function& f) const;

 private:
  std::vector<std::string> symbols_;
  SymbolTable ranges_;
  std::vector<Sizes> runs_;
};

}  // namespace tessera::fuzz
