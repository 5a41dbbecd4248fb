// SPDX-License-Identifier: Apache-2.0
// What values of the options of target kinds may be, besides their type.
#include <algorithm>
#include <cstdlib>

#include "types/target_builder.h"

namespace tessera {
namespace {

using Int = std::int64_t;
using Ints = std::vector<Int>;

struct OptionRule {
  std::string_view kind, option;
  const char* text;  // read after "must be"
  bool (*holds)(const TargetValue&);
};

template <Int kLeast>
bool at_least(const TargetValue& v) {
  return std::get<Int>(v) >= kLeast;
}

template <Int kMost>
bool at_most(const TargetValue& v) {
  return std::get<Int>(v) <= kMost;
}
template <Int kLeast, Int kMost>
bool is_between(const TargetValue& v) {
  return kLeast <= std::get<Int>(v) && std::get<Int>(v) <= kMost;
}

// What CUDA 13, the oldest toolkit that there is support for, compiles for;
// the rules below name it, too.
constexpr Int kOldestArch = 75;

// `sm_90a`: two or three digits from 75 on, and a letter perhaps. Which of them exist, nvcc knows.
bool is_arch(const TargetValue& v) {
  std::string_view text = std::get<std::string>(v);
  if (!text.starts_with("sm_")) return false;
  text.remove_prefix(3);
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string_view rest = text.substr(digits);
  const bool is_number = (digits == 2 || digits == 3) && text[0] != '0';
  const bool in_range = is_number && std::atoi(std::string(text).c_str()) >= kOldestArch;
  return in_range && (rest.empty() || rest == "a" || rest == "f");
}

bool is_arch_or_auto(const TargetValue& v) {
  return std::get<std::string>(v) == "auto" || is_arch(v);
}

bool is_counts(const TargetValue& v) {
  const Ints& counts = std::get<Ints>(v);
  return std::all_of(counts.begin(), counts.end(), [](Int n) { return n >= 1; });
}

// Eight blocks are what every device with clusters can launch (CUDA C++ Programming Guide, thread
// block clusters).
bool is_clusters(const TargetValue& v) {
  constexpr Int kMostBlocks = 8;
  const Ints& sizes = std::get<Ints>(v);
  if (sizes.size() % 2 != 0 || !is_counts(v)) return false;
  for (std::size_t i = 0; i < sizes.size(); i += 2) {
    const Int m = sizes[i], n = sizes[i + 1];
    if (m > kMostBlocks || n > kMostBlocks || m * n > kMostBlocks) return false;
  }
  return true;
}

// Widths of bands as the tile scheduler knows them.
bool is_swizzle(const TargetValue& v) {
  const Int width = std::get<Int>(v);
  return width == 1 || width == 2 || width == 4 || width == 8;
}

template <const char* const... kWords>
bool is_one_of(const TargetValue& v) {
  return ((std::get<std::string>(v) == kWords) || ...);
}
constexpr char kM[] = "m", kN[] = "n", kAuto[] = "auto";
constexpr char kFloat32Name[] = "float32", kFloat16Name[] = "float16";

constexpr OptionRule kRules[] = {
    {"cpu", "opt", "0, 1, 2 or 3", is_between<0, 3>},
    {"cpu", "threads", "0 to 10000", is_between<0, 10000>},
    {"cuda", "arch",
     "an architecture from sm_75 on, as sm_80 and sm_90a are: CUDA 13 has no code for older GPUs",
     is_arch},
    {"cutlass", "arch",
     "an architecture from sm_75 on, as sm_80 and sm_90a are, or `auto`: CUDA 13 has no code for "
     "older GPUs",
     is_arch_or_auto},
    {"cutlass", "sm", "75 to 999, as 90 for sm_90: CUDA 13 has no code for older GPUs",
     is_between<kOldestArch, 999>},
    {"cutlass", "multiprocessors", "0 to 10000", is_between<0, 10000>},
    {"cutlass", "threads", "10000 or less", at_most<10000>},
    {"cutlass", "cluster_shapes", "pairs of numbers from 1 on, of at most 8 blocks each",
     is_clusters},
    {"cutlass", "split_k_slices", "numbers from 1 on", is_counts},
    {"cutlass", "swizzle", "1, 2, 4 or 8", is_swizzle},
    {"cutlass", "raster", "`m`, `n` or `auto`", is_one_of<kM, kN, kAuto>},
    {"cutlass", "accumulator", "`float32` or `float16`", is_one_of<kFloat32Name, kFloat16Name>},
    {"cutlass", "profile_budget", "0 or more", at_least<0>},
};

}  // namespace

const char* broken_rule(const TargetKind& kind, std::string_view option, const TargetValue& value) {
  for (const OptionRule& rule : kRules) {
    if (rule.kind == kind.name && rule.option == option && !rule.holds(value)) return rule.text;
  }
  return nullptr;
}

}  // namespace tessera
