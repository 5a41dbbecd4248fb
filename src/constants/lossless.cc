// SPDX-License-Identifier: Apache-2.0
#include "constants/lossless.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "constants/code_lengths.h"
#include "runtime/lossless/format.h"
#include "support/check.h"

namespace tessera {
namespace {

using lossless::BlockRecord;
using lossless::kBlockElements;
using lossless::kLongestCode;
using lossless::kStreams;
using lossless::kSymbols;

using Counts = std::array<std::uint64_t, kSymbols>;
using Planes = std::vector<std::vector<std::uint8_t>>;  // the most significant bytes first

template <class Element>
void split(std::span<const std::byte> bytes, Planes& planes) {
  constexpr int kTop = 8 * sizeof(Element) - 1;
  const std::size_t count = bytes.size() / sizeof(Element);
  for (auto& plane : planes) plane.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    Element e;
    std::memcpy(&e, bytes.data() + i * sizeof e, sizeof e);
    e = static_cast<Element>(e << 1 | e >> kTop);
    for (std::size_t p = 0; p < sizeof e; ++p) {
      planes[p][i] = static_cast<std::uint8_t>(e >> 8 * (sizeof e - 1 - p));
    }
  }
}

Planes planes_of(std::span<const std::byte> bytes, std::size_t element_bytes) {
  Planes planes(element_bytes);
  element_bytes == 2 ? split<std::uint16_t>(bytes, planes) : split<std::uint32_t>(bytes, planes);
  return planes;
}

// How a plane of all blocks of a tensor is written.
class PlaneCode {
 public:
  PlaneCode(const Counts& counts, std::uint64_t count) : bytes_(count) {
    const auto num_symbols =
        std::count_if(counts.begin(), counts.end(), [](std::uint64_t n) { return n > 0; });
    if (num_symbols == 1) {
      kind_ = lossless::kSame;
      bytes_ = 1;
    }
    if (num_symbols <= 1) return;
    const std::vector<unsigned> lengths = code_lengths(counts, kLongestCode);
    std::uint64_t bits = 0;
    for (int s = 0; s < kSymbols; ++s) bits += counts[s] * lengths[s];
    constexpr std::uint64_t kHeader = lossless::kCodeBytes + kStreams * 5;
    const std::uint64_t coded = bits / 8 + lossless::num_blocks(count) * kHeader;
    if (coded > count - count / 32) return;  // not worth its decoding
    kind_ = lossless::kCoded;
    bytes_ = coded;
    set_codes(lengths);
  }

  std::uint64_t likely_bytes() const { return bytes_; }

  void write(std::span<const std::uint8_t> plane, std::vector<std::byte>& out) const {
    out.push_back(std::byte{kind_});
    if (kind_ == lossless::kSame) out.push_back(std::byte{plane[0]});
    if (kind_ == lossless::kPlain) append(std::as_bytes(plane), out);
    if (kind_ == lossless::kCoded) write_coded(plane, out);
  }

 private:
  static void append(std::span<const std::byte> bytes, std::vector<std::byte>& out) {
    out.insert(out.end(), bytes.begin(), bytes.end());
  }

  void set_codes(const std::vector<unsigned>& lengths) {
    unsigned code = 0;
    for (unsigned bits = 1; bits <= kLongestCode; ++bits, code <<= 1) {
      for (int s = 0; s < kSymbols; ++s) {
        if (lengths[s] == bits) symbols_[s] = {code++, bits};
      }
    }
    for (Symbol& s : symbols_) {  // streams begin with a code's first bit
      unsigned reversed = 0;
      for (unsigned i = 0; i < s.bits; ++i) reversed |= (s.code >> i & 1u) << (s.bits - 1 - i);
      s.code = reversed;
    }
  }

  void write_coded(std::span<const std::uint8_t> plane, std::vector<std::byte>& out) const {
    for (int s = 0; s < kSymbols; s += 2) {
      out.push_back(static_cast<std::byte>(symbols_[s].bits | symbols_[s + 1].bits << 4));
    }
    const std::size_t sizes_at = out.size();
    std::uint32_t sizes[kStreams];
    out.resize(out.size() + sizeof sizes);
    for (int i = 0; i < kStreams; ++i) {
      const std::size_t begin = out.size();
      const std::uint64_t from = lossless::stream_begin(plane.size(), i);
      write_stream(plane.subspan(from, lossless::stream_begin(plane.size(), i + 1) - from), out);
      sizes[i] = static_cast<std::uint32_t>(out.size() - begin);
    }
    std::memcpy(out.data() + sizes_at, sizes, sizeof sizes);
  }

  void write_stream(std::span<const std::uint8_t> plane, std::vector<std::byte>& out) const {
    std::uint64_t bits = 0;
    unsigned count = 0;
    std::size_t at = out.size();
    out.resize(at + plane.size() * kLongestCode / 8 + sizeof bits);
    for (const std::uint8_t s : plane) {
      bits |= std::uint64_t{symbols_[s].code} << count;
      count += symbols_[s].bits;
      std::memcpy(out.data() + at, &bits, sizeof bits);
      at += count / 8;
      bits >>= count / 8 * 8;
      count %= 8;
    }
    out.resize(at + (count > 0 ? 1 : 0));
  }

  struct Symbol {
    unsigned code = 0, bits = 0;
  };
  lossless::PlaneKind kind_ = lossless::kPlain;
  std::uint64_t bytes_;
  std::array<Symbol, kSymbols> symbols_;
};

class Packer {
 public:
  Packer(std::span<const std::byte> bytes, std::size_t element_bytes)
      : bytes_(bytes), element_bytes_(element_bytes), count_(bytes.size() / element_bytes) {
    std::vector<Counts> counts(element_bytes, Counts{});
    for (std::uint64_t b = 0; b < num_blocks(); ++b) {
      const Planes planes = planes_of(block(b), element_bytes);
      for (std::size_t p = 0; p < element_bytes; ++p) {
        for (const std::uint8_t s : planes[p]) ++counts[p][s];
      }
    }
    for (const Counts& of_plane : counts) codes_.emplace_back(of_plane, count_);
  }

  bool is_worth_it() const {
    std::uint64_t all = num_blocks() * sizeof(BlockRecord);
    for (const PlaneCode& code : codes_) all += code.likely_bytes();
    return all < bytes_.size() - bytes_.size() / 20;
  }

  std::vector<std::byte> pack() const {
    std::vector<std::byte> out(num_blocks() * sizeof(BlockRecord));
    for (std::uint64_t b = 0; b < num_blocks(); ++b) {
      const std::size_t begin = out.size();
      const Planes planes = planes_of(block(b), element_bytes_);
      for (std::size_t p = 0; p < planes.size(); ++p) codes_[p].write(planes[p], out);
      const auto size = static_cast<std::uint32_t>(out.size() - begin);
      const auto* written = reinterpret_cast<const unsigned char*>(out.data() + begin);
      const BlockRecord record = {size, 0, lossless::checksum(written, size, b)};
      std::memcpy(out.data() + b * sizeof record, &record, sizeof record);
    }
    return out;
  }

 private:
  std::uint64_t num_blocks() const { return lossless::num_blocks(count_); }
  std::span<const std::byte> block(std::uint64_t b) const {
    const std::uint64_t step = kBlockElements * element_bytes_;
    return bytes_.subspan(b * step, std::min(step, bytes_.size() - b * step));
  }

  std::span<const std::byte> bytes_;
  std::size_t element_bytes_;
  std::uint64_t count_;
  std::vector<PlaneCode> codes_;
};

}  // namespace

bool can_be_packed(DType dtype) {
  return dtype == kFloat32 || dtype == kFloat16 || dtype == kBFloat16;
}

std::shared_ptr<const Blob> packed_without_loss(std::span<const std::byte> bytes, DType dtype) {
  TESSERA_CHECK(can_be_packed(dtype));
  const auto element_bytes = static_cast<std::size_t>(dtype.size_bytes());
  TESSERA_CHECK(bytes.size() % element_bytes == 0);
  const Packer packer(bytes, element_bytes);
  return packer.is_worth_it() ? Blob::adopt(packer.pack()) : nullptr;
}

}  // namespace tessera
