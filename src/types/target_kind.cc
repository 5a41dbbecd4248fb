// SPDX-License-Identifier: Apache-2.0
// The table of target kinds.
#include <algorithm>

#include "types/target.h"

namespace tessera {
namespace {

using Int = std::int64_t;
using Ints = std::vector<Int>;
using Text = std::string;

std::vector<TargetKind> make_kinds() {
  return {
      {"cpu",
       "llvm",
       DeviceType::kCpu,
       false,
       {{"mcpu", Text("native"), "instruction set, as the C++ compiler's -march names it"},
        {"opt", Int{3}, "optimisation level of the C++ compiler"},
        {"threads", Int{2},
         "threads that layouts are chosen for, whatever machine compiles; 0: one for each core of "
         "this machine, on which the library's bytes then depend"}}},
      {"cuda",
       "",
       DeviceType::kCuda,
       false,
       {{"arch", Text("sm_90a"), "architecture, as nvcc names it: sm_90a"},
        {"ptx", false, "also carry PTX for later devices; that of sm_90a is for no other"},
        {"dependent_launch", true,
         "from sm_90 on, kernels generated here are prepared while the one before them ends"}}},
      {"onednn", "", DeviceType::kCpu, true, {}},
      {"blas", "", DeviceType::kCpu, true, {}},
      {"ccompiler",
       "",
       DeviceType::kCpu,
       true,
       {{"header", Text(), "text put at the top of the C++ source"}}},
      {"example_target_hook",
       "",
       DeviceType::kCpu,
       true,
       {{"example_attribute", Int{0}, "a number that the example back end passes on"}}},
      {"cutlass",
       "",
       DeviceType::kCuda,
       true,
       {{"arch", Text("auto"),
         "architecture, as nvcc names it; auto: that of `sm` if it is given, else that of `cuda`, "
         "else sm_90a"},
        {"sm", Int{80},
         "another way to say arch: 80 is sm_80, 90 is sm_90a; if it is not given, arch decides, "
         "not this default"},
        {"ptx", false,
         "also carry PTX of kernels that later devices can run; `cuda -ptx` says so too"},
        {"multiprocessors", Int{0}, "of the device; 0: as many as the usual one of the arch has"},
        {"use_3xtf32", true, "emulate float32 with three tf32 products; false: plain tf32"},
        {"split_k_slices", Ints{1},
         "numbers of parts of sums along K, where tiles are few: measured, too, or without TMA "
         "chosen from; 1: any for gradients by weights, else none"},
        {"profile_all_alignments", false,
         "also measure kernels that read rows by fewer elements than they allow"},
        {"find_first_valid", false, "measuring stops at the first kernel that computes right"},
        {"use_multiprocessing", false, "no effect: --jobs compilers always run at once"},
        {"threads", Int{-1}, "nvcc that run at once, at most; -1: as many as --jobs says"},
        {"use_fast_math", false,
         "float32 results take their sigmoid from the hardware's tanh, as 16-bit ones do"},
        {"fold_norms", true,
         "products apply large layer norms before them as factors of their rows"},
        {"tmp_dir", Text("./tmp"), "folder where generated sources stay, if it is not this one"},
        {"cluster_shapes", Ints{1, 1, 2, 1, 1, 2}, "cluster sizes to try, along M and N in turn"},
        {"swizzle", Int{1}, "width of the bands in which tiles are visited"},
        {"raster", Text("auto"), "direction of the bands: `m`, `n` or `auto`"},
        {"accumulator", Text("float32"), "data type of sums: float32 or float16"},
        {"profile_budget", Int{60}, "seconds of measuring for each distinct product, at most"},
        {"include", Text(),
         "folder `include` of CUTLASS's sources; empty: where the build found it"}}},
      {"cublas", "", DeviceType::kCuda, true, {}},
      {"cudnn", "", DeviceType::kCuda, true, {}},
      {"tensorrt",
       "",
       DeviceType::kCuda,
       true,
       {{"tensorrt_version", Ints{}, "version to make engines for; empty: the one found"},
        {"use_implicit_batch", true, "leave the first dimension to run time"},
        {"remove_no_mac_subgraphs", false, "undo partitions without multiply-accumulate work"},
        {"max_workspace_size", Int{1} << 30, "bytes of scratch memory of an engine"},
        {"use_fp16", false, "let engines compute in float16"},
        {"use_uint8", false, "let engines take uint8 inputs"}}},
  };
}

}  // namespace

std::string_view to_string(DeviceType device) {
  return device == DeviceType::kCpu ? "cpu" : "cuda";
}

const TargetOption* TargetKind::find_option(std::string_view option) const {
  const auto it = std::find_if(options.begin(), options.end(),
                               [option](const TargetOption& o) { return o.name == option; });
  return it != options.end() ? &*it : nullptr;
}

std::span<const TargetKind> target_kinds() {
  static const std::vector<TargetKind> kinds = make_kinds();
  return kinds;
}

const TargetKind* find_target_kind(std::string_view name) {
  for (const auto& kind : target_kinds()) {
    if (kind.name == name || (!kind.alias.empty() && kind.alias == name)) return &kind;
  }
  return nullptr;
}

}  // namespace tessera
