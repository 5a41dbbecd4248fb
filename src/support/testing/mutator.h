// SPDX-License-Identifier: Apache-2.0
// For tests: random damage to what a parser reads, text or bytes. The same seed does the same.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>

namespace tessera::testing {

class Mutator {
 public:
  // `pieces` are inserted: what the language is made of.
  Mutator(std::uint64_t seed, std::span<const std::string_view> pieces)
      : random_(seed), pieces_(pieces) {}

  // One to four edits.
  std::string mutate(std::string text) {
    const std::size_t edits = 1 + pick(4);
    for (std::size_t i = 0; i < edits && !text.empty(); ++i) edit(text);
    return text;
  }

  // Below n, which is not 0.
  std::size_t pick(std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_);
  }

 private:
  void edit(std::string& text) {
    const std::size_t at = pick(text.size());
    const std::size_t length = pick(std::min<std::size_t>(text.size() - at, 20) + 1);
    switch (pick(5)) {
      case 0:
        text.erase(at, length);
        break;
      case 1:
        text.insert(at, pieces_[pick(pieces_.size())]);
        break;
      case 2:
        text.insert(pick(text.size()), text.substr(at, length));
        break;
      case 3:
        text.replace(at, length, pieces_[pick(pieces_.size())]);
        break;
      default:
        text[at] = static_cast<char>(pick(256));
        break;
    }
  }

  std::mt19937_64 random_;
  std::span<const std::string_view> pieces_;
};

}  // namespace tessera::testing
