// SPDX-License-Identifier: Apache-2.0
// Package-merge: a code of at most L bits is a choice of coins. Each symbol has a coin of each
// value 2^-1 .. 2^-L, which costs what it occurs; the cheapest coins of value n - 1 in all are the
// best code, and a symbol's length is the number of its coins among them.
#include "constants/code_lengths.h"

#include <algorithm>
#include <iterator>

#include "support/check.h"

namespace tessera {
namespace {

// Coins that are taken together.
struct Package {
  std::uint64_t cost = 0;
  std::vector<std::size_t> symbols;
};

bool is_cheaper(const Package& a, const Package& b) { return a.cost < b.cost; }

std::vector<Package> in_pairs(const std::vector<Package>& packages) {
  std::vector<Package> pairs;
  for (std::size_t i = 0; i + 1 < packages.size(); i += 2) {
    Package pair = packages[i];
    const Package& other = packages[i + 1];
    pair.cost += other.cost;
    pair.symbols.insert(pair.symbols.end(), other.symbols.begin(), other.symbols.end());
    pairs.push_back(std::move(pair));
  }
  return pairs;
}

}  // namespace

std::vector<unsigned> code_lengths(std::span<const std::uint64_t> counts, unsigned longest) {
  std::vector<Package> coins;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) coins.push_back({counts[i], {i}});
  }
  TESSERA_CHECK(coins.size() >= 2 && coins.size() <= std::size_t{1} << longest);
  std::stable_sort(coins.begin(), coins.end(), is_cheaper);
  std::vector<Package> packages = coins;
  for (unsigned level = 1; level < longest; ++level) {
    const std::vector<Package> pairs = in_pairs(packages);
    packages.clear();
    std::merge(coins.begin(), coins.end(), pairs.begin(), pairs.end(), std::back_inserter(packages),
               is_cheaper);
  }
  std::vector<unsigned> lengths(counts.size(), 0);
  for (std::size_t i = 0; i < 2 * (coins.size() - 1); ++i) {
    for (const std::size_t symbol : packages[i].symbols) ++lengths[symbol];
  }
  return lengths;
}

}  // namespace tessera
