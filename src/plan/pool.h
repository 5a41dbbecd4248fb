// SPDX-License-Identifier: Apache-2.0
// Pools: pieces of memory that an instance has, in which a plan gives everything its place
// (relay-spec 8.7). Text: `name=fast,space=host,size=2MB`.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "diagnostics/diagnostic.h"
#include "tir/buffer.h"
#include "types/memory_space.h"

namespace tessera::plan {

struct Pool {
  std::string name = "arena";
  std::int64_t limit_bytes = -1;  // -1: as large as needed
  std::int64_t bytes = 0;         // used, after planning
  MemorySpace space = {};
  std::int64_t align_bytes = 64;          // of its first byte
  std::vector<std::string> targets = {};  // whose functions may use it; empty: all
  // What is known of the memory, for those who read a plan; a plan follows the order of the pools.
  std::int64_t clock_hz = -1;  // -1: not known, as below
  std::int64_t read_bytes_per_cycle = -1, write_bytes_per_cycle = -1;
  std::int64_t read_latency_cycles = 0, write_latency_cycles = 0;
  std::map<std::string, std::int64_t> burst_bytes = {};  // by target
};

// May functions of the target use it?
bool is_for(const Pool& pool, std::string_view target);
// Is it of constants, among which nothing else lies?
bool is_for_constants(const Pool& pool);
// May the buffer lie in it, as far as the buffer says where its bytes are?
bool is_in(const Pool& pool, const tir::BufferNode& buffer);
// Text of a pool as a user describes it; what is said of none is left out.
std::string to_string(const Pool& pool);
Result<Pool> parse_pool(std::string_view text);
// In order of preference; no two have one name.
Result<std::vector<Pool>> parse_pools(std::span<const std::string> texts);

}  // namespace tessera::plan
