// SPDX-License-Identifier: Apache-2.0
#include "driver/machine_code.h"

#include <algorithm>
#include <cctype>
#include <iterator>

#include "emit/kernel.h"
#include "runtime/program.h"
#include "support/subprocess.h"

namespace tessera::driver {
namespace {

// `#define __AVX512F__ 1` is the feature avx512f, if the runtime knows how to check for it.
std::string feature_of(std::string_view line) {
  constexpr std::string_view kDefine = "#define __";
  const std::size_t end = line.rfind("__ 1");
  if (!line.starts_with(kDefine) || end == std::string_view::npos || end <= kDefine.size())
    return "";
  std::string name(line.substr(kDefine.size(), end - kDefine.size()));
  for (char& c : name) {
    c = c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  if (name == "sse4-1" || name == "sse4-2") name[4] = '.';
  return tessera_cpu_has(name.c_str()) >= 0 ? name : "";
}

std::vector<std::string> features_of(std::string_view macros) {
  std::vector<std::string> features;
  while (!macros.empty()) {
    const std::size_t end = std::min(macros.find('\n'), macros.size() - 1);
    if (std::string f = feature_of(macros.substr(0, end)); !f.empty()) features.push_back(f);
    macros.remove_prefix(end + 1);
  }
  std::sort(features.begin(), features.end());
  return features;
}

}  // namespace

Result<MachineCode> machine_code(const Target& cpu, const link::Compiler& compiler) {
  MachineCode code;
  const std::string march = "-march=" + cpu.get_string("mcpu");
  code.flags.assign(std::begin(emit::kKernelFlags), std::end(emit::kKernelFlags));
  code.flags.push_back(march);
  // The last level counts; kernels are made for the default one.
  const std::int64_t level = cpu.get_int("opt");
  if (level != Target().get_int("opt")) code.flags.push_back("-O" + std::to_string(level));
  std::vector<std::string> command = compiler.command;
  command.insert(command.end(), {march, "-dM", "-E", "-x", "c", "/dev/null"});
  const auto ran = run_process(command);
  if (!ran || !ran->ok()) {
    return fail(error(Code::kBadTarget, {}, "`{}` does not know the processor `{}`",
                      compiler.command[0], cpu.get_string("mcpu"))
                    .with_remedy("-mcpu takes what the compiler's -march takes: native, x86-64-v3, "
                                 "x86-64-v4, sapphirerapids, ..."));
  }
  code.cpu_features = features_of(ran->out);
  return code;
}

bool converts_halves(const MachineCode& code) {
  const auto has = [&](const char* feature) {
    return std::ranges::find(code.cpu_features, feature) != code.cpu_features.end();
  };
  return !has("sse2") || has("f16c");
}

}  // namespace tessera::driver
