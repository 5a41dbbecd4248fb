// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "driver/load_model.h"
#include "tools/command.h"

namespace tessera::tools {
namespace {

struct DiffArgs {
  std::string a, b;
  CompareOptions options;
};

int diff(const DiffArgs& args) {
  const Result<Module> a = driver::load_module_text(args.a);
  if (!a) return report(a.error());
  const Result<Module> b = driver::load_module_text(args.b);
  if (!b) return report(b.error());
  const ModuleDifference difference = compare(*a, *b, args.options);
  if (difference.equal) return kDone;
  show("{}: {}\n", difference.where, difference.what);
  return kUserError;
}

}  // namespace

void add_diff(CLI::App& app, Action& chosen) {
  auto args = std::make_shared<DiffArgs>();
  CLI::App* command = app.add_subcommand(
      "diff", "Compare two modules structurally: exit 0, or 1 and the first difference");
  command->add_option("a", args->a, "Relay text")->required();
  command->add_option("b", args->b, "Relay text")->required();
  command->add_flag("--tir", args->options.prim_funcs, "Compare loop functions too");
  command->callback([&chosen, args] { chosen = [args] { return diff(*args); }; });
}

}  // namespace tessera::tools
