// SPDX-License-Identifier: Apache-2.0
#include "driver/save_module_text.h"
#include "module/text.h"
#include "tools/target_options.h"

namespace tessera::tools {
namespace {

struct ExportArgs {
  std::string model, output;
  ImportTexts import;
};

Result<void> export_relay(const ExportArgs& args) {
  TESSERA_TRY(const Module module, import_model(args.model, args.import));
  for (const Diagnostic& w : module.warnings) report(w);
  if (args.output.empty() || args.output == "-") return write_output("", print(module));
  return driver::save_module_text(module, args.output);
}

}  // namespace

void add_export_relay(CLI::App& app, Action& chosen) {
  auto args = std::make_shared<ExportArgs>();
  CLI::App* command = app.add_subcommand(
      "export-relay", "Write a model as Relay text, as `compile` imports it, before any pass");
  command->add_option("model", args->model, "ONNX model, or Relay text (.relay)")->required();
  command->add_option("-o,--output", args->output,
                      "Text to write (.relay); weights go to a file beside it, FILE.npz. Without "
                      "it, standard output, weights within");
  add_import_options(*command, args->import);
  command->callback([&chosen, args] {
    chosen = [args] {
      const Result<void> done = export_relay(*args);
      return done ? static_cast<int>(kDone) : report(done.error());
    };
  });
}

}  // namespace tessera::tools
