// SPDX-License-Identifier: Apache-2.0
// Values of sizes that a JSON graph holds as texts: "seq", "2*seq+1", "floordiv(seq, 2)".
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/array.h"

namespace tessera::runtime {

class SizeTable {
 public:
  struct Entry {
    std::string_view text;
    std::int64_t value;
  };

  // `text` (a symbol, or a whole expression whose value is known) must outlive the table. False:
  // out of memory.
  [[nodiscard]] bool set(std::string_view text, std::int64_t value);
  const Entry* find(std::string_view text) const;
  // False: a symbol has no value, or the text is no size.
  [[nodiscard]] bool evaluate(std::string_view text, std::int64_t* value) const;
  const Array<Entry>& entries() const { return entries_; }

 private:
  Array<Entry> entries_;
};

}  // namespace tessera::runtime
