// SPDX-License-Identifier: Apache-2.0
#include "driver/machine_code.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <iterator>
#include <optional>

#include <fmt/ranges.h>

#include "emit/kernel.h"
#include "runtime/program.h"
#include "schedule/machine.h"
#include "support/subprocess.h"
#include "types/processor.h"

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
  // As clang 14 has it.
  if (name.starts_with("amx") && name.find('-') == std::string::npos) name.insert(3, "-");
  return tessera_cpu_has(name.c_str()) >= 0 ? name : "";
}

std::vector<std::string> features_in(std::string_view macros) {
  std::vector<std::string> features;
  while (!macros.empty()) {
    const std::size_t end = std::min(macros.find('\n'), macros.size() - 1);
    if (std::string f = feature_of(macros.substr(0, end)); !f.empty()) features.push_back(f);
    macros.remove_prefix(end + 1);
  }
  std::sort(features.begin(), features.end());
  return features;
}

// What the compiler must be told for a processor, and the macros that it then has.
struct Asked {
  std::vector<std::string> flags;
  std::string macros;
};

std::optional<Asked> ask(std::vector<std::string> flags, const link::Compiler& compiler) {
  std::vector<std::string> command = compiler.command;
  command.insert(command.end(), flags.begin(), flags.end());
  command.insert(command.end(), {"-dM", "-E", "-x", "c", "/dev/null"});
  const auto ran = run_process(command);
  if (!ran || !ran->ok()) return std::nullopt;
  return Asked{std::move(flags), ran->out};
}

// By its name, or else as one that the compiler knows, with what it has besides.
std::optional<Asked> ask(const std::string& processor, const link::Compiler& compiler) {
  if (auto asked = ask(std::vector{"-march=" + processor}, compiler)) return asked;
  std::vector<std::string> more;
  for (const Processor* p = find_processor(processor); p != nullptr; p = find_processor(p->base)) {
    std::vector<std::string> flags = {fmt::format("-march={}", p->base)};
    for (const std::string_view feature : own_features(*p)) {
      more.push_back(fmt::format("-m{}", feature));
    }
    flags.insert(flags.end(), more.begin(), more.end());
    if (auto asked = ask(std::move(flags), compiler)) return asked;
  }
  return std::nullopt;
}

Diagnostic unknown_processor(const std::string& name, const link::Compiler& compiler) {
  std::vector<std::string_view> names = {"native"};
  for (const Processor& p : processors()) names.push_back(p.name);
  return error(Code::kBadTarget, {}, "`{}` does not know the processor `{}`", compiler.command[0],
               name)
      .with_remedy(fmt::format("-mcpu takes {}, and what the compiler's -march takes",
                               fmt::join(names, ", ")));
}

}  // namespace

Result<MachineCode> machine_code(const Target& cpu, const link::Compiler& compiler) {
  MachineCode code;
  code.processor = cpu.get_string("mcpu");
  const auto asked = ask(code.processor, compiler);
  if (!asked) return fail(unknown_processor(code.processor, compiler));
  code.cpu_features = features_in(asked->macros);
  code.flags.assign(std::begin(emit::kKernelFlags), std::end(emit::kKernelFlags));
  code.flags.insert(code.flags.end(), asked->flags.begin(), asked->flags.end());
  // By themselves compilers take shorter vectors for some processors than schedules are made for.
  const schedule::Machine machine = schedule::machine_of(cpu);
  if (machine.vector_bytes == 64) code.flags.emplace_back("-mprefer-vector-width=512");
  // The last level counts; kernels are made for the default one.
  const std::int64_t level = cpu.get_int("opt");
  if (level != Target().get_int("opt")) code.flags.push_back("-O" + std::to_string(level));
  if (asked->macros.find("#define __clang__ ") == std::string::npos) {
    code.flags.insert(code.flags.end(), std::begin(emit::kKernelFlagsOfGcc),
                      std::end(emit::kKernelFlagsOfGcc));
  }
  return code;
}

Result<std::vector<MachineCode>> machine_codes(const Target& cpu, const link::Compiler& compiler) {
  std::vector<MachineCode> codes;
  for (const std::string& name : processors_of(cpu)) {
    TESSERA_TRY(MachineCode code, machine_code(cpu.with("mcpu", name), compiler));
    codes.push_back(std::move(code));
  }
  std::ranges::stable_sort(codes, std::greater(),
                           [](const MachineCode& code) { return code.cpu_features.size(); });
  return codes;
}

std::size_t best_here(std::span<const MachineCode> codes) {
  const auto found = std::ranges::find_if(codes, [](const MachineCode& code) {
    return std::ranges::all_of(code.cpu_features, [](const std::string& feature) {
      return tessera_cpu_has(feature.c_str()) == 1;
    });
  });
  return found == codes.end() ? codes.size() - 1 : static_cast<std::size_t>(found - codes.begin());
}

Target target_for(const Target& machine, const MachineCode& code) {
  return machine.device() == DeviceType::kCpu ? machine.with("mcpu", code.processor) : machine;
}

bool converts_halves(const MachineCode& code) {
  const auto has = [&](const char* feature) {
    return std::ranges::find(code.cpu_features, feature) != code.cpu_features.end();
  };
  return !has("sse2") || has("f16c");
}

}  // namespace tessera::driver
