// SPDX-License-Identifier: Apache-2.0
// The codes of a plane, and the decoding of its streams.
#pragma once

#include <cstdint>

#include "runtime/lossless/format.h"

namespace tessera::lossless {

class PrefixCode {
 public:
  // Of kCodeBytes lengths; those that it has already cost nothing. False: they are no complete
  // code.
  [[nodiscard]] bool read(const unsigned char* lengths);

  // Decodes streams of the `sizes`, one after the other at `in`, to `count` symbols. False: they
  // end too early or too late. Nothing beside them is touched, whatever they hold.
  [[nodiscard]] bool decode(const unsigned char* in, const std::uint32_t* sizes, unsigned char* out,
                            std::uint64_t count) const;

 private:
  // What the next kLongestCode bits of a stream begin with.
  struct Entry {
    std::uint8_t symbols[4];
    std::uint8_t count, bits;  // all codes that lie within, at most four
    std::uint8_t first_bits;
    std::uint8_t pad;
  };
  struct Stream;

  bool set_single_codes();
  void join_codes();
  bool finish(Stream& s) const;

  unsigned char lengths_[kCodeBytes] = {};
  bool is_set_ = false;
  Entry entries_[1 << kLongestCode];
};

}  // namespace tessera::lossless
