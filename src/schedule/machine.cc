// SPDX-License-Identifier: Apache-2.0
#include "schedule/machine.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "support/check.h"
#include "types/fast_types.h"
#include "types/processor.h"

namespace tessera::schedule {
namespace {

bool has_all(std::string_view cpu, std::initializer_list<std::string_view> features) {
  return std::ranges::all_of(features, [&](auto feature) { return has_feature(cpu, feature); });
}

}  // namespace

int winograd_tile_of(const Target& target) {
  if (target.kind().find_option("winograd") == nullptr) return Machine::kClearlyFaster;
  const std::string_view tile = target.get_string("winograd");
  return tile == "off" ? 0 : tile == "auto" ? Machine::kClearlyFaster : tile[0] - '0';
}

Machine machine_of(const Target& target) {
  const std::string_view cpu = target.kind().find_option("mcpu") != nullptr
                                   ? std::string_view(target.get_string("mcpu"))
                                   : kThisMachine;
  TESSERA_CHECK(cpu.find(',') == std::string_view::npos, "code is for one of `{}`", cpu);
  Machine m;
  m.winograd_tile = winograd_tile_of(target);
  if (has_all(cpu, {"avx512f", "avx512vl", "avx512dq", "avx512bw"})) {
    m.vector_bytes = 64;
    m.vector_registers = 32;
  } else if (!has_all(cpu, {"avx2", "fma"})) {
    m.vector_bytes = 16;
    m.vector_registers = find_processor(cpu) != nullptr || cpu == kThisMachine ? 16 : 32;
  }
  if (has_feature(cpu, "avx512bf16")) m.bfloat16_neighbours = 2;
  if (m.vector_bytes >= 32) m.int16_neighbours = 2;
  m.has_matrix_unit = m.vector_bytes == 64 && has_matrix_unit(cpu);
  return m;
}

}  // namespace tessera::schedule
