// SPDX-License-Identifier: Apache-2.0
#include "emit/condition_text.h"

namespace tessera::emit {

Source condition_format(const tir::Require& n) {
  std::string format;
  for (std::size_t i = 0; i < n.sentence.size(); ++i) {
    const bool value = n.sentence.compare(i, 2, "{}") == 0;
    format += value ? "%lld" : n.sentence[i] == '%' ? "%%" : n.sentence.substr(i, 1);
    i += value ? 1 : 0;
  }
  return c_string(format);
}

}  // namespace tessera::emit
