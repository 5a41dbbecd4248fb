// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::link {

// Bytes of code of the functions that an object defines, by name; local ones, such as the bodies of
// parallel loops, belong to the function whose name theirs holds. Nothing of what is no object.
std::map<std::string, std::uint64_t> code_sizes(std::string_view object);

}  // namespace tessera::link
