// SPDX-License-Identifier: Apache-2.0
#include "lossless_weights.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "constants/lossless.h"
#include "runtime/lossless/format.h"

namespace bench {
namespace {

using namespace tessera::lossless;
static_assert(kLookBits == kLongestCode && kStreamSymbols * kStreams == kBlockElements);

void require(bool holds, const char* what) {
  if (holds) return;
  std::printf("%s\n", what);
  std::exit(1);
}

struct Code {
  std::uint32_t symbol, bits;
};

// The code that the next bits begin with, for all of them.
std::vector<Code> codes_of(const unsigned char* lengths) {
  std::vector<Code> codes(kLooks);
  std::uint32_t code = 0;
  for (std::uint32_t bits = 1; bits <= kLongestCode; ++bits, code <<= 1) {
    for (std::uint32_t s = 0; s < kSymbols; ++s) {
      if ((lengths[s / 2] >> (s % 2 * 4) & 15u) != bits) continue;
      std::uint32_t reversed = 0;
      for (std::uint32_t i = 0; i < bits; ++i) reversed |= (code >> i & 1u) << (bits - 1 - i);
      for (std::uint32_t i = reversed; i < kLooks; i += 1u << bits) codes[i] = {s, bits};
      ++code;
    }
  }
  return codes;
}

Looks looks_of(const std::vector<Code>& codes) {
  Looks looks = {};
  for (std::uint32_t i = 0; i < kLooks; ++i) {
    std::uint32_t count = 0, bits = 0;
    while (count < 4 && bits + codes[i >> bits].bits <= kLookBits) {
      const Code& c = codes[i >> bits];
      looks.of[i].symbols |= c.symbol << (8 * count++);
      bits += c.bits;
    }
    looks.of[i].about = 8 * count | codes[i].bits << 8 | bits << 16;
  }
  return looks;
}

// Bits where shares begin.
void add_begins(const unsigned char* stream, std::uint32_t bytes, const std::vector<Code>& codes,
                std::vector<std::uint32_t>& begins) {
  std::vector<unsigned char> padded(stream, stream + bytes);
  padded.resize(bytes + 8);
  std::uint32_t at = 0;
  for (std::uint32_t i = 0; i < kStreamSymbols; ++i) {
    if (i % kShareSymbols == 0) begins.push_back(at);
    std::uint32_t bits;
    std::memcpy(&bits, padded.data() + at / 8, sizeof bits);
    at += codes[bits >> (at % 8) & (kLooks - 1)].bits;
  }
  require((at + 7) / 8 == bytes, "a stream does not end where it should");
}

void add_block(Packed& out, std::uint64_t at, std::vector<unsigned char>& lengths) {
  const unsigned char* block = out.bytes.data() + at;
  require(block[0] == kCoded, "exponents are not coded");
  if (lengths.empty()) {
    lengths.assign(block + 1, block + 1 + kCodeBytes);
    out.looks = looks_of(codes_of(lengths.data()));
  }
  require(std::memcmp(lengths.data(), block + 1, kCodeBytes) == 0, "blocks have other codes");
  std::uint32_t sizes[kStreams];
  std::memcpy(sizes, block + 1 + kCodeBytes, sizeof sizes);
  std::uint64_t stream = at + 1 + kCodeBytes + sizeof sizes, low = stream + 1;
  for (const std::uint32_t size : sizes) low += size;
  require(out.bytes[low - 1] == kPlain, "signs and mantissas are coded");
  const std::vector<Code> codes = codes_of(lengths.data());
  for (int i = 0; i < kStreams; ++i) {
    out.streams.push_back(
        {stream, low + kStreamSymbols * static_cast<std::uint64_t>(i), sizes[i], 0});
    add_begins(out.bytes.data() + stream, sizes[i], codes, out.begins);
    stream += sizes[i];
  }
}

std::uint16_t to_bfloat16(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// Three bits of a term to where a group of 32 has them.
void put_code(std::uint32_t* words, int group, int term, std::uint32_t code) {
  constexpr int kGroups = kTerms / 32;
  const int pair = term / 2, half = term % 2 * 16;
  if (pair < 15) {
    words[pair / 5 * kGroups + group] |= code << (pair % 5 * 3 + half);
    return;
  }
  for (int bit = 0; bit < 3; ++bit) {
    words[bit * kGroups + group] |= (code >> bit & 1u) << (15 + half);
  }
}

}  // namespace

std::vector<std::uint16_t> normal_weights(int columns, std::uint32_t seed) {
  std::vector<std::uint16_t> out(static_cast<std::size_t>(columns) * kTerms);
  std::uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  const auto uniform = [&] {  // in (0, 1)
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (static_cast<float>(state >> 41) + 0.5f) / (1 << 23);
  };
  for (std::size_t i = 0; i < out.size(); i += 2) {
    const float radius = std::sqrt(-2 * std::log(uniform())) / 64, angle = 6.2831853f * uniform();
    out[i] = to_bfloat16(radius * std::cos(angle));
    out[i + 1] = to_bfloat16(radius * std::sin(angle));
  }
  return out;
}

Packed packed(const std::vector<std::uint16_t>& weights) {
  require(weights.size() % kBlockElements == 0, "there is no whole number of blocks");
  const auto blob =
      tessera::packed_without_loss(std::as_bytes(std::span(weights)), tessera::kBFloat16);
  require(blob != nullptr, "the weights were not packed");
  Packed out;
  const auto* bytes = reinterpret_cast<const unsigned char*>(blob->bytes().data());
  out.bytes.assign(bytes, bytes + blob->size_bytes());
  const std::uint64_t blocks = num_blocks(weights.size());
  std::vector<unsigned char> lengths;
  std::uint64_t at = blocks * sizeof(BlockRecord);
  for (std::uint64_t b = 0; b < blocks; ++b) {
    BlockRecord record;
    std::memcpy(&record, bytes + b * sizeof record, sizeof record);
    add_block(out, at, lengths);
    at += record.bytes;
  }
  return out;
}

FixedForm fixed_form(const std::vector<std::uint16_t>& weights) {
  std::uint64_t counts[256 + 8] = {};
  for (const std::uint16_t w : weights) ++counts[w >> 7 & 255];
  std::uint64_t most = 0;
  FixedForm out = {};
  for (std::uint32_t first = 0; first <= 248; ++first) {
    std::uint64_t held = 0;
    for (int i = 0; i < 8; ++i) held += counts[first + i];
    if (held > most) most = held, out.first = first;
  }
  const std::size_t columns = weights.size() / kTerms;
  constexpr int kGroups = kTerms / 32;
  out.words.resize(columns * kGroups * 3);
  out.bytes.resize(weights.size());
  for (std::size_t c = 0; c < columns; ++c) {
    out.begins.push_back(static_cast<std::uint32_t>(out.others.size()));
    for (int k = 0; k < kTerms; ++k) {
      const std::uint32_t w = weights[c * kTerms + k], exponent = w >> 7 & 255;
      const int group = k / 32, term = k % 32;
      out.bytes[c * kTerms + (term / 16 * kGroups + group) * 16 + term % 16] =
          static_cast<unsigned char>(w >> 8 & 128 | w & 127);
      if (exponent >= out.first && exponent < out.first + 8) {
        put_code(&out.words[c * kGroups * 3], group, term, exponent - out.first);
      } else {
        out.others.push_back(static_cast<std::uint32_t>(k) << 8 | exponent);
      }
    }
  }
  out.begins.push_back(static_cast<std::uint32_t>(out.others.size()));
  return out;
}

}  // namespace bench
