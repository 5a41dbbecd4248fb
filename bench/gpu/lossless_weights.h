// SPDX-License-Identifier: Apache-2.0
// What lossless_product.cu multiplies: a matrix in bfloat16, packed without loss by the project's
// own code, and what a device would be told of it when it is loaded.
#pragma once

#include <cstdint>
#include <vector>

namespace bench {

constexpr int kTerms = 4096;                     // of a column, whose weights lie in a row
constexpr std::uint32_t kStreamSymbols = 32768;  // of a whole block; so 8 columns
constexpr int kStreamThreads = 256;              // that decode one together
constexpr std::uint32_t kShareSymbols = kStreamSymbols / kStreamThreads;
constexpr int kLookBits = 11, kLooks = 1 << kLookBits;

// The codes of a quarter of a block: where they begin among the packed bytes, and where the bytes
// that are not coded do.
struct Stream {
  std::uint64_t at, low;
  std::uint32_t bytes, pad;
};

// What the next bits of a stream begin with: at most four symbols, and about them: 8 for each (in
// the lowest byte), the bits of the first (in the next), and those of all (in the upper half).
struct alignas(8) Look {
  std::uint32_t symbols, about;
};
struct Looks {
  Look of[kLooks];
};

struct Packed {
  std::vector<unsigned char> bytes;
  std::vector<Stream> streams;
  // For each stream, the bit where each thread's share of kShareSymbols begins.
  std::vector<std::uint32_t> begins;
  Looks looks;
};

// The same weights in a form of fixed lengths: a byte with sign and mantissa, and three bits for
// eight exponents in a row from `first`, which hold most. Others are told apart.
//
//   groups of 32 terms of a column, 128 of them; kWords words of codes [3][128], bytes [2][128][16]
//   a word   codes of 5 pairs, the even term's at bits 3i, the odd one's at 16 + 3i; bits 15 and 31
//            of the three words are the codes of the last pair
//   others   term << 8 | exponent, of column c from begins[c] on; their code is 0
struct FixedForm {
  std::uint32_t first;
  std::vector<std::uint32_t> words;
  std::vector<unsigned char> bytes;
  std::vector<std::uint32_t> begins, others;

  std::uint64_t size() const {
    return 4 * (words.size() + begins.size() + others.size()) + bytes.size();
  }
};

// `columns` times kTerms numbers of a normal distribution.
std::vector<std::uint16_t> normal_weights(int columns, std::uint32_t seed);
Packed packed(const std::vector<std::uint16_t>& weights);
FixedForm fixed_form(const std::vector<std::uint16_t>& weights);

}  // namespace bench
