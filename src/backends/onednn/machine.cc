// SPDX-License-Identifier: Apache-2.0
#include "backends/onednn/machine.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "backends/onednn/library_handle.h"
#include "types/processor.h"

namespace tessera::backends::onednn {
namespace {

// Where there are several, all have what one region is compiled for.
bool has(const Target& cpu, DType dtype) {
  const std::string_view feature = dtype == kBFloat16 ? "avx512bf16" : "avx512fp16";
  return std::ranges::all_of(processors_of(cpu), [&](const std::string& name) {
    return name == "native" || has_feature(name, feature);  // the library knows this machine best
  });
}

}  // namespace

Machine machine_of(const Target* given) {
  const Target usual;
  const Target& cpu = given != nullptr && given->name() == "cpu" ? *given : usual;
  const std::string& mcpu = cpu.get_string("mcpu");
  Machine machine{static_cast<int>(cpu.get_int("threads")), mcpu == "native", {}};
  for (const DType dtype : library_types_of_16_bits()) {
    if (has(cpu, dtype)) machine.types_of_16_bits.push_back(dtype);
  }
  return machine;
}

std::optional<byoc::Refusal> type_refusal(DType dtype, const Machine& machine) {
  if (!dtype.is_float() || dtype.bits != 16) return std::nullopt;
  const auto& types = machine.types_of_16_bits;
  if (std::ranges::find(types, dtype) != types.end()) return std::nullopt;
  return byoc::Refusal{fmt::format(
      "{} without instructions for {}",
      machine.is_this ? "this CPU is" : "the CPU of -mcpu, or this one, is", to_string(dtype))};
}

}  // namespace tessera::backends::onednn
