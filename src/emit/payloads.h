// SPDX-License-Identifier: Apache-2.0
// What runtime modules of back ends carry, be it a graph as text or the bytes of an engine: data of
// an object file, to which the host program refers by symbol. It never becomes source text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "module/module.h"

namespace tessera::emit {

// Aligned for whatever a library maps.
inline constexpr std::uint64_t kPayloadAlignBytes = 64;

struct Payload {
  std::string symbol;
  std::string_view bytes;  // the artifact's
};
// Those that are not empty, in the order of the artifacts.
std::vector<Payload> payloads(const Module& module);

// The symbol of Module::artifacts[artifact].
std::string payload_symbol(std::size_t artifact);

}  // namespace tessera::emit
