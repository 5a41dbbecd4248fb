// SPDX-License-Identifier: Apache-2.0
#include "emit/host.h"

#include "emit/host_declarations.h"
#include "emit/host_tables.h"
#include "tir/walk.h"
#include "types/target_list.h"

namespace tessera::emit {
namespace {

// Sizes that a run computes, of its inputs' or of what it finds.
bool has_sizes(const tir::PrimFunc& main) {
  bool found = !main.dims.empty();
  tir::for_each_node(main.body, [&](const tir::Stmt& s) {
    found = found || s.as<tir::LetStmt>() != nullptr || s.as<tir::Reserve>() != nullptr;
  });
  return found;
}

Source head(const Module& module, bool has_sizes) {
  Source text = source(
      "// Host program of a tessera model: {} kernels and back-end functions, {} constants.\n"
      "#include \"runtime/program.h\"\n{}\nextern \"C\" {{\n\n",
      module.externs.size(), module.constants.size(),
      has_sizes ? Literal("#include \"tessera/kernel_math.h\"\n") : "");
  if (!is_on_host(compute_space(module.targets))) {
    text += "extern const tessera_device_api tessera_cuda_device;\n";
  }
  text += emit_declarations(module);
  text += "\n";
  return text;
}

constexpr Literal kEnd = "}  // extern \"C\"\n";

// Each in a namespace, since their tables have the same names, and the list of them.
Source for_others(std::span<const OtherMachine> others, const std::string& entry) {
  Source text, programs;
  for (const OtherMachine& other : others) text += emit_kernel_declarations(other.module);
  text += kEnd;
  int number = 0;
  for (const OtherMachine& other : others) {
    text += source(
        "\nnamespace machine_{} {{\n{}}}\n", ++number,
        emit_tables(other.module, other.plan, other.weights, other.info, entry, Program::kEntry));
    programs += source("&machine_{}::program, ", number);
  }
  return text +
         source("\nextern \"C\" {{\nstatic const tessera_program* const others[] = {{{}}};\n\n",
                programs);
}

}  // namespace

Source emit_host(const Module& module, const plan::MemoryPlan& plan, const WeightsLayout& weights,
                 const ProgramInfo& info, ProgramKind kind, std::span<const OtherMachine> others) {
  const bool is_model = kind == ProgramKind::kModel;
  const std::string entry = is_model ? "main" : "";
  Source text = head(module, is_model && has_sizes(module.prim_funcs.at(entry)));
  if (!others.empty()) text += for_others(others, entry);
  text += emit_tables(module, plan, weights, info, entry, Program::kOfLibrary, others.size());
  text += kEnd;
  return text;
}

std::string create_function(std::string_view entry) {
  return fmt::format("tessera_create_{}", entry);
}

std::string program_of_entry(std::string_view entry) {
  return fmt::format("tessera_program_{}", entry);
}

Source emit_entries(const Module& module, const EntryPlans& entries, const WeightsLayout& weights,
                    const ProgramInfo& info) {
  Source text = head(module, true);
  text += emit_tables(module, {}, weights, info, "", Program::kOfLibrary);
  text += kEnd;
  int number = 0;
  for (const auto& [name, plan] : entries) {
    text += source(
        "\nnamespace entry_{0} {{\n{1}}}\n"
        "extern \"C\" TESSERA_API int32_t {2}(const tessera_model_options* options,\n"
        "                                     tessera_model** model) {{\n"
        "  return tessera_model_create_from(&entry_{0}::program,\n"
        "      {{nullptr, tessera_vendor_folders}}, options, model);\n}}\n"
        "extern \"C\" {{\nTESSERA_API const tessera_program* {3} = &entry_{0}::program;\n}}\n",
        number++, emit_tables(module, plan, weights, info, name, Program::kEntry),
        c_name(create_function(name)), c_name(program_of_entry(name)));
  }
  return text;
}

}  // namespace tessera::emit
