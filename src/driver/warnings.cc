// SPDX-License-Identifier: Apache-2.0
#include "driver/warnings.h"

#include <algorithm>

#include "backends/table.h"
#include "support/private_folder.h"
#include "types/gpu_arch.h"
#include "types/target_list.h"

namespace tessera::driver {
namespace {

bool computes_in(const relay::Function& f, DType dtype) {
  for (std::size_t i = 0; i < f.num_nodes(); ++i) {
    const relay::NodeId id(i);
    if (f.op(id) == nullptr) continue;
    for (const Type& t : flatten(f.type(id))) {
      if (t.dtype() == dtype) return true;
    }
  }
  return false;
}

}  // namespace

Diagnostic objects_not_kept(const std::string& folder, const FileError& why) {
  if (is_folder_problem(why.code)) {
    return warning(Code::kUntrustedFile, {}, "compiled objects are not kept in `{}`: {}", why.path,
                   why.code.message())
        .with_remedy(
            "remove that folder, since what lies there would become code, or name another "
            "one in TESSERA_CACHE_DIR");
  }
  return warning(Code::kFileNotWritable, {}, "compiled objects cannot be kept in `{}`: {}", folder,
                 why.code.message())
      .with_remedy(
          "make room, or name a folder that can be written in TESSERA_CACHE_DIR; without one, "
          "everything is compiled again each time");
}

std::optional<Diagnostic> vain_precision(const Module& module, DType precision) {
  const DType other = precision == kFloat16 ? kBFloat16 : kFloat16;
  const auto has = [&](DType dtype) {
    return std::any_of(module.functions.begin(), module.functions.end(),
                       [&](const auto& entry) { return computes_in(entry.second, dtype); });
  };
  if (has(precision) || has(kFloat32) || !has(other)) return std::nullopt;
  return warning(Code::kBadOption, {},
                 "--precision {} rewrites nothing: the model's floats are {} already",
                 precision == kFloat16 ? "fp16" : "bf16", to_string(other))
      .with_remedy("omit it, or export the model in float32");
}

Diagnostic overflow_of(const OutputError& output, DType precision) {
  return warning(Code::kBadOption, {},
                 "output `{}` overflows {}: {} of {} elements are infinite or NaN, and numbers in "
                 "the float32 model",
                 output.output, to_string(precision), output.overflown, output.elements)
      .with_remedy(precision == kFloat16 ? "try --precision bf16, which has the range of float32"
                                         : "omit --precision");
}

std::vector<Diagnostic> doubtful_options(std::span<const Target> targets) {
  std::vector<Diagnostic> warnings;
  for (const Target& target : targets) {
    if (const byoc::Backend* backend = backends::find_backend(target.name())) {
      for (Diagnostic& w : backend->warnings(target)) warnings.push_back(std::move(w));
    }
    if (target.name() != "cuda" || !target.get_bool("ptx")) continue;
    const std::string& arch = target.get_string("arch");
    if (has_ptx_for_later(arch)) continue;
    warnings.push_back(
        warning(Code::kBadTarget, {},
                "target `cuda -ptx`: PTX of {} is not for later devices, so they cannot run the "
                "library",
                arch)
            .with_remedy(
                fmt::format("give -arch=sm_{} with -ptx, or omit -ptx", gpu_arch_number(arch))));
  }
  return warnings;
}

}  // namespace tessera::driver
