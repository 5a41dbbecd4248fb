// SPDX-License-Identifier: Apache-2.0
// Whether hostile names have changed anything but names.
#pragma once

#include <string>

#include "tests/text_fuzz/emitted.h"

namespace tessera::text_fuzz {

// "" where the two differ by nothing else: sources in identifiers, one for one within a function,
// and in the values of strings; pages in text between equal elements; JSON in strings; and nothing
// hidden is in any of them. Else the first difference.
std::string difference(const Emitted& plain, const Emitted& hostile, const Names& plain_names,
                       const Names& hostile_names);

}  // namespace tessera::text_fuzz
