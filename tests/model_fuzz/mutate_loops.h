// SPDX-License-Identifier: Apache-2.0
// Loop functions in the text of a module made hostile: most are read, and are not what anybody
// would write.
#pragma once

#include <cstdint>
#include <string>

namespace tessera::model_fuzz {

// One to four changes: statements moved, doubled and put in, numbers, data types, kinds of loops,
// kinds of memory, names and operands changed. The same seed makes the same.
std::string mutate_loops(std::string text, std::uint64_t seed);

}  // namespace tessera::model_fuzz
