// SPDX-License-Identifier: Apache-2.0
#include "types/processor.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "runtime/program.h"

namespace tessera {
namespace {

constexpr Processor kProcessors[] = {
#define PROCESSOR(...) {__VA_ARGS__},
#include "types/processors.def"
#undef PROCESSOR
};

template <class Text>
std::vector<Text> split(std::string_view text, char separator) {
  std::vector<Text> parts;
  for (;;) {
    const std::size_t end = std::min(text.find(separator), text.size());
    parts.emplace_back(text.substr(0, end));
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

bool are_different_names(const TargetValue& v) {
  const auto names = split<std::string_view>(std::get<std::string>(v), ',');
  const std::set<std::string_view> different(names.begin(), names.end());
  return names.size() == 1 || (different.size() == names.size() && !different.contains(""));
}

}  // namespace

std::span<const Processor> processors() { return kProcessors; }

const Processor* find_processor(std::string_view name) {
  const auto* found = std::ranges::find(kProcessors, name, &Processor::name);
  return found == std::end(kProcessors) ? nullptr : found;
}

std::vector<std::string_view> own_features(const Processor& processor) {
  if (processor.features.empty()) return {};
  return split<std::string_view>(processor.features, ' ');
}

bool has_feature(std::string_view processor, std::string_view feature) {
  if (processor == kThisMachine) return tessera_cpu_has(std::string(feature).c_str()) == 1;
  for (const Processor* p = find_processor(processor); p != nullptr; p = find_processor(p->base)) {
    const auto own = own_features(*p);
    if (std::ranges::find(own, feature) != own.end()) return true;
  }
  return false;
}

std::vector<std::string> processors_of(const Target& cpu) {
  return split<std::string>(cpu.get_string("mcpu"), ',');
}

bool has_avx2_at_most(const Target& cpu) {
  return std::ranges::all_of(processors_of(cpu), [](const std::string& name) {
    return has_feature(name, "avx2") && !has_feature(name, "avx512f");
  });
}

OptionRule names_of_processors() {
  return {"names of processors with commas between, each once", {}, are_different_names};
}

}  // namespace tessera
