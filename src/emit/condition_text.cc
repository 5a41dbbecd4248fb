// SPDX-License-Identifier: Apache-2.0
#include "emit/condition_text.h"

namespace tessera::emit {

Source condition_format(const tir::Require& n) {
  const std::vector<std::string> pieces = tir::sentence_pieces(n.sentence);
  std::string format;
  for (const std::string& piece : pieces) {
    if (&piece != pieces.data()) format += "%lld";
    for (const char c : piece) format.append(c == '%' ? 2 : 1, c);
  }
  return c_string(format);
}

}  // namespace tessera::emit
