// SPDX-License-Identifier: Apache-2.0
#include "runtime/lossless/prefix_code.h"

namespace tessera::lossless {
namespace {

constexpr unsigned kEntries = 1u << kLongestCode;
constexpr int kMostSymbols = 4;  // of an entry

unsigned length_of(const unsigned char* lengths, int symbol) {
  return lengths[symbol / 2] >> (symbol % 2 * 4) & 15u;
}

unsigned reversed(unsigned code, unsigned bits) {
  unsigned out = 0;
  for (unsigned i = 0; i < bits; ++i) out |= (code >> i & 1u) << (bits - 1 - i);
  return out;
}

}  // namespace

// A stream and where its symbols go; `bits` holds `count` bits that are not decoded yet, and above
// them bits that are read again.
struct PrefixCode::Stream {
  const unsigned char *in, *in_end;
  unsigned char *out, *out_end;
  std::uint64_t bits = 0;
  unsigned count = 0;

  // Between two refills, of 56 bits or more, are so many looks into the table.
  static constexpr int kLooks = 56 / kLongestCode;

  bool has_room() const { return in_end - in >= 8 && out_end - out >= kLooks * kMostSymbols; }
  void refill() {
    std::uint64_t next;
    std::memcpy(&next, in, sizeof next);
    bits |= next << count;
    in += (63 - count) >> 3;
    count |= 56;
  }
  void decode(const Entry* entries) {
    const Entry& e = entries[bits & (kEntries - 1)];
    std::memcpy(out, e.symbols, sizeof e.symbols);
    out += e.count;
    bits >>= e.bits;
    count -= e.bits;
  }
};

bool PrefixCode::read(const unsigned char* lengths) {
  if (is_set_ && std::memcmp(lengths, lengths_, kCodeBytes) == 0) return true;
  std::memcpy(lengths_, lengths, kCodeBytes);
  is_set_ = set_single_codes();
  if (is_set_) join_codes();
  return is_set_;
}

// Fills the table with the first symbols alone.
bool PrefixCode::set_single_codes() {
  unsigned code = 0;
  for (unsigned bits = 1; bits <= kLongestCode; ++bits, code <<= 1) {
    for (int symbol = 0; symbol < kSymbols; ++symbol) {
      if (length_of(lengths_, symbol) != bits) continue;
      if (code >= 1u << bits) return false;
      const Entry e = {{static_cast<std::uint8_t>(symbol)},
                       1,
                       static_cast<std::uint8_t>(bits),
                       static_cast<std::uint8_t>(bits),
                       0};
      for (unsigned i = reversed(code, bits); i < kEntries; i += 1u << bits) entries_[i] = e;
      ++code;
    }
  }
  for (int symbol = 0; symbol < kSymbols; ++symbol) {
    if (length_of(lengths_, symbol) > kLongestCode) return false;
  }
  return code == kEntries << 1;
}

// Appends to each entry the symbols whose codes lie within the rest of its bits.
void PrefixCode::join_codes() {
  for (unsigned i = 0; i < kEntries; ++i) {
    Entry e = entries_[i];
    while (e.count < kMostSymbols) {
      const Entry& next = entries_[i >> e.bits];
      if (e.bits + next.first_bits > kLongestCode) break;
      e.symbols[e.count++] = next.symbols[0];
      e.bits = static_cast<std::uint8_t>(e.bits + next.first_bits);
    }
    entries_[i] = e;
  }
}

// The last symbols of a stream, one at a time.
bool PrefixCode::finish(Stream& s) const {
  if (s.count < 64) s.bits &= (std::uint64_t{1} << s.count) - 1;
  while (s.out < s.out_end) {
    for (; s.count <= 56 && s.in < s.in_end; s.count += 8) {
      s.bits |= std::uint64_t{*s.in++} << s.count;
    }
    const Entry& e = entries_[s.bits & (kEntries - 1)];
    if (e.first_bits > s.count) return false;
    *s.out++ = e.symbols[0];
    s.bits >>= e.first_bits;
    s.count -= e.first_bits;
  }
  return s.in == s.in_end && s.count < 8 && s.bits == 0;
}

bool PrefixCode::decode(const unsigned char* in, const std::uint32_t* sizes, unsigned char* out,
                        std::uint64_t count) const {
  const auto stream = [&](int i) {
    Stream s = {in, in + sizes[i], out + stream_begin(count, i), out + stream_begin(count, i + 1)};
    in += sizes[i];
    return s;
  };
  Stream a = stream(0), b = stream(1), c = stream(2), d = stream(3);
  static_assert(kStreams == 4);
  while (a.has_room() && b.has_room() && c.has_room() && d.has_room()) {
    a.refill(), b.refill(), c.refill(), d.refill();
    for (int i = 0; i < Stream::kLooks; ++i) {
      a.decode(entries_), b.decode(entries_), c.decode(entries_), d.decode(entries_);
    }
  }
  return finish(a) && finish(b) && finish(c) && finish(d);
}

}  // namespace tessera::lossless
