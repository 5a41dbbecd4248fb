// SPDX-License-Identifier: Apache-2.0
// Names of what is put together from named parts (relay-spec 9.6); an empty part vanishes.
#pragma once

#include <string>

namespace tessera::collage {

// `a+b`
inline std::string joined_labels(std::string a, const std::string& b) {
  if (!a.empty() && !b.empty()) a += '+';
  a += b;
  return a;
}

// `outer.inner`, or `inner` alone where that is longer and begins with `outer`.
inline std::string nested_labels(const std::string& outer, const std::string& inner) {
  if (outer.empty()) return inner;
  if (inner.empty()) return outer;
  if (inner.size() > outer.size() && inner.starts_with(outer)) return inner;
  return outer + "." + inner;
}

}  // namespace tessera::collage
